#include "app/site_acting.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

namespace {

constexpr std::string_view kNodeMark = "{node}";

std::string ForNode(std::string text, const std::string& node) {
  for (size_t at = text.find(kNodeMark); at != std::string::npos;
       at = text.find(kNodeMark, at + node.size()))
    text.replace(at, kNodeMark.size(), node);
  return text;
}

bool IsSecretRef(std::string_view text) {
  for (const std::string_view kind : {"env:", "file:"}) {
    const auto rest = After(text, kind);
    if (rest && !rest->empty()) return true;
  }
  return false;
}

BmcEndpoint ReadBmc(YamlReader& r) {
  using Protocol = BmcEndpoint::Protocol;
  BmcEndpoint bmc;
  const std::string protocol = r.TextOr("protocol", "redfish");
  if (protocol == "ipmi") {
    bmc.protocol = Protocol::kIpmi;
  } else if (protocol != "redfish") {
    r.Say(fmt::format("protocol: \"{}\" is not known, expected redfish or ipmi", protocol));
  }
  bmc.address = r.Text("address");
  bmc.user = r.Text("user");
  bmc.password = r.Text("password");
  // What was written there may be the secret itself: it is not repeated.
  if (!bmc.password.empty() && !IsSecretRef(bmc.password))
    r.Say("password: expected env:NAME or file:/path; a password does not stand in a site file");
  const bool ipmi = bmc.protocol == Protocol::kIpmi;
  for (const char* key : {"system", "ca_file", "unverified_because"}) {
    if (ipmi && r.Has(key)) r.Say(fmt::format("{}: is of redfish, not of ipmi", key));
  }
  for (const char* key : {"port", "cipher_suite"}) {
    if (!ipmi && r.Has(key))
      r.Say(fmt::format("{}: is of ipmi; redfish has its port in the address", key));
  }
  bmc.system = r.TextOr("system", "");
  bmc.ca_file = r.TextOr("ca_file", "");
  bmc.unverified_because = r.TextOr("unverified_because", "");
  if (!bmc.ca_file.empty() && !bmc.unverified_because.empty())
    r.Say("either ca_file, or unverified_because, not both");
  const int64_t port = r.IntOr("port", bmc.port), suite = r.IntOr("cipher_suite", 17);
  if (port < 1 || port > 65535) r.Say("port: expected 1 to 65535");
  if (suite < 1 || suite > 17) r.Say("cipher_suite: expected 1 to 17");
  bmc.port = static_cast<int>(std::clamp<int64_t>(port, 1, 65535));
  bmc.cipher_suite = static_cast<int>(std::clamp<int64_t>(suite, 1, 17));
  const bool https = StartsWith(bmc.address, "https://");
  if (!ipmi && !bmc.address.empty() && !https && !StartsWith(bmc.address, "http://"))
    r.Say("address: expected a URL such as https://bmc-{node}.example");
  if (ipmi && Contains(bmc.address, "://")) r.Say("address: expected a host name or an address");
  return bmc;
}

void ReadBmcs(YamlReader& root, Site& site, YamlFindings& findings) {
  for (const YamlNode& yaml : root.Items("bmcs")) {
    YamlReader r(yaml, root.file(), findings);
    const std::vector<std::string> patterns = r.TextsOr("nodes");
    if (patterns.empty()) r.Say("nodes: expected names or patterns such as gpu-*");
    const BmcEndpoint bmc = ReadBmc(r);
    r.Done();
    size_t named = 0;
    for (const std::string& pattern : patterns) {
      size_t fits = 0;
      for (const Node& node : site.cluster.nodes) {
        if (!FitsPattern(node.name, pattern)) continue;
        ++fits;
        BmcEndpoint own = bmc;
        own.address = ForNode(bmc.address, node.name);
        own.password = ForNode(bmc.password, node.name);
        own.system = ForNode(bmc.system, node.name);
        if (!site.bmcs.emplace(node.name, std::move(own)).second)
          r.Say(fmt::format("node {} has a BMC already", node.name));
      }
      if (fits == 0) r.Say(fmt::format("unknown host \"{}\"", pattern));
      named += fits;
    }
    // Two power buttons with one wire would switch off the wrong machine.
    if (named > 1 && !Contains(bmc.address, kNodeMark) && !Contains(bmc.system, kNodeMark))
      r.Say(
          fmt::format("{} nodes have one address: expected {{node}} in address or system", named));
  }
}

// "name=version" of apt, each from what Debian's policy lets stand there, with {value} in it.
bool IsPackage(std::string text) {
  constexpr std::string_view kValue = "{value}";
  for (size_t at = text.find(kValue); at != std::string::npos; at = text.find(kValue, at))
    text.replace(at, kValue.size(), "0");
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) return false;
  const auto fine = [](std::string_view part, std::string_view more) {
    return std::all_of(part.begin(), part.end(), [&](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
             more.find(c) != std::string_view::npos;
    });
  };
  const std::string_view all = text;
  return all[0] != '-' && all[0] != '+' && fine(all.substr(0, equals), "+.-") &&
         all[equals + 1] != '-' && fine(all.substr(equals + 1), "+.-~:");
}

