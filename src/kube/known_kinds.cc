#include "kube/known_kinds.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace muster::kube {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 21> kWithoutNamespace = {{
    {"", "Namespace"},
    {"", "Node"},
    {"", "PersistentVolume"},
    {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration"},
    {"apiextensions.k8s.io", "CustomResourceDefinition"},
    {"kueue.x-k8s.io", "ClusterQueue"},
    {"kueue.x-k8s.io", "Cohort"},
    {"kueue.x-k8s.io", "ResourceFlavor"},
    {"kueue.x-k8s.io", "Topology"},
    {"kueue.x-k8s.io", "WorkloadPriorityClass"},
    {"mellanox.com", "NicClusterPolicy"},
    {"node.k8s.io", "RuntimeClass"},
    {"nvidia.com", "ClusterPolicy"},
    {"rbac.authorization.k8s.io", "ClusterRole"},
    {"rbac.authorization.k8s.io", "ClusterRoleBinding"},
    {"resource.k8s.io", "DeviceClass"},
    {"scheduling.k8s.io", "PriorityClass"},
    {"scheduling.run.ai", "Queue"},
    {"scheduling.volcano.sh", "Queue"},
    {"storage.k8s.io", "StorageClass"},
    {"topology.volcano.sh", "HyperNode"},
}};

std::string PluralOf(std::string_view kind) {
  if (kind == "NetworkAttachmentDefinition") return "network-attachment-definitions";
  if (kind == "Endpoints") return "endpoints";
  std::string plural = ToLower(kind);
  const auto ends = [&](std::string_view with) { return EndsWith(plural, with); };
  if (ends("y") && !ends("ay") && !ends("ey") && !ends("oy")) {
    plural.back() = 'i';
    return plural + "es";
  }
  return plural + (ends("s") || ends("x") || ends("ch") || ends("sh") ? "es" : "s");
}

}  // namespace

Resource ResourceFor(std::string_view api_version, std::string_view kind) {
  Resource resource;
  const size_t slash = api_version.find('/');
  if (slash != std::string_view::npos) resource.group = std::string(api_version.substr(0, slash));
  resource.version =
      std::string(slash == std::string_view::npos ? api_version : api_version.substr(slash + 1));
  resource.kind = std::string(kind);
  resource.plural = PluralOf(kind);
  resource.namespaced = std::none_of(
      kWithoutNamespace.begin(), kWithoutNamespace.end(),
      [&](const auto& known) { return known.first == resource.group && known.second == kind; });
  return resource;
}

}  // namespace muster::kube
