#include "app/site_cluster.h"

#include <algorithm>
#include <map>
#include <regex>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

namespace {

constexpr int kMostGpus = 16, kMostNics = 64;

void ReadNics(YamlReader& reader, Node& node) {
  double rate = 0;
  if (auto quantity = reader.QuantityIfAny("nic_rate", Unit::kGbitPerSec)) rate = quantity->value;
  std::vector<std::string> devices;
  if (const YamlNode* nics = reader.Child("nics")) {
    if (nics->kind == YamlNode::Kind::kSequence) {
      devices = reader.TextsOr("nics");
    } else if (auto count = YamlInt(*nics); count.ok() && *count >= 0 && *count <= kMostNics) {
      for (int64_t i = 0; i < *count; ++i) devices.push_back(fmt::format("mlx5_{}", i));
    } else {
      reader.SayAt(*nics, fmt::format("nics: expected a list of device names such as [mlx5_0, "
                                      "mlx5_1], or their number (0 to {})",
                                      kMostNics));
    }
  }
  for (size_t i = 0; i < devices.size(); ++i) {
    if (std::count(devices.begin(), devices.end(), devices[i]) > 1) {
      reader.Say(fmt::format("device {} is named twice on node {}", devices[i], node.name));
      break;
    }
    Nic nic;
    nic.device = devices[i];
    nic.rail = static_cast<int>(i);
    nic.numa = static_cast<int>(i * static_cast<size_t>(node.numa_domains) / devices.size());
    nic.rate_gbit_per_s = rate;
    node.nics.push_back(nic);
  }
}

Node ReadNode(const YamlNode& yaml, std::string_view file, YamlFindings& findings) {
  YamlReader reader(yaml, file, findings);
  Node node;
  node.name = reader.Text("name");
  node.address = reader.TextOr("address", "");
  node.rack = reader.TextOr("rack", "");
  node.numa_domains = static_cast<int>(reader.IntOr("numa", 1));
  if (node.numa_domains < 1 || node.numa_domains > 64) {
    reader.Say("numa: expected 1 to 64 domains");
    node.numa_domains = 1;
  }
  const std::string family = reader.TextOr("gpu_family", "nvidia");
  if (family == "amd") {
    node.family = GpuFamily::kAmd;
  } else if (family == "none") {
    node.family = GpuFamily::kNone;
  } else if (family != "nvidia") {
    reader.Say(
        fmt::format("gpu_family: \"{}\" is not known, expected nvidia, amd or none", family));
  }
  int64_t gpus = reader.IntOr("gpus", 0);
  if (gpus < 0 || gpus > kMostGpus) {
    reader.Say(fmt::format("gpus: {} is out of range, expected 0 to {}", gpus, kMostGpus));
    gpus = 0;
  }
  const std::string model = reader.TextOr("gpu_model", "");
  for (int64_t i = 0; i < gpus; ++i) {
    Gpu gpu;
    gpu.index = static_cast<int>(i);
    gpu.numa = static_cast<int>(i * node.numa_domains / gpus);
    gpu.model = model;
    node.gpus.push_back(gpu);
  }
  ReadNics(reader, node);
  if (Contains(node.name, "/") || node.name == "facility" || node.name == "fabric" ||
      node.name == "monitor") {
    reader.Say(fmt::format("a node cannot be called \"{}\"", node.name));
  }
  reader.Done();
  return node;
}

std::optional<PortRef> ReadPort(std::string_view text) {
  const size_t slash = text.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return std::nullopt;
  const auto port = ParseInt(text.substr(slash + 1));
  if (!port.ok() || *port < 1 || *port > 1024) return std::nullopt;
  return PortRef{std::string(text.substr(0, slash)), static_cast<int>(*port)};
}

bool PortExists(const Cluster& cluster, const PortRef& port) {
  if (cluster.FindSwitch(port.device) != nullptr) return true;
  const size_t slash = port.device.find('/');
  if (slash == std::string::npos) return false;
  const Node* node = cluster.FindNode(port.device.substr(0, slash));
  return node != nullptr && std::any_of(node->nics.begin(), node->nics.end(), [&](const Nic& n) {
           return n.device == port.device.substr(slash + 1);
         });
}

void ReadLinks(YamlReader& cluster_reader, std::string_view file, Cluster& cluster,
               YamlFindings& findings) {
  for (const YamlNode& yaml : cluster_reader.Items("links")) {
    YamlReader reader(yaml, file, findings);
    Link link;
    for (auto [key, end] : {std::pair{"a", &link.a}, std::pair{"b", &link.b}}) {
      const std::string text = reader.Text(key);
      const auto port = ReadPort(text);
      if (!port) {
        reader.Say(
            fmt::format("{}: \"{}\" is not a port, expected SWITCH/PORT or NODE/DEVICE/PORT such "
                        "as leaf00/5 or gpu-01/mlx5_0/1",
                        key, text));
      } else if (!PortExists(cluster, *port)) {
        reader.Say(fmt::format("{}: no switch or node with device \"{}\"", key, port->device));
      } else {
        *end = *port;
      }
    }
    if (auto rate = reader.QuantityIfAny("rate", Unit::kGbitPerSec))
      link.rate_gbit_per_s = rate->value;
    link.width = static_cast<int>(reader.IntOr("width", 4));
    reader.Done();
    cluster.links.push_back(std::move(link));
  }
}

void ReadSwitches(YamlReader& cluster_reader, std::string_view file, Cluster& cluster,
                  YamlFindings& findings) {
  for (const YamlNode& yaml : cluster_reader.Items("switches")) {
    YamlReader reader(yaml, file, findings);
    Switch s;
    s.name = reader.Text("name");
    s.guid = reader.TextOr("guid", "");
    const std::string tier = reader.TextOr("tier", "leaf");
    if (tier == "spine") {
      s.tier = Tier::kSpine;
    } else if (tier != "leaf") {
      reader.Say(fmt::format("tier: \"{}\" is not known, expected leaf or spine", tier));
    }
    reader.Done();
    cluster.switches.push_back(std::move(s));
  }
}

void Walk(const YamlNode& node, std::string_view file, YamlFindings& findings) {
  // Upper-case words with an underscore that a template leaves for a person, <words in angle
  // brackets>, CHANGE_ME.
  static const std::regex kPlaceholder(
      R"((^|[^A-Za-z0-9_])(CHANGE_?ME|REPLACE_?ME|FIX_?ME|NODE_[A-Z]|YOUR_[A-Z_]+|<[a-z][a-z0-9 _-]*>)($|[^A-Za-z0-9_]))");
  static const std::regex kFloating(R"((^|[\w./-]+):(latest|main|master|nightly|edge)($|\s))");
  if (node.kind == YamlNode::Kind::kScalar) {
    std::smatch match;
    if (std::regex_search(node.text, match, kPlaceholder)) {
      findings.push_back({std::string(file), node.at,
                          fmt::format("placeholder {} is left over in \"{}\"", match[2].str(),
                                      Shorten(node.text, 60))});
    }
    if (std::regex_search(node.text, match, kFloating)) {
      findings.push_back({std::string(file), node.at,
                          fmt::format("\"{}\" floats: pin a version or a digest (name@sha256:...)",
                                      Shorten(node.text, 80))});
    }
  }
  for (const YamlNode& item : node.items) Walk(item, file, findings);
  for (const YamlEntry& entry : node.entries) Walk(entry.value, file, findings);
}

}  // namespace

