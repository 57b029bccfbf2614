#include "probes/prometheus/subjects.h"

#include "base/strings.h"

namespace muster::prometheus {

namespace {

std::string_view LabelOf(const Labels& labels, std::string_view name) {
  const auto found = labels.find(name);
  return found == labels.end() ? std::string_view() : std::string_view(found->second);
}

bool IsIpv4(std::string_view host) {
  return !host.empty() && host.find_first_not_of("0123456789.") == std::string_view::npos &&
         Contains(host, ".");
}

bool IsLoopback(std::string_view host) {
  return host == "localhost" || StartsWith(host, "localhost.") || host == "::1" ||
         (IsIpv4(host) && StartsWith(host, "127."));
}

// On Kubernetes, without NODE_NAME in its environment, the exporter's hostname is that of its own
// pod.
bool IsPodName(const Labels& labels, std::string_view host) {
  for (const std::string_view name : {"pod", "exported_pod", "kubernetes_pod_name"}) {
    if (LabelOf(labels, name) == host) return true;
  }
  return StartsWith(host, "nvidia-dcgm-exporter-") || StartsWith(host, "dcgm-exporter-");
}

std::optional<std::string> Usable(std::string_view host) {
  host = Trim(host);
  if (host.empty() || IsLoopback(host)) return std::nullopt;
  // A subject's path is cut at '/'.
  if (Contains(host, "/")) return std::nullopt;
  std::string name = ShortHost(host);
  if (name.empty()) return std::nullopt;
  return name;
}

std::optional<int> Index(std::string_view text) {
  const Result<int64_t> index = ParseInt(text);
  if (!index || *index < 0 || *index > 1'000) return std::nullopt;
  return static_cast<int>(*index);
}

}  // namespace

std::string ShortHost(std::string_view host) {
  if (IsIpv4(host) || Contains(host, ":")) return std::string(host);
  return std::string(host.substr(0, host.find('.')));
}

std::string HostOfInstance(std::string_view instance) {
  if (const auto rest = After(instance, "["); rest) {
    return std::string(rest->substr(0, rest->find(']')));
  }
  const size_t colon = instance.find(':');
  // Two colons without brackets are a bare IPv6 address, not a host and a port.
  if (colon != std::string_view::npos && instance.find(':', colon + 1) != std::string_view::npos) {
    return std::string(instance);
  }
  return std::string(instance.substr(0, colon));
}

std::optional<std::string> NodeOf(const Labels& labels) {
  for (const std::string_view name : {"hostname", "Hostname", "exported_hostname",
                                      "exported_Hostname", "node", "kubernetes_node", "nodename"}) {
    const std::string_view value = LabelOf(labels, name);
    if (IsPodName(labels, value)) continue;
    if (auto node = Usable(value)) return node;
  }
  return Usable(HostOfInstance(LabelOf(labels, "instance")));
}

std::optional<std::string> NodeOfTarget(const Target& target) {
  for (const std::string_view name :
       {"__meta_kubernetes_pod_node_name", "__meta_kubernetes_endpoint_node_name",
        "__meta_kubernetes_endpointslice_endpoint_topology_kubernetes_io_hostname",
        "__meta_kubernetes_node_name"}) {
    if (auto node = Usable(LabelOf(target.discovered, name))) return node;
  }
  return NodeOf(target.labels);
}

std::optional<int> GpuOf(const Labels& labels) {
  for (const std::string_view name : {"gpu", "exported_gpu"}) {
    if (const auto index = Index(LabelOf(labels, name))) return index;
  }
  for (const std::string_view name : {"device", "exported_device"}) {
    if (const auto digits = After(LabelOf(labels, name), "nvidia")) {
      if (const auto index = Index(*digits)) return index;
    }
  }
  return std::nullopt;
}

bool IsGpuExporter(const Target& target) {
  const std::string_view instance = LabelOf(target.labels, "instance");
  if (EndsWith(instance, ":9400") || EndsWith(LabelOf(target.discovered, "__address__"), ":9400")) {
    return true;
  }
  const std::string names = ToLower(std::string(LabelOf(target.labels, "job")) + " " + target.pool);
  return Contains(names, "dcgm") || Contains(names, "gpu-exporter") ||
         Contains(names, "gpu_exporter");
}

}  // namespace muster::prometheus
