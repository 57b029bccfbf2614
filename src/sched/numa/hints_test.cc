#include "sched/numa/hints.h"

#include <bit>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sched/numa/testing/machines.h"

namespace muster::numa {
namespace {

TEST(Hints, PreferTheFewestZonesThatAllDevicesTogetherCouldNeed) {
  const Machine machine = MachineOf(TwoByFour(Policy::kRestricted));
  NodeState state = EmptyState(machine);
  state.used[0] = 0b01110111;  // one left on each zone
  const HintList two = DeviceHints(machine, state, 0, 2);
  EXPECT_EQ(two.min_affinity, 1);
  EXPECT_FALSE(two.masks.test(1) || two.masks.test(2));
  EXPECT_TRUE(two.masks.test(3));
  EXPECT_EQ(DeviceHints(machine, state, 0, 3).kind, HintList::kImpossible);
}

TEST(Hints, DevicesWithoutTopologyDoNotCare) {
  MachineSpec spec = TwoByFour(Policy::kRestricted);
  spec.devices[0].zones.assign(8, 0);
  const Machine machine = MachineOf(spec);
  EXPECT_EQ(DeviceHints(machine, EmptyState(machine), 0, 6).kind, HintList::kDontCare);
}

TEST(Hints, MemoryThatFitsNowhereIsNoPreferenceAsInTheKubelet) {
  MachineSpec spec = TwoByFour(Policy::kRestricted);
  spec.memory_static = true;
  const Machine machine = MachineOf(spec);
  EXPECT_EQ(MemoryHints(machine, EmptyState(machine), 200 * kGiB).kind, HintList::kDontCare);
}

TEST(Hints, OfTwoEquallyNarrowMasksTheCloserWinsWhenAskedFor) {
  MachineSpec spec;
  spec.zones.assign(3, Zone{4, kGiB, 0});
  spec.devices = {{"nvidia.com/gpu", {1, 2, 4}}};
  spec.policy = Policy::kBestEffort;
  spec.distances = {{10, 30, 20}, {30, 10, 20}, {20, 20, 10}};
  const std::array<HintList, 1> lists = {
      DeviceHints(MachineOf(spec), EmptyState(MachineOf(spec)), 0, 2)};
  EXPECT_EQ(Merge(MachineOf(spec), lists).affinity, 0b011);
  spec.prefer_closest = true;
  EXPECT_EQ(Merge(MachineOf(spec), lists).affinity, 0b101);
}

// The kubelet's own way: the cross product of all lists, and the better of each two.
struct Hint {
  bool any = false;
  unsigned mask = 0;
  bool preferred = false;
};
MergedHint BruteForce(const Machine& machine, const std::vector<std::vector<Hint>>& lists) {
  size_t wanted = 0;
  for (const auto& list : lists) {
    size_t least = 0;
    for (const Hint& hint : list) {
      const auto count = static_cast<size_t>(std::popcount(hint.mask));
      if (hint.any && (least == 0 || count < least)) least = count;
    }
    wanted = std::max(wanted, least);
  }
  std::optional<Hint> best;
  std::vector<size_t> at(lists.size(), 0);
  while (true) {
    Hint merged{true, machine.all_zones, true};
    std::optional<unsigned> first;
    for (size_t i = 0; i < lists.size(); ++i) {
      const Hint& hint = lists[i][at[i]];
      merged.preferred = merged.preferred && hint.preferred;
      if (!hint.any) continue;
      if (first && *first != hint.mask) merged.preferred = false;
      first = first.value_or(hint.mask);
      merged.mask &= hint.mask;
    }
    const auto narrower = [](const Hint& a, const Hint& b) {
      const int ca = std::popcount(a.mask), cb = std::popcount(b.mask);
      return ca != cb ? ca < cb : a.mask < b.mask;
    };
    const auto count = [](const Hint& hint) {
      return static_cast<size_t>(std::popcount(hint.mask));
    };
    if (merged.mask != 0) {
      if (!best || (merged.preferred && !best->preferred)) {
        best = merged;
      } else if (merged.preferred == best->preferred) {
        if (merged.preferred || count(*best) > wanted) {
          if (narrower(merged, *best)) best = merged;
        } else if (count(*best) == wanted) {
          if (count(merged) == wanted && narrower(merged, *best)) best = merged;
        } else if (count(merged) <= wanted) {
          if (count(merged) > count(*best) ||
              (count(merged) == count(*best) && narrower(merged, *best))) {
            best = merged;
          }
        }
      }
    }
    size_t i = 0;
    while (i < at.size() && ++at[i] == lists[i].size()) at[i++] = 0;
    if (i == at.size()) break;
  }
  if (!best) return {true, machine.all_zones, false, true};
  return {true, static_cast<ZoneMask>(best->mask), best->preferred, true};
}

RC_GTEST_PROP(HintLaws, MergingSetsIsTheBestOfTheCrossProduct, ()) {
  MachineSpec spec;
  const int zones = *rc::gen::inRange(1, 5);
  spec.zones.assign(static_cast<size_t>(zones), Zone{2, kGiB, 0});
  spec.policy = Policy::kBestEffort;
  const Machine machine = MachineOf(spec);
  std::vector<HintList> lists;
  std::vector<std::vector<Hint>> hints;
  const int count = *rc::gen::inRange(1, 4);
  for (int i = 0; i < count; ++i) {
    HintList list{*rc::gen::element(HintList::kMasks, HintList::kMasks, HintList::kMasks,
                                    HintList::kDontCare, HintList::kImpossible),
                  *rc::gen::inRange(1, zones + 1),
                  {}};
    std::vector<Hint> of_list;
    if (list.kind == HintList::kMasks) {
      for (int mask = 1; mask < 1 << zones; ++mask) {
        if (!*rc::gen::arbitrary<bool>()) continue;
        list.masks.set(static_cast<size_t>(mask));
        const auto bits = static_cast<unsigned>(mask);
        of_list.push_back({true, bits, std::popcount(bits) == list.min_affinity});
      }
      if (list.masks.none()) list.kind = HintList::kImpossible;
    }
    if (list.kind != HintList::kMasks) of_list = {{false, 0, list.kind == HintList::kDontCare}};
    lists.push_back(list);
    hints.push_back(of_list);
  }
  const MergedHint ours = Merge(machine, lists);
  const MergedHint theirs = BruteForce(machine, hints);
  RC_ASSERT(ours.affinity == theirs.affinity);
  RC_ASSERT(ours.preferred == theirs.preferred);
}

}  // namespace
}  // namespace muster::numa
