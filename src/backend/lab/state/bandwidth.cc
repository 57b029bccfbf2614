// The modelled fabric: how fast collectives and RDMA writes between nodes would be.
//
// Plateaus: 46 to 48 GB/s of a 400 Gb/s adapter in a ring (NVIDIA/nccl-tests issue 290), 480 GB/s
// inside a node of eight H100 with in-switch reduction (Azure/azurehpc-health-checks
// nd96isr_h100_v5), 232 inside one of A100 (facebookresearch/gcm), 839 of B200. Shapes over the
// size: 482 / 414 / 74 GB/s at 16 GiB / 128 MiB / 1 MiB inside a node of H200, and 376.7 / 365.9 /
// 260 at 16 GiB / 1 GiB / 128 MiB over four nodes of B200 (stas00/ml-engineering,
// network/benchmarks).
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "backend/lab/state/truth.h"
#include "base/strings.h"

namespace muster::lab {

namespace {

constexpr double kMiB = 1048576;
constexpr double kRingShare = 0.96;         // of the adapters' rate, at large sizes
constexpr double kWriteShare = 0.985;       // ib_write_bw of the adapter's rate: 394 of 400
constexpr double kEthernetGBytePerS = 1.2;  // nodes without any RDMA adapter: 10 Gb/s Ethernet

// plateau / (1 + (half / bytes)^steepness): fitted to the shapes above.
double Curve(double plateau, double bytes, double half_bytes, double steepness) {
  if (bytes <= 0) return 0;
  return plateau / (1 + std::pow(half_bytes / bytes, steepness));
}

double FactorOf(const Fault* fault) {
  return fault == nullptr ? 1 : std::clamp(Setting(*fault, "factor"), 0.0, 1.0);
}

const Nic* NicOnRail(const Node& node, int rail) {
  const auto it = std::find_if(node.nics.begin(), node.nics.end(),
                               [&](const Nic& n) { return n.rail == rail; });
  return it == node.nics.end() ? nullptr : &*it;
}

// Gb/s that the adapter carries now; one that is down has its share carried by a neighbour, which
// halves both.
double AdapterRate(const LabState& state, const Node& node, int rail, TimePoint now) {
  const Nic* nic = NicOnRail(node, rail);
  if (nic == nullptr) return 0;
  const HcaTruth truth = HcaNow(state, node, *nic, now);
  return truth.present && truth.state == "Active" ? truth.rate_gbit_per_s
                                                  : nic->rate_gbit_per_s / 2;
}

// GB/s that a GPU's PCIe slot lets through when it has lost lanes: 63 raw for generation 5 with 16,
// of which data gets nine tenths.
double SlotRate(const LabState& state, const Node& node, int rail, TimePoint now) {
  if (node.gpus.empty()) return 1e9;
  const int index = node.gpus[static_cast<size_t>(rail) % node.gpus.size()].index;
  const GpuTruth gpu = GpuNow(state, node, index, now);
  if (gpu.pcie_width >= gpu.pcie_width_max)
    return 1e9;  // boards are built so that a whole slot feeds its adapter
  return 0.9 * 63.0 * std::ldexp(1.0, gpu.pcie_gen - 5) * gpu.pcie_width / 16;
}

// GB/s of one rail between ring neighbours.
double HopRate(const LabState& state, const Node& a, const Node& b, int rail, TimePoint now) {
  double rate =
      kRingShare * std::min(AdapterRate(state, a, rail, now), AdapterRate(state, b, rail, now)) / 8;
  if (state.faults.empty()) return rate;
  rate = std::min({rate, SlotRate(state, a, rail, now), SlotRate(state, b, rail, now)});
  rate *= FactorOf(state.Find("slow_rail", RailSubject(rail)));
  const Fault* off = state.Find("gdr_off_rail", RailSubject(rail));
  if (off != nullptr) {
    rate *= FactorOf(off);
  } else if (!TransportNow(state, a, rail, now).gdr || !TransportNow(state, b, rail, now).gdr) {
    rate *= 0.55;  // through host memory: every byte crosses PCIe twice
  }
  const Subject pair = PairSubject(a.name, b.name);
  return rate * FactorOf(state.Find("slow_pair", pair)) *
         FactorOf(state.Find("rdma_pair_slow", pair));
}

// GB/s inside a node at large sizes.
double NodePlateau(const LabState& state, const Node& node, int ranks, TimePoint now) {
  double plateau = 1e9;
  for (int g = 0; g < std::min<int>(ranks, static_cast<int>(node.gpus.size())); ++g) {
    const GpuTruth gpu = GpuNow(state, node, node.gpus[static_cast<size_t>(g)].index, now);
    double one = 22;  // over PCIe and the root complex (generation 4 switchless boards)
    if (gpu.nvlinks > 0) {
      const double line = gpu.nvlinks * gpu.nvlink_gbyte_per_s;
      // With in-switch reduction (NVLS, fourth generation on) the figure exceeds the wire; before
      // it a ring stays below.
      one = (gpu.nvlink_gbyte_per_s > 26 ? 1.012 : 0.775) * line *
            (gpu.nvlink_gbyte_per_s > 50 ? 0.868 : 1);
      one *= static_cast<double>(gpu.nvlinks_active) / gpu.nvlinks;
    }
    plateau = std::min(plateau, one);
  }
  return plateau > 1e8 ? 22 : plateau;
}

double SlowNodes(const LabState& state, const std::vector<const Node*>& nodes) {
  double factor = 1;
  for (const Node* node : nodes) {
    factor =
        std::min(factor, FactorOf(state.Find("slow_node_collective", NodeSubject(node->name))));
  }
  return factor;
}

// All must be nodes of the lab; otherwise nothing.
std::vector<const Node*> Lookup(const LabState& state, const std::vector<std::string>& names) {
  std::vector<const Node*> nodes;
  for (const std::string& name : names) {
    const Node* node = state.cluster.FindNode(name);
    if (node == nullptr) return {};
    nodes.push_back(node);
  }
  return nodes;
}

}  // namespace

Transport TransportNow(const LabState& state, const Node& node, int rail, TimePoint now) {
  Transport transport;
  const Subject subject = NodeSubject(node.name);
  transport.rdma = NicOnRail(node, rail) != nullptr && !state.Has("tcp_fallback", subject);
  transport.gdr = transport.rdma && !state.Has("gdr_off_rail", RailSubject(rail)) &&
                  NodeNow(state, node, now).peermem_loaded;
  return transport;
}

bool ResultsRight(const LabState& state, const std::vector<std::string>& nodes, TimePoint) {
  return std::none_of(nodes.begin(), nodes.end(), [&](const std::string& node) {
    return state.Has("wrong_result", NodeSubject(node));
  });
}

double RingBandwidth(const LabState& state, const std::vector<std::string>& names,
                     const std::vector<int>& rails, double bytes, TimePoint now) {
  const auto nodes = Lookup(state, names);
  if (nodes.size() < 2) return 0;
  double plateau = rails.empty() ? kEthernetGBytePerS : 1e9;
  for (const int rail : rails) {
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (nodes.size() == 2 && n == 1) break;  // the way back is the same pair
      plateau =
          std::min(plateau, HopRate(state, *nodes[n], *nodes[(n + 1) % nodes.size()], rail, now));
    }
  }
  // Every rail carries the same share of the data, so the slowest sets the pace of all.
  if (!rails.empty()) plateau *= static_cast<double>(rails.size());
  plateau *= SlowNodes(state, nodes);
  for (const Node* node : nodes) {
    if (const Fault* tcp = state.Find("tcp_fallback", NodeSubject(node->name))) {
      plateau = std::min(plateau, Setting(*tcp, "gbyte_per_s"));
    }
  }
  return Curve(plateau, bytes, 69 * kMiB, 1.3);
}

