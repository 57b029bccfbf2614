// Hints as the kubelet's managers give them and the Topology Manager merges them. A list of hints
// is a set of zone masks, so with at most eight zones it is 256 bits and merging is set algebra;
// the kubelet walks the cross product of all lists instead. Both give the same answer
// (tests/e2e/numa).
#pragma once

#include <span>

#include "sched/numa/topology_manager.h"

namespace muster::numa {

using MaskSet = std::bitset<1 << kMaxZones>;  // bit m = the zone mask m

struct HintList {
  enum Kind : uint8_t {
    kDontCare,    // nil affinity, preferred
    kImpossible,  // nil affinity, not preferred: an empty list
    kMasks,
  };
  Kind kind = kDontCare;
  int min_affinity = 0;  // a mask is preferred when it has this many zones
  MaskSet masks;         // kMasks: not empty
};

struct MergedHint {
  bool has_affinity = false;  // false = nil: any zone
  ZoneMask affinity = 0;
  bool preferred = false;
  bool admit = false;
};

// The Topology Manager's Merge of one policy (not kNone, which asks for no hints).
MergedHint Merge(const Machine& machine, std::span<const HintList> lists);

HintList DeviceHints(const Machine& machine, const NodeState& state, int resource, int requested);
HintList CpuHints(const Machine& machine, const NodeState& state, int requested);  // requested > 0
// kDontCare where nothing fits, as the memory manager then gives no list at all.
HintList MemoryHints(const Machine& machine, const NodeState& state, int64_t requested_bytes);

// Calls f(mask) for every mask that is not empty and within `zones`, by value.
template <typename F>
void ForEachSubmask(ZoneMask zones, F f) {
  for (int mask = 1; mask <= zones; ++mask) {
    if ((mask & ~zones) == 0) f(static_cast<ZoneMask>(mask));
  }
}

}  // namespace muster::numa
