// Which CPUs the kubelet's static CPU manager takes: whole sockets, whole zones, whole cores, then
// single threads, from the places with the least left.
#pragma once

#include <optional>

#include "sched/numa/topology_manager.h"

namespace muster::numa {

// nullopt = the kubelet reports an error: too few.
std::optional<CpuSet> TakeCpus(const Machine& machine, const CpuSet& available, int count);

}  // namespace muster::numa
