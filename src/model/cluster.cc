#include "model/cluster.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/strings.h"

namespace muster {

std::string_view ToString(GpuFamily family) {
  switch (family) {
    case GpuFamily::kNvidia:
      return "nvidia";
    case GpuFamily::kAmd:
      return "amd";
    case GpuFamily::kNone:
      return "none";
  }
  return "none";
}

std::string PortRef::ToString() const { return fmt::format("{}/{}", device, port); }

namespace {

// Names mostly end in their own position ("node017" is the 18th), so that place is looked at before
// all others.
template <typename T>
const T* FindNamed(const std::vector<T>& all, std::string_view name) {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  size_t guess = 0;
  const auto [end, error] = std::from_chars(name.data() + digits, name.data() + name.size(), guess);
  if (error == std::errc() && guess < all.size() && all[guess].name == name) return &all[guess];
  const auto it = std::find_if(all.begin(), all.end(), [&](const T& x) { return x.name == name; });
  return it == all.end() ? nullptr : &*it;
}

// Collects what is wrong with a cluster, one sentence a line.
class Validator {
 public:
  explicit Validator(const Cluster& cluster) : cluster_(cluster) {}

  Status Run() {
    for (const std::string& rack : cluster_.racks) {
      if (!racks_.insert(rack).second) Say("rack \"{}\" is listed twice", rack);
    }
    for (const Switch& s : cluster_.switches) {
      CheckName("switch", s.name);
      if (!devices_.insert(s.name).second) Say("name \"{}\" is used twice", s.name);
    }
    for (const Node& node : cluster_.nodes) CheckNode(node);
    for (const Link& link : cluster_.links) CheckLink(link);
    if (problems_.empty()) return {};
    return Fail(Code::kInvalid, Join(problems_, "\n"));
  }