void ReadPackages(YamlReader& root, Site& site) {
  const YamlNode* node = root.Child("packages");
  if (node == nullptr) return;
  if (node->kind != YamlNode::Kind::kMapping)
    return root.SayAt(*node, "packages: expected a mapping of driver, kernel, ... to lists");
  static const std::vector<std::string> kKnown = {"driver", "fabric_manager", "gsp", "kernel"};
  for (const YamlEntry& entry : node->entries) {
    const bool known = std::find(kKnown.begin(), kKnown.end(), entry.key) != kKnown.end();
    if (!known && !StartsWith(entry.key, "set ")) {
      root.SayAt(entry.value, fmt::format("unknown key {}, expected driver, fabric_manager, gsp, "
                                          "kernel or \"set NAME\"",
                                          Printable(entry.key)));
    }
    for (const YamlNode& item : entry.value.items) {
      const auto text = YamlText(item);
      if (text.ok() && IsPackage(*text)) {
        site.packages[entry.key].push_back(*text);
      } else {
        root.SayAt(item, fmt::format("{}: expected a package with its version, such as "
                                     "cuda-drivers-570={{value}}-1",
                                     entry.key));
      }
    }
    if (entry.value.items.empty())
      root.SayAt(entry.value, fmt::format("{}: expected a list of packages", entry.key));
  }
}

void ReadProbePods(const YamlNode& node, Site& site, YamlReader& root, YamlFindings& findings) {
  YamlReader r(node, root.file(), findings);
  ProbePods pods;
  pods.image = r.Text("image");
  pods.ns = r.TextOr("namespace", pods.ns);
  pods.start_within = r.DurationOr("start_within", pods.start_within);
  if (const YamlNode* annotations = r.Child("annotations")) {
    if (annotations->kind != YamlNode::Kind::kMapping)
      r.SayAt(*annotations, "annotations: expected a mapping of names to texts");
    for (const YamlEntry& entry : annotations->entries) {
      const auto text = YamlText(entry.value);
      if (text.ok()) pods.annotations[entry.key] = *text;
      if (!text.ok()) r.SayAt(entry.value, entry.key + ": " + text.error().message);
    }
  }
  if (!pods.image.empty() && !Contains(pods.image, "@sha256:"))
    r.Say("image: expected NAME@sha256:...; what runs as root on every node is pinned by digest");
  r.Done();
  site.kubernetes->probe_pods = std::move(pods);
  if (site.kind == SiteKind::kKubernetes && !site.NodesByPods())
    root.SayAt(node, "probe_pods: the nodes are reached by ssh or address, leave one of them out");
  if (site.kind != SiteKind::kKubernetes)
    root.SayAt(node, "probe_pods: is of type kubernetes; other hosts are reached by ssh");
}

// A path that no tool takes for an option.
bool IsPlain(std::string_view text) {
  return !text.empty() && text[0] != '-' && std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20;
  });
}

void ReadAnsible(YamlReader& root, Site& site, YamlFindings& findings) {
  const YamlNode* node = root.Child("ansible");
  if (node == nullptr) return;
  YamlReader r(*node, root.file(), findings);
  const AnsibleTarget target{r.Text("inventory"), r.TextOr("playbook", "")};
  for (const std::string& path : {target.inventory, target.playbook}) {
    if (!path.empty() && !IsPlain(path)) r.Say("expected a path, as it is from the site's file");
  }
  r.Done();
  site.ansible = target;
}

// Each "name: {path: ..., remote: ...}".
void ReadRepositories(YamlReader& root, Site& site, YamlFindings& findings) {
  const YamlNode* node = root.Child("repositories");
  if (node == nullptr) return;
  if (node->kind != YamlNode::Kind::kMapping)
    return root.SayAt(*node, "repositories: expected a mapping of names to {path: ...}");
  for (const YamlEntry& entry : node->entries) {
    YamlReader r(entry.value, root.file(), findings);
    const bool word =
        !entry.key.empty() && entry.key[0] != '.' && entry.key[0] != '-' &&
        std::all_of(entry.key.begin(), entry.key.end(), [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
        });
    if (!word)
      r.Say(fmt::format("{}: expected a name of small letters, digits, - and _",
                        Printable(entry.key)));
    const Repository repository{r.Text("path"), r.TextOr("remote", "origin")};
    if (!repository.path.empty() && !IsPlain(repository.path)) r.Say("path: expected a folder");
    if (!IsPlain(repository.remote)) r.Say("remote: expected the name of a remote");
    r.Done();
    site.repositories[entry.key] = repository;
  }
}

}  // namespace

bool FitsPattern(std::string_view name, std::string_view pattern) {
  size_t n = 0, p = 0, star = std::string_view::npos, from = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

void ReadActing(YamlReader& root, Site& site, YamlFindings& findings) {
  ReadBmcs(root, site, findings);
  ReadPackages(root, site);
  ReadAnsible(root, site, findings);
  ReadRepositories(root, site, findings);
  site.sudo = root.BoolOr("sudo", false);
  if (const YamlNode* node = root.Child("kubernetes")) {
    YamlReader r(*node, root.file(), findings);
    site.kubernetes = KubernetesTarget{r.TextOr("kubeconfig", ""), r.TextOr("context", ""), {}};
    if (const YamlNode* pods = r.Child("probe_pods")) ReadProbePods(*pods, site, r, findings);
    r.Done();
  } else if (site.kind == SiteKind::kKubernetes) {
    site.kubernetes = KubernetesTarget{};
  }
  if (site.kind != SiteKind::kLab) return;
  // A setting that nothing reads would be believed to work.
  for (const char* key : {"bmcs", "kubernetes", "packages", "ansible", "sudo"}) {
    if (const YamlNode* node = root.Child(key))
      root.SayAt(*node, fmt::format("{}: a lab acts on itself, leave it out", key));
  }
}

}  // namespace muster
