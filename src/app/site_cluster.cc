#include "app/site_cluster.h"

#include <algorithm>
#include <map>

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

bool IsWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool IsUpperWord(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// The words that templates leave for a person: CHANGE_ME and its like, NODE_A, YOUR_ANYTHING.
bool IsPlaceholderWord(std::string_view word) {
  if (!IsUpperWord(word)) return false;
  std::string joined(word);  // with and without the underscore
  std::erase(joined, '_');
  for (const std::string_view verb : {"CHANGE", "REPLACE", "FIX"}) {
    if (joined == std::string(verb) + "ME") return true;
  }
  if (const auto letter = After(word, "NODE_")) return letter->size() == 1;
  return StartsWith(word, "YOUR_") && word.size() > 5;
}

// "<gpu-01's address>" as a template writes it: begins with a letter, or is dots alone.
std::string_view BracketedAt(std::string_view text, size_t at) {
  constexpr size_t kLongest = 64;
  const size_t end = text.substr(at, kLongest).find('>');
  if (text[at] != '<' || end == std::string_view::npos || end < 2) return {};
  const std::string_view inside = text.substr(at + 1, end - 1);
  const bool dots = inside == "..." || inside == "\xe2\x80\xa6";
  const bool words = IsWordByte(inside[0]) && std::all_of(inside.begin(), inside.end(), [](char c) {
                       return IsWordByte(c) || c == ' ' || c == '-' || c == '.' || c == '\'';
                     });
  return dots || words ? text.substr(at, end + 1) : std::string_view{};
}

// The first placeholder in the text; empty when there is none. Linear, whatever the text is.
std::string_view PlaceholderIn(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '<') {
      if (const std::string_view found = BracketedAt(text, i); !found.empty()) return found;
    }
    size_t end = i;
    while (end < text.size() && IsWordByte(text[end])) ++end;
    if (IsPlaceholderWord(text.substr(i, end - i))) return text.substr(i, end - i);
    i = std::max(end, i + 1);
  }
  return {};
}

// "name:latest": a tag that means another image tomorrow. With a digest behind it, it is pinned.
bool Floats(std::string_view text) {
  for (size_t colon = text.find(':'); colon != std::string_view::npos;
       colon = text.find(':', colon + 1)) {
    size_t end = colon + 1;
    while (end < text.size() && (IsWordByte(text[end]) || text[end] == '-' || text[end] == '.'))
      ++end;
    const std::string_view tag = text.substr(colon + 1, end - colon - 1);
    if (end < text.size() && (text[end] == '@' || text[end] == '/' || text[end] == ':')) continue;
    for (const std::string_view known : {"latest", "main", "master", "nightly", "edge"}) {
      if (tag == known) return true;
    }
  }
  return false;
}

void SayLeftOver(std::string_view text, YamlMark at, std::string_view file,
                 YamlFindings& findings) {
  if (const std::string_view found = PlaceholderIn(text); !found.empty()) {
    findings.push_back({std::string(file), at,
                        fmt::format("placeholder {} is left over in \"{}\"", found,
                                    Printable(Shorten(std::string(text), 60)))});
  }
  if (Floats(text)) {
    findings.push_back({std::string(file), at,
                        fmt::format("\"{}\" floats: pin a version or a digest (name@sha256:...)",
                                    Printable(Shorten(std::string(text), 80)))});
  }
}

void Walk(const YamlNode& node, std::string_view file, YamlFindings& findings) {
  if (node.kind == YamlNode::Kind::kScalar) SayLeftOver(node.text, node.at, file, findings);
  for (const YamlNode& item : node.items) Walk(item, file, findings);
  for (const YamlEntry& entry : node.entries) {
    SayLeftOver(entry.key, entry.at, file, findings);
    Walk(entry.value, file, findings);
  }
}

// A spec may be well written and still describe nothing that could be brought up.
std::string WhyNoCluster(std::string_view text, const ClusterSpec& spec, const Cluster& cluster) {
  if (Trim(text).empty()) return "it is empty; a spec reads nodes=4,gpus=8";
  if (spec.gpus == 0) return "gpus=0: a cluster without GPUs has nothing to accept";
  if (spec.rails == 0 && spec.leaves > 0) {
    return fmt::format("leaves={} with rails=0: no node has an adapter to join them", spec.leaves);
  }
  const Status valid = cluster.Validate();
  return valid.ok() ? "" : valid.error().message;
}

void ReadSpec(const YamlNode& node, YamlReader& reader, Site& site) {
  const auto text = YamlText(node);
  const auto spec =
      text.ok() ? ParseClusterSpec(*text) : Result<ClusterSpec>(tl::unexpected(text.error()));
  if (!spec.ok()) return reader.SayAt(node, "spec: " + spec.error().message);
  Cluster cluster = BuildCluster(*spec);
  const std::string why = WhyNoCluster(*text, *spec, cluster);
  if (!why.empty()) return reader.SayAt(node, "spec: " + why);
  site.cluster = std::move(cluster);
}

}  // namespace

void FindPlaceholders(const YamlNode& node, std::string_view file, YamlFindings& findings) {
  Walk(node, file, findings);
}

void ReadCluster(const YamlNode& node, std::string_view file, Site& site, YamlFindings& findings) {
  YamlReader reader(node, file, findings);
  site.driver_version = reader.TextOr("driver_version", "");
  if (const YamlNode* spec = reader.Child("spec")) {
    ReadSpec(*spec, reader, site);
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
