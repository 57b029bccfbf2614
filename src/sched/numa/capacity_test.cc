#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sched/numa/testing/machines.h"

namespace muster::numa {
namespace {

TEST(Capacity, OfAnEmptyTwoByFourIsPerZoneUnderSingleNumaNode) {
  const Machine machine = MachineOf(TwoByFour(Policy::kSingleNumaNode));
  const NodeState state = EmptyState(machine);
  EXPECT_EQ(CapacityBound(machine, state, Gpus(3)), 2);
  EXPECT_EQ(CapacityBound(machine, state, Gpus(6)), 0);
  EXPECT_EQ(CapacityExact(machine, state, Gpus(3), 10), 2);
  EXPECT_EQ(CapacityExact(machine, state, Gpus(1), 5), 5) << "stops at the limit";
}

TEST(Capacity, OfAnEmptyTwoByFourIsThatOfTheNodeWithoutAPolicy) {
  const Machine machine = MachineOf(TwoByFour(Policy::kNone));
  EXPECT_EQ(CapacityBound(machine, EmptyState(machine), Gpus(6)), 1);
  EXPECT_EQ(CapacityBound(machine, EmptyState(machine), Gpus(2)), 4);
}

RC_GTEST_PROP(CapacityLaws, TheBoundIsNeverBelowWhatTheNodeTakes, ()) {
  const auto machine = BuildMachine(*AnyMachine());
  RC_PRE(machine.ok());
  NodeState state = EmptyState(*machine);
  for (const Request& request : *rc::gen::container<std::vector<Request>>(3, AnyRequest())) {
    (void)Admit(*machine, request, &state);
  }
  const Request shape = *AnyRequest();
  constexpr int kLimit = 20;
  RC_ASSERT(CapacityBound(*machine, state, shape) >= CapacityExact(*machine, state, shape, kLimit));
}

}  // namespace
}  // namespace muster::numa