double BusBandwidth(const LabState& state, const std::vector<std::string>& names,
                    int ranks_per_node, double bytes, TimePoint now) {
  const auto nodes = Lookup(state, names);
  if (nodes.empty() || ranks_per_node < 1) return 0;
  if (nodes.size() > 1) {
    std::vector<int> rails(
        static_cast<size_t>(std::min(ranks_per_node, state.cluster.RailCount())));
    std::iota(rails.begin(), rails.end(), 0);
    return RingBandwidth(state, names, rails, bytes, now);
  }
  if (ranks_per_node < 2) return 0;
  return Curve(NodePlateau(state, *nodes[0], ranks_per_node, now) * SlowNodes(state, nodes), bytes,
               10.6 * kMiB, 0.725);
}

double PairBandwidth(const LabState& state, std::string_view node_a, std::string_view node_b,
                     int rail, TimePoint now) {
  const Node* a = state.cluster.FindNode(node_a);
  const Node* b = state.cluster.FindNode(node_b);
  if (a == nullptr || b == nullptr) return 0;
  const double rate =
      std::min(AdapterRate(state, *a, rail, now), AdapterRate(state, *b, rail, now));
  return kWriteShare * rate * FactorOf(state.Find("rdma_pair_slow", PairSubject(node_a, node_b)));
}

}  // namespace muster::lab
