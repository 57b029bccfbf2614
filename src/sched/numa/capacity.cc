#include <algorithm>
#include <bit>

#include "sched/numa/topology_manager.h"

namespace muster::numa {
namespace {

constexpr int kUnlimited = 1 << 20;

// What one pod of the shape takes, and whether each part is held to zones by a manager.
struct Demand {
  std::array<int, kMaxResources> devices{};
  int cpus = 0;
  int64_t memory_bytes = 0;
};

Demand DemandOf(const Machine& machine, const Request& request) {
  Demand demand;
  for (int i = 0; i < request.container_count; ++i) {
    const ContainerRequest& container = request.containers[i];
    for (size_t r = 0; r < machine.devices.size(); ++r) {
      demand.devices[r] += std::max<int>(0, container.devices[r]);
    }
    if (!request.guaranteed) continue;
    if (machine.spec.cpu_static) demand.cpus += container.cpus;
    if (machine.spec.memory_static) demand.memory_bytes += container.memory_bytes;
  }
  return demand;
}

// How often the demand fits into `zones` taken as one pool. Memory bounds only the whole node:
// where the memory manager has no hint left, it takes from any zones, whatever the policy.
int FitsIn(const Machine& machine, const NodeState& state, const Demand& demand, ZoneMask zones,
           bool whole_node) {
  int64_t fits = kUnlimited;
  for (size_t r = 0; r < machine.devices.size(); ++r) {
    if (demand.devices[r] == 0) continue;
    DeviceMask free = 0;
    const bool anywhere = whole_node || machine.devices[r].zones == 0;
    for (const Machine::Group& group : machine.devices[r].groups) {
      if (anywhere || (group.zones & zones) != 0) free |= group.devices;
    }
    free &= state.healthy[r] & ~state.used[r];
    fits = std::min<int64_t>(fits, std::popcount(free) / demand.devices[r]);
  }
  if (demand.cpus > 0) {
    const CpuSet available = state.free_cpus & ~machine.reserved_cpus;
    size_t free = 0;
    for (int zone = 0; zone < machine.zone_count; ++zone) {
      if (zones >> zone & 1) free += (machine.zone_cpus[zone] & available).count();
    }
    fits = std::min<int64_t>(fits, static_cast<int64_t>(free) / demand.cpus);
  }
  if (demand.memory_bytes > 0 && whole_node) {
    int64_t free = 0;
    for (int zone = 0; zone < machine.zone_count; ++zone) free += state.free_memory[zone];
    fits = std::min<int64_t>(fits, free / demand.memory_bytes);
  }
  return static_cast<int>(fits);
}

}  // namespace

int CapacityBound(const Machine& machine, const NodeState& state, const Request& request) {
  const Demand demand = DemandOf(machine, request);
  const int whole = FitsIn(machine, state, demand, machine.all_zones, true);
  // One zone a pod: what the zones take one by one. Several containers may each have their own zone
  // in the container scope, so only the sum over the node bounds them.
  const bool one_zone = machine.spec.policy == Policy::kSingleNumaNode &&
                        (machine.spec.scope == Scope::kPod || request.container_count == 1);
  if (!one_zone || machine.zone_count == 1) return whole;
  int64_t sum = 0;
  for (int zone = 0; zone < machine.zone_count; ++zone) {
    sum += FitsIn(machine, state, demand, static_cast<ZoneMask>(1u << zone), false);
  }
  return static_cast<int>(std::min<int64_t>(whole, sum));
}

int CapacityExact(const Machine& machine, NodeState state, const Request& request, int limit) {
  int count = 0;
  while (count < limit && Admit(machine, request, &state).admitted) ++count;
  return count;
}

}  // namespace muster::numa
