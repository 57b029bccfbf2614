#include "measure/collective/ceiling.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {
namespace {

struct Adapters {
  int count = 0;
  double slowest_gbit_per_s = 0;
};

// What every node of the set has: as many adapters as the one with the fewest, as fast as the
// slowest.
Result<Adapters> CommonAdapters(const std::vector<const Node*>& nodes) {
  Adapters common;
  for (const Node* node : nodes) {
    if (node->nics.empty())
      return Fail(Code::kNotFound,
                  fmt::format("{} has no RDMA adapter in the inventory", node->name));
    const int count = static_cast<int>(node->nics.size());
    common.count = common.count == 0 ? count : std::min(common.count, count);
    for (const Nic& nic : node->nics) {
      if (nic.rate_gbit_per_s <= 0)
        return Fail(Code::kNotFound,
                    fmt::format("the rate of {} {} is not known", node->name, nic.device));
      const bool first = common.slowest_gbit_per_s <= 0;
      common.slowest_gbit_per_s =
          first ? nic.rate_gbit_per_s : std::min(common.slowest_gbit_per_s, nic.rate_gbit_per_s);
    }
  }
  return common;
}

Result<Ceiling> InsideNode(const Node& node, int ranks, std::span<const GpuSpec> gpus) {
  if (ranks < 2) return Fail(Code::kNotFound, "one rank has no bus bandwidth");
  if (node.gpus.empty())
    return Fail(Code::kNotFound, fmt::format("{} has no GPU in the inventory", node.name));
  const std::string& model = node.gpus.front().model;
  const GpuSpec* spec = FindGpuSpec(gpus, model);
  if (spec == nullptr || spec->nvlink_gbyte_per_s <= 0) {
    return Fail(Code::kNotFound,
                fmt::format("no NVLink figure for \"{}\" in catalogue/gpus.yaml", model));
  }
  if (ranks == 8 && spec->node_allreduce_gbyte_per_s > 0) {
    return Ceiling{spec->node_allreduce_gbyte_per_s,
                   fmt::format("eight {} in one node, as healthy nodes show", model)};
  }
  return Ceiling{spec->nvlink_gbyte_per_s, fmt::format("NVLink of {} in one direction", model)};
}

}  // namespace

const GpuSpec* FindGpuSpec(std::span<const GpuSpec> table, std::string_view gpu_model) {
  const auto at = std::find_if(table.begin(), table.end(), [gpu_model](const GpuSpec& spec) {
    return Contains(gpu_model, spec.match);
  });
  return at == table.end() ? nullptr : &*at;
}

double PayloadShare(const FabricKind& fabric) {
  const double mtu = std::max(fabric.mtu, 256);
  return mtu / (mtu + (fabric.roce ? 82 : 26));
}

Result<Ceiling> CeilingOf(const Cluster& cluster, std::span<const std::string> nodes,
                          int ranks_per_node, const FabricKind& fabric,
                          std::span<const GpuSpec> gpus) {
  std::vector<const Node*> found;
  for (const std::string& name : nodes) {
    const Node* node = cluster.FindNode(name);
    if (node == nullptr)
      return Fail(Code::kInvalid, fmt::format("no node {} in the inventory", name));
    found.push_back(node);
  }
  if (found.empty() || ranks_per_node < 1)
    return Fail(Code::kInvalid, "an all-reduce needs a rank");
  if (found.size() == 1) return InsideNode(*found.front(), ranks_per_node, gpus);
  TRY(const Adapters adapters, CommonAdapters(found));
  // A GPU drives one adapter in a ring: four adapters behind one GPU a node are not four times as
  // fast.
  const int rails = std::min(adapters.count, ranks_per_node);
  const double share = PayloadShare(fabric);
  Ceiling ceiling{rails * adapters.slowest_gbit_per_s / 8 * share,
                  fmt::format("{} rail{} x {:g} Gb/s x {:.3f} ({}, MTU {}), ring", rails,
                              rails == 1 ? "" : "s", adapters.slowest_gbit_per_s, share,
                              fabric.roce ? "RoCEv2" : "InfiniBand", fabric.mtu)};
  if (ranks_per_node > 1) {
    for (const Node* node : found) {
      const auto inside = InsideNode(*node, ranks_per_node, gpus);
      if (inside.ok() && inside->gbyte_per_s < ceiling.gbyte_per_s) ceiling = *inside;
    }
  }
  return ceiling;
}

bool HidesAdapters(size_t nodes, std::string_view algorithm) {
  return nodes == 2 && algorithm != "Ring";
}

}  // namespace muster
