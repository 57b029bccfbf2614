#include "sched/numa/hints.h"

#include <bit>

namespace muster::numa {
namespace {

constexpr int kNoAffinity = -1;

int Count(unsigned mask) { return std::popcount(mask); }

const MaskSet& MasksOfCount(int count) {
  static const auto table = [] {
    std::array<MaskSet, kMaxZones + 1> sets;
    for (unsigned mask = 0; mask < (1u << kMaxZones); ++mask) sets[Count(mask)].set(mask);
    return sets;
  }();
  return table[count];
}

// Of two masks the one that the policy takes: fewer zones; then, if asked, the smaller mean
// distance (the number of pairs is equal, so sums compare alike); then lower zones.
bool Better(const Machine& machine, bool closest, unsigned a, unsigned b) {
  if (Count(a) != Count(b)) return Count(a) < Count(b);
  if (closest && machine.distance_sum[a] != machine.distance_sum[b]) {
    return machine.distance_sum[a] < machine.distance_sum[b];
  }
  return a < b;
}

// The best mask of `set` with `rank(mask)` as the first key, lower first; kNoAffinity if empty.
template <typename Rank>
int BestOf(const Machine& machine, bool closest, const MaskSet& set, Rank rank) {
  int best = kNoAffinity;
  for (size_t i = set._Find_first(); i < set.size(); i = set._Find_next(i)) {
    const auto mask = static_cast<unsigned>(i);
    if (mask == 0) continue;
    if (best == kNoAffinity || rank(mask) < rank(best) ||
        (rank(mask) == rank(best) && Better(machine, closest, mask, best))) {
      best = static_cast<int>(mask);
    }
  }
  return best;
}

MergedHint MergeSingle(const Machine& machine, std::span<const HintList> lists) {
  unsigned zones = machine.all_zones;
  bool any = false;
  for (const HintList& list : lists) {
    if (list.kind == HintList::kDontCare) continue;
    if (list.kind == HintList::kImpossible || list.min_affinity != 1) return {};
    unsigned of_list = 0;
    for (int zone = 0; zone < machine.zone_count; ++zone) {
      if (list.masks.test(1u << zone)) of_list |= 1u << zone;
    }
    zones &= of_list;
    any = true;
  }
  if (zones == 0) return {};
  const unsigned best = any ? (zones & -zones) : machine.all_zones;
  // The kubelet records no affinity where the answer is "every zone".
  const bool everywhere = best == machine.all_zones;
  return {!everywhere, everywhere ? ZoneMask{0} : static_cast<ZoneMask>(best), true, true};
}

// The mask that all lists prefer, best first; kNoAffinity where there is none.
int PreferredByAll(const Machine& machine, std::span<const HintList> lists) {
  MaskSet common;
  bool any = false;
  for (const HintList& list : lists) {
    if (list.kind == HintList::kDontCare) continue;
    if (list.kind == HintList::kImpossible) return kNoAffinity;
    const MaskSet preferred = list.masks & MasksOfCount(list.min_affinity);
    common = any ? common & preferred : preferred;
    any = true;
  }
  if (!any) return machine.all_zones;
  return BestOf(machine, machine.spec.prefer_closest, common, [](unsigned) { return 0; });
}

// What is left when nothing is preferred by all: among the intersections that are possible, as many
// zones as the most demanding list needs at least; otherwise as near below as there is, else above.
int BestNotPreferred(const Machine& machine, std::span<const HintList> lists) {
  MaskSet reachable;
  reachable.set(machine.all_zones);
  int wanted = 0;
  for (const HintList& list : lists) {
    if (list.kind != HintList::kMasks) continue;
    int least = kMaxZones + 1;
    MaskSet next;
    for (size_t a = reachable._Find_first(); a < reachable.size(); a = reachable._Find_next(a)) {
      for (size_t b = list.masks._Find_first(); b < list.masks.size();
           b = list.masks._Find_next(b)) {
        next.set(a & b);
        least = std::min(least, Count(static_cast<unsigned>(b)));
      }
    }
    reachable = next;
    wanted = std::max(wanted, least);
  }
  return BestOf(machine, machine.spec.prefer_closest, reachable, [wanted](unsigned mask) {
    return Count(mask) <= wanted ? wanted - Count(mask) : kMaxZones + 1;
  });
}

}  // namespace

MergedHint Merge(const Machine& machine, std::span<const HintList> lists) {
  if (machine.spec.policy == Policy::kSingleNumaNode) return MergeSingle(machine, lists);
  if (const int best = PreferredByAll(machine, lists); best != kNoAffinity) {
    return {true, static_cast<ZoneMask>(best), true, true};
  }
  if (machine.spec.policy == Policy::kRestricted) return {};
  const int best = BestNotPreferred(machine, lists);
  return {true, best == kNoAffinity ? machine.all_zones : static_cast<ZoneMask>(best), false, true};
}

HintList DeviceHints(const Machine& machine, const NodeState& state, int resource, int requested) {
  const Machine::Devices& devices = machine.devices[resource];
  if (devices.zones == 0) return {};
  const DeviceMask available = state.healthy[resource] & ~state.used[resource];
  HintList list{HintList::kImpossible, Count(devices.zones), {}};
  if (std::popcount(available) < requested) return list;
  ForEachSubmask(devices.zones, [&](ZoneMask mask) {
    int in_mask = 0, free = 0;
    for (const Machine::Group& group : devices.groups) {
      if ((group.zones & mask) == 0) continue;
      in_mask += std::popcount(group.devices);
      free += std::popcount(group.devices & available);
    }
    // What is preferred is decided by all devices, not by the free ones.
    if (in_mask >= requested) list.min_affinity = std::min(list.min_affinity, Count(mask));
    if (free >= requested) list.masks.set(mask);
  });
  if (list.masks.any()) list.kind = HintList::kMasks;
  return list;
}

HintList CpuHints(const Machine& machine, const NodeState& state, int requested) {
  std::array<int, kMaxZones> all{}, free{};
  const CpuSet available = state.free_cpus & ~machine.reserved_cpus;
  for (int zone = 0; zone < machine.zone_count; ++zone) {
    all[zone] = machine.spec.zones[zone].cpus;
    free[zone] = static_cast<int>((machine.zone_cpus[zone] & available).count());
  }
  HintList list{HintList::kImpossible, machine.cpu_zone_count, {}};
  ForEachSubmask(machine.cpu_zones, [&](ZoneMask mask) {
    int in_mask = 0, free_in_mask = 0;
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
      in_mask += all[std::countr_zero(rest)];
      free_in_mask += free[std::countr_zero(rest)];
    }
    if (in_mask >= requested) list.min_affinity = std::min(list.min_affinity, Count(mask));
    if (free_in_mask >= requested) list.masks.set(mask);
  });
  if (list.masks.any()) list.kind = HintList::kMasks;
  return list;
}

HintList MemoryHints(const Machine& machine, const NodeState& state, int64_t requested_bytes) {
  HintList list{HintList::kDontCare, machine.zone_count, {}};
  ForEachSubmask(machine.all_zones, [&](ZoneMask mask) {
    int64_t allocatable = 0, free = 0;
    bool usable = true;
    const bool single = Count(mask) == 1;
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
      const int zone = std::countr_zero(rest);
      allocatable += machine.allocatable_memory[zone];
      free += state.free_memory[zone];
      // A zone serves either pods of its own or pods of one group of zones.
      if (single) {
        usable = Count(state.memory_group[zone]) == 1;
      } else if (state.memory_assignments[zone] > 0) {
        usable = usable && state.memory_group[zone] == mask;
      }
    }
    if (allocatable < requested_bytes) return;
    list.min_affinity = std::min(list.min_affinity, Count(mask));
    if (usable && free >= requested_bytes) list.masks.set(mask);
  });
  if (list.masks.any()) list.kind = HintList::kMasks;
  return list;
}

}  // namespace muster::numa