 private:
  template <typename... Args>
  void Say(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void CheckName(std::string_view what, std::string_view name) {
    if (name.empty()) return Say("a {} has no name", what);
    const bool odd = std::any_of(name.begin(), name.end(), [](char c) {
      return static_cast<unsigned char>(c) <= ' ' || c == '/' || c == ',' || c == 0x7f;
    });
    if (odd || Contains(name, "--")) {
      Say("{} name \"{}\" must not contain blanks, '/', ',' or \"--\"", what, Printable(name));
    }
  }

  void CheckNode(const Node& node) {
    CheckName("node", node.name);
    if (node.name == "facility" || node.name == "fabric" || node.name == "monitor") {
      Say("\"{}\" is the name of a place every site has, a node cannot be called so", node.name);
    }
    if (!nodes_.insert(node.name).second || !devices_.insert(node.name).second) {
      Say("name \"{}\" is used twice", node.name);
    }
    if (!node.rack.empty() && !racks_.contains(node.rack)) {
      Say("node {}: rack \"{}\" is not in the list of racks", node.name, node.rack);
    }
    if (node.numa_domains < 1) Say("node {}: needs at least one NUMA domain", node.name);
    std::unordered_set<int> indexes;
    for (const Gpu& gpu : node.gpus) {
      if (!indexes.insert(gpu.index).second)
        Say("node {}: GPU {} is listed twice", node.name, gpu.index);
      CheckNuma(node, fmt::format("GPU {}", gpu.index), gpu.numa);
    }
    for (const Nic& nic : node.nics) {
      CheckName("NIC", nic.device);
      if (!devices_.insert(fmt::format("{}/{}", node.name, nic.device)).second) {
        Say("node {}: NIC {} is listed twice", node.name, nic.device);
      }
      if (!nic.guid.empty() && !guids_.insert(nic.guid).second) {
        Say("node {}: NIC {} has GUID {}, which another one has too", node.name, nic.device,
            nic.guid);
      }
      if (nic.rail < 0) Say("node {}: NIC {} has rail {}", node.name, nic.device, nic.rail);
      CheckNuma(node, nic.device, nic.numa);
    }
  }

  void CheckNuma(const Node& node, std::string_view what, int numa) {
    if (numa < 0 || numa >= node.numa_domains) {
      Say("node {}: {} is on NUMA domain {}, the node has {}", node.name, what, numa,
          node.numa_domains);
    }
  }

  void CheckLink(const Link& link) {
    for (const PortRef* end : {&link.a, &link.b}) {
      // A host has no port of its own, only its NICs do.
      if (!devices_.contains(end->device) || nodes_.contains(end->device)) {
        Say("link {}: \"{}\" is neither a switch nor a NIC of a node", link.Id().id, end->device);
      }
      if (end->port < 1)
        Say("link {}: port {} of {} is not a port number", link.Id().id, end->port, end->device);
      if (!ports_.insert(end->ToString()).second) Say("port {} is in two links", end->ToString());
    }
    if (link.rate_gbit_per_s <= 0) Say("link {}: rate must be above 0", link.Id().id);
    if (link.width < 1) Say("link {}: width must be at least 1", link.Id().id);
  }

  const Cluster& cluster_;
  std::unordered_set<std::string> racks_, devices_, nodes_, guids_, ports_;
  std::vector<std::string> problems_;
};

// The number of links between each leaf and each spine: enough to carry what comes up from the
// hosts, within 64 ports of a switch where that leaves at least one.
int LinksPerSpine(int down, int leaves, int spines) {
  constexpr int kRadix = 64;
  const int wanted = (down + spines - 1) / spines;
  const int leaf_has = std::max(0, kRadix - down) / spines, spine_has = kRadix / leaves;
  return std::max(1, std::min({wanted, leaf_has, spine_has}));
}

int LeafOf(const ClusterSpec& spec, int node, int rail) {
  const bool rail_optimised = spec.leaves % spec.rails == 0;
  if (!rail_optimised) return static_cast<int>(int64_t{node} * spec.leaves / spec.nodes);
  const int groups = spec.leaves / spec.rails;
  return static_cast<int>(int64_t{node} * groups / spec.nodes) * spec.rails + rail;
}

Node BuildNode(const ClusterSpec& spec, int n) {
  Node node;
  node.name = fmt::format("node{:03}", n);
  node.rack = fmt::format("rack{:02}", n / 8);
  node.numa_domains = spec.numa;
  node.family = spec.gpus == 0 ? GpuFamily::kNone
                : Contains(spec.gpu_model, "AMD") || Contains(spec.gpu_model, "Instinct")
                    ? GpuFamily::kAmd
                    : GpuFamily::kNvidia;
  for (int g = 0; g < spec.gpus; ++g) {
    node.gpus.push_back({g, g * spec.numa / spec.gpus, spec.gpu_model, "", ""});
  }
  for (int r = 0; r < spec.rails; ++r) {
    const uint64_t k =
        static_cast<uint64_t>(n) * static_cast<uint64_t>(spec.rails) + static_cast<uint64_t>(r);
    node.nics.push_back({fmt::format("mlx5_{}", r), r, r * spec.numa / spec.rails,
                         spec.rate_gbit_per_s,
                         fmt::format("{:016x}", 0x0002c90003000000ull + (k << 8))});
  }
  return node;
}

}  // namespace

const Node* Cluster::FindNode(std::string_view name) const { return FindNamed(nodes, name); }
const Switch* Cluster::FindSwitch(std::string_view name) const { return FindNamed(switches, name); }

size_t Cluster::GpuCount() const {
  size_t count = 0;
  for (const Node& node : nodes) count += node.gpus.size();
  return count;
}

int Cluster::RailCount() const {
  int rails = 0;
  for (const Node& node : nodes) {
    for (const Nic& nic : node.nics) rails = std::max(rails, nic.rail + 1);
  }
  return rails;
}

Status Cluster::Validate() const { return Validator(*this).Run(); }

Cluster BuildCluster(const ClusterSpec& spec) {
  Cluster cluster;
  const int leaves = spec.leaves, spines = leaves == 0 ? 0 : spec.spines;
  for (int l = 0; l < leaves; ++l) {
    cluster.switches.push_back(
        {fmt::format("leaf{:02}", l), Tier::kLeaf,
         fmt::format("{:016x}", 0x0002c90001000000ull + (static_cast<uint64_t>(l) << 8))});
  }
  for (int s = 0; s < spines; ++s) {
    cluster.switches.push_back(
        {fmt::format("spine{:02}", s), Tier::kSpine,
         fmt::format("{:016x}", 0x0002c90002000000ull + (static_cast<uint64_t>(s) << 8))});
  }
  for (int n = 0; n < spec.nodes; ++n) cluster.nodes.push_back(BuildNode(spec, n));
  for (int r = 0; r * 8 < spec.nodes; ++r) cluster.racks.push_back(fmt::format("rack{:02}", r));
  if (leaves == 0 || spec.rails == 0) return cluster;

  std::vector<int> used(static_cast<size_t>(leaves), 0);  // ports taken on each leaf
  for (int n = 0; n < spec.nodes; ++n) {
    for (const Nic& nic : cluster.nodes[static_cast<size_t>(n)].nics) {
      const int leaf = LeafOf(spec, n, nic.rail);
      cluster.links.push_back({{fmt::format("leaf{:02}", leaf), ++used[static_cast<size_t>(leaf)]},
                               {fmt::format("node{:03}/{}", n, nic.device), 1},
                               spec.rate_gbit_per_s});
    }
  }
  if (spines == 0) return cluster;
  // All leaves climb alike, so that each spine port has a fixed place.
  const int up = LinksPerSpine(*std::max_element(used.begin(), used.end()), leaves, spines);
  for (int l = 0; l < leaves; ++l) {
    for (int s = 0; s < spines; ++s) {
      for (int u = 0; u < up; ++u) {
        cluster.links.push_back({{fmt::format("leaf{:02}", l), ++used[static_cast<size_t>(l)]},
                                 {fmt::format("spine{:02}", s), l * up + u + 1},
                                 spec.rate_gbit_per_s});
      }
    }
  }
  return cluster;
}

}  // namespace muster