void FindPlaceholders(const YamlNode& node, std::string_view file, YamlFindings& findings) {
  Walk(node, file, findings);
}

void ReadCluster(const YamlNode& node, std::string_view file, Site& site, YamlFindings& findings) {
  YamlReader reader(node, file, findings);
  site.driver_version = reader.TextOr("driver_version", "");
  if (const YamlNode* spec = reader.Child("spec")) {
    auto text = YamlText(*spec);
    auto parsed =
        text.ok() ? ParseClusterSpec(*text) : Result<ClusterSpec>(tl::unexpected(text.error()));
    if (parsed.ok()) {
      site.cluster = BuildCluster(*parsed);
    } else {
      reader.SayAt(*spec, "spec: " + parsed.error().message);
    }
    if (reader.Has("nodes") || reader.Has("switches") || reader.Has("links"))
      reader.Say("either spec, or nodes with switches and links, not both");
    reader.Items("nodes");
    reader.Items("switches");
    reader.Items("links");
    reader.Done();
    return;
  }
  std::map<std::string, YamlMark> seen;
  for (const YamlNode& yaml : reader.Items("nodes")) {
    Node made = ReadNode(yaml, file, findings);
    const auto [at, fresh] = seen.try_emplace(made.name, yaml.at);
    if (!fresh && !made.name.empty()) {
      reader.SayAt(yaml, fmt::format("node {} is already there in line {}: names must not overlap",
                                     made.name, at->second.line));
      continue;
    }
    site.cluster.nodes.push_back(std::move(made));
  }
  if (site.cluster.nodes.empty()) reader.Say("expected spec, or at least one node");
  ReadSwitches(reader, file, site.cluster, findings);
  ReadLinks(reader, file, site.cluster, findings);
  reader.Done();
  if (findings.empty()) {
    if (auto valid = site.cluster.Validate(); !valid.ok()) reader.Say(valid.error().message);
  }
}

}  // namespace muster
