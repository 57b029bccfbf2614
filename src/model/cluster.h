// The cluster as it should be: racks, switches, nodes with their NUMA domains, GPUs and NICs, and
// the links between them. It is an expectation, written by a person or found by `muster init
// --from-host`; probes say what is really there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/subject.h"

namespace muster {

enum class GpuFamily { kNvidia, kAmd, kNone };
std::string_view ToString(GpuFamily family);

struct Gpu {
  int index = 0;
  int numa = 0;            // NUMA domain it hangs on
  std::string model;       // as nvidia-smi prints it: "NVIDIA H100 80GB HBM3"; empty = any
  std::string uuid;        // empty = not pinned
  std::string pci_bus_id;  // "00000000:1B:00.0"; empty = not pinned
};

struct Nic {
  std::string device;  // "mlx5_0"
  int rail = 0;
  int numa = 0;
  double rate_gbit_per_s = 0;
  std::string guid;  // node GUID, 16 hex digits; empty = not pinned
};

struct Node {
  std::string name;
  std::string rack;     // empty = not known
  std::string address;  // how a host backend reaches it; empty = the name
  GpuFamily family = GpuFamily::kNvidia;
  int numa_domains = 1;
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
};

enum class Tier { kLeaf, kSpine };
struct Switch {
  std::string name;
  Tier tier = Tier::kLeaf;
  std::string guid;  // empty = not pinned
};

// One end of a link: a switch port, or port 1 of a host's NIC ("node-07/mlx5_4").
struct PortRef {
  std::string device;
  int port = 1;
  std::string ToString() const;  // "leaf00/5"
  bool operator==(const PortRef&) const = default;
};

struct Link {
  PortRef a, b;
  double rate_gbit_per_s = 0;  // of the whole link, all lanes
  int width = 4;               // lanes
  Subject Id() const { return LinkSubject(a.ToString(), b.ToString()); }
};

// Plain data. Lookups are by name; Validate() says whether names are unique and every link end
// exists.
struct Cluster {
  std::vector<std::string> racks;
  std::vector<Switch> switches;
  std::vector<Node> nodes;
  std::vector<Link> links;

  const Node* FindNode(std::string_view name) const;
  const Switch* FindSwitch(std::string_view name) const;
  size_t GpuCount() const;
  int RailCount() const;    // highest rail + 1, 0 without NICs
  Status Validate() const;  // every problem in one message, one a line
};

// What a one-line spec says: "nodes=4,gpus=8,numa=2,rails=8,leaves=2,spines=2,rate=400".
struct ClusterSpec {
  int nodes = 4, gpus = 8, numa = 2, rails = 8, leaves = 2, spines = 2;
  double rate_gbit_per_s = 400;
  std::string gpu_model = "NVIDIA H100 80GB HBM3";
  bool operator==(const ClusterSpec&) const = default;
};
// Keys as above plus model=; unknown keys, repeats and values out of range (1 to 1024 nodes, 0 to
// 16 GPUs, ...) are errors.
Result<ClusterSpec> ParseClusterSpec(std::string_view text);
std::string FormatClusterSpec(const ClusterSpec& spec);

// A two-level fat tree. Node n is node%03d in rack%02d (8 a rack); its NICs mlx5_0.. are spread
// over the NUMA domains as its GPUs are. With leaves a multiple of rails the wiring is
// rail-optimised (rail r of a group of nodes on one leaf), otherwise all NICs of a node hang on one
// leaf. Every leaf has at least one link to every spine, and as many as keep the tree non-blocking
// where ports allow (64 a switch). GUIDs as in mkfabric.py: leaf 0x0002c90001000000 + (l << 8),
// spine 0x0002c90002000000 + (s << 8), host adapter k of all 0x0002c90003000000 + (k << 8).
// With leaves=0 there are no switches and no links (a workstation).
Cluster BuildCluster(const ClusterSpec& spec);

}  // namespace muster
