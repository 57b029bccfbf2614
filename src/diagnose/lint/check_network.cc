// Whether the fast fabric reaches the pods: RDMA resource, attachment, its configuration, MTU,
// locked memory.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "diagnose/lint/context.h"
#include "manifest/quantity.h"

namespace muster::lint {

namespace {

// What of an attachment's configuration matters here. `ok` is false for text that is no JSON.
struct Attachment {
  const Document* doc = nullptr;
  const YamlNode* config = nullptr;
  bool ok = true;
  std::string type, ipam;
  int64_t mtu = 0;
  std::string resource;
};

Attachment ReadAttachment(const Document& doc) {
  Attachment a;
  a.doc = &doc;
  a.config = &At(doc.root, "spec.config");
  a.resource = TextOf(Annotation(doc.root, "k8s.v1.cni.cncf.io/resourceName"));
  if (a.config->IsNull()) return a;
  auto json = nlohmann::json::parse(TextOf(*a.config), nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    a.ok = false;
    return a;
  }
  const auto plugins = json.find("plugins");
  if (plugins != json.end() && plugins->is_array() && !plugins->empty() &&
      plugins->front().is_object()) {
    const nlohmann::json first = plugins->front();
    json = first;
  }
  const auto text = [](const nlohmann::json& object, const char* key) {
    const auto it = object.find(key);
    return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  a.type = text(json, "type");
  if (const auto mtu = json.find("mtu"); mtu != json.end() && mtu->is_number_integer())
    a.mtu = mtu->get<int64_t>();
  if (const auto ipam = json.find("ipam"); ipam != json.end() && ipam->is_object())
    a.ipam = text(*ipam, "type");
  return a;
}

void CheckAttachment(Context& c, const Attachment& a, int64_t& mtu, std::string& mtu_from) {
  const Document& doc = *a.doc;
  if (!a.ok) {
    c.Say("LINT-304", doc, *a.config, "");
    return;
  }
  const bool virtual_device = a.type == "macvlan" || a.type == "ipvlan" || a.type == "bridge";
  if (virtual_device && !a.resource.empty()) {
    const YamlNode& annotation = Annotation(doc.root, "k8s.v1.cni.cncf.io/resourceName");
    c.Say("LINT-307", doc, annotation,
          fmt::format("{} makes a virtual interface; the device of {} is never handed to the pod",
                      a.type, a.resource));
  }
  if (a.ipam == "host-local")
    c.Say("LINT-309", doc, *a.config,
          "host-local counts on each node for itself: two pods get one address");
  if (a.config->IsNull()) return;
  if (a.mtu == 0) {
    Context::Edits fix;
    const std::string& text = a.config->text;
    const size_t brace = text.find('{');
    if (brace != std::string::npos && text.find('\n') == std::string::npos &&
        text.find('\'') == std::string::npos && !Contains(text, "plugins")) {
      std::string with = text;
      with.insert(brace + 1, fmt::format(" \"mtu\": {},", c.site.mtu > 0 ? c.site.mtu : 9000));
      fix = c.Set(doc, *a.config, "'" + with + "'");
    }
    c.Say("LINT-305", doc, *a.config, fmt::format("{} says no mtu", doc.Title()), std::move(fix));
    return;
  }
  if (c.site.mtu > 0 && a.mtu != c.site.mtu) {
    c.Say("LINT-306", doc, *a.config,
          fmt::format("mtu {}, and the site's fabric has {}", a.mtu, c.site.mtu));
  } else if (mtu != 0 && a.mtu != mtu) {
    c.Say("LINT-306", doc, *a.config, fmt::format("mtu {}, and {} has {}", a.mtu, mtu_from, mtu));
  }
  if (mtu == 0) mtu = a.mtu, mtu_from = doc.Title();
}

std::vector<std::pair<std::string, std::string>> NetworksOf(const Document& pod_owner,
                                                            const PodSet& set) {
  std::vector<std::pair<std::string, std::string>> networks;  // namespace, name
  const std::string& text = TextOf(Annotation(*set.pod_template, "k8s.v1.cni.cncf.io/networks"));
  const std::string ns(NamespaceOf(pod_owner));
  if (StartsWith(Trim(text), "[")) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_array()) return networks;
    for (const auto& one : json) {
      if (!one.is_object() || !one.contains("name") || !one["name"].is_string()) continue;
      const bool said = one.contains("namespace") && one["namespace"].is_string();
      networks.emplace_back(said ? one["namespace"].get<std::string>() : ns,
                            one["name"].get<std::string>());
    }
    return networks;
  }
  for (const std::string_view part : Split(text, ',')) {
    std::string_view name = Trim(part);
    name = name.substr(0, name.find('@'));
    if (name.empty()) continue;
    const size_t slash = name.find('/');
    if (slash == std::string_view::npos) {
      networks.emplace_back(ns, std::string(name));
    } else {
      networks.emplace_back(std::string(name.substr(0, slash)),
                            std::string(name.substr(slash + 1)));
    }
  }
  return networks;
}

void CheckPodSet(Context& c, const Workload& w, const PodSet& set,
                 const std::vector<Attachment>& attachments) {
  const Document& doc = *w.doc;
  const bool host_network = IsTrue(Key(*set.pod, "hostNetwork"));
  const auto networks = NetworksOf(doc, set);
  const Resources shape = PodShape(set, {});
  std::string rdma;
  for (const auto& [name, amount] : shape) {
    if (IsRdmaResource(name) && amount > 0) rdma = name;
  }
  bool tcp_wanted = false, privileged = false, locks = false;
  for (const YamlNode& container : set.Containers()) {
    const YamlNode* net = EnvOf(container, "NCCL_NET");
    const YamlNode* off = EnvOf(container, "NCCL_IB_DISABLE");
    tcp_wanted |=
        (net != nullptr && TextOf(*net) == "Socket") || (off != nullptr && TextOf(*off) == "1");
    const YamlNode& security = Key(container, "securityContext");
    privileged |= IsTrue(Key(security, "privileged"));
    for (const YamlNode& cap : At(security, "capabilities.add").items)
      locks |= cap.text == "IPC_LOCK" || cap.text == "ALL" || cap.text == "CAP_IPC_LOCK";
  }
  const YamlNode& at = set.Containers().empty() ? *set.pod : set.Containers().front();
  if (rdma.empty() && !host_network && !tcp_wanted && w.PodCount() > 1 && PodGpus(set) > 0) {
    c.Say("LINT-301", doc, at,
          fmt::format("{} GPUs in {} pods, and no RDMA resource asked for", PodGpus(set),
                      w.PodCount()));
  }
  if (!rdma.empty() && !host_network && networks.empty() && (!attachments.empty() || c.site.roce)) {
    const std::string name = attachments.empty() ? "" : attachments.front().doc->name;
    const std::string ns =
        attachments.empty() ? "" : std::string(NamespaceOf(*attachments.front().doc));
    const std::string ref = ns == NamespaceOf(doc) || ns.empty() ? name : ns + "/" + name;
    Context::Edits fix;
    if (!ref.empty()) {
      const YamlNode& meta = Key(*set.pod_template, "metadata");
      const YamlNode& annotations = Key(meta, "annotations");
      const std::string entry = "k8s.v1.cni.cncf.io/networks: " + ref;
      if (!annotations.IsNull()) {
        fix = c.Insert(doc, annotations, entry);
      } else if (!meta.IsNull()) {
        fix = c.Insert(doc, meta, "annotations:\n  " + entry);
      } else {
        fix = c.Insert(doc, *set.pod_template, "metadata:\n  annotations:\n    " + entry);
      }
    }
    c.Say("LINT-302", doc, at,
          fmt::format("{} without a network attachment: the pod has the device and no interface on "
                      "the fabric{}",
                      rdma, ref.empty() ? "" : "; these files have " + ref),
          std::move(fix));
  }
  for (const auto& [ns, name] : networks) {
    if (attachments.empty()) break;
    const auto found = std::find_if(attachments.begin(), attachments.end(),
                                    [&, ns = ns, name = name](const Attachment& a) {
                                      return a.doc->name == name && NamespaceOf(*a.doc) == ns;
                                    });
    const YamlNode& annotation = Annotation(*set.pod_template, "k8s.v1.cni.cncf.io/networks");
    if (found == attachments.end()) {
      c.Say("LINT-303", doc, annotation,
            fmt::format("no attachment {} in namespace {} in these files", name, ns));
    } else if (!found->resource.empty() && shape.count(found->resource) == 0 &&
               found->type == "sriov") {
      c.Say("LINT-308", doc, at,
            fmt::format("network {} hands out {}, which no container asks for", name,
                        found->resource));
    }
  }
  if (!rdma.empty() && !privileged && !locks) {
    const YamlNode& security = Key(at, "securityContext");
    Context::Edits fix;
    if (security.IsNull()) {
      fix = c.Insert(doc, at, "securityContext: {capabilities: {add: [IPC_LOCK]}}");
    } else if (Key(security, "capabilities").IsNull()) {
      fix = c.Insert(doc, security, "capabilities: {add: [IPC_LOCK]}");
    }
    c.Say("LINT-310", doc, at,
          "RDMA registers memory, and the container may not lock any beyond the node's default",
          std::move(fix));
  }
}

}  // namespace

void CheckNetwork(Context& c) {
  std::vector<Attachment> attachments;
  int64_t mtu = 0;
  std::string mtu_from;
  for (const Document* doc : c.Of(ManifestKind::kNetworkAttachment)) {
    attachments.push_back(ReadAttachment(*doc));
    CheckAttachment(c, attachments.back(), mtu, mtu_from);
  }
  for (const Workload& w : c.workloads) {
    if (!w.IsGang()) continue;
    for (const PodSet& set : w.sets) {
      if (!set.pod_template->IsNull()) CheckPodSet(c, w, set, attachments);
    }
  }
}

}  // namespace muster::lint
