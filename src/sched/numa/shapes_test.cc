#include "sched/numa/shapes.h"

#include <gtest/gtest.h>

#include "sched/numa/testing/machines.h"

namespace muster::numa {
namespace {

constexpr char kGpu[] = "nvidia.com/gpu";

TEST(ValidShapes, OfTwoByFourUnderSingleNumaNodeAreOneToFourAndSixSaysWhy) {
  const auto sheet = ValidShapes(MachineOf(TwoByFour(Policy::kSingleNumaNode)), kGpu);
  ASSERT_TRUE(sheet.ok());
  EXPECT_EQ(sheet->valid, (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(sheet->verdicts[5].kubelet, "TopologyAffinityError");
  EXPECT_EQ(RefusalAtSubmit(*sheet, 6),
            "6 nvidia.com/gpu on 2x4 under single-numa-node: no NUMA zone has more than 4 "
            "nvidia.com/gpu; valid 1, 2, 3, 4");
  EXPECT_EQ(RefusalAtSubmit(*sheet, 4), "");
  EXPECT_EQ(RefusalAtSubmit(*sheet, 9),
            "9 nvidia.com/gpu on 2x4 under single-numa-node: a node has 8 nvidia.com/gpu; valid 1, "
            "2, 3, 4");
}

TEST(ValidShapes, OtherPoliciesOnTheSameHardwareTakeAllEight) {
  const auto sheet = ValidShapes(MachineOf(TwoByFour(Policy::kSingleNumaNode)), kGpu);
  ASSERT_TRUE(sheet.ok());
  ASSERT_EQ(sheet->others.size(), 3u);
  for (const auto& other : sheet->others) EXPECT_EQ(other.valid.size(), 8u);
}

TEST(ValidShapes, SayHowManyPodsAnEmptyNodeTakes) {
  const auto sheet = ValidShapes(MachineOf(TwoByFour(Policy::kRestricted)), kGpu);
  ASSERT_TRUE(sheet.ok());
  EXPECT_EQ(sheet->verdicts[2].per_node, 2) << "3 and 3; the two that are left are on two zones";
  EXPECT_EQ(sheet->verdicts[2].zones, 1);
  EXPECT_EQ(sheet->verdicts[7].zones, 2);
}

TEST(ValidShapes, AdaptersThatNeedMoreZonesThanTheGpusAreRefusedUnderRestricted) {
  MachineSpec spec = TwoByFour(Policy::kRestricted);
  spec.devices.push_back({"rdma/ib", {1, 2}});
  const auto sheet = ValidShapes(MachineOf(spec), kGpu, {{"rdma/ib", 1}});
  ASSERT_TRUE(sheet.ok());
  EXPECT_EQ(sheet->valid, (std::vector<int>{1}));
  EXPECT_EQ(sheet->verdicts[1].why,
            "2 nvidia.com/gpu fit into 1 NUMA zone, 2 rdma/ib need 2: the policy wants the same "
            "zones for both");
  EXPECT_EQ(sheet->verdicts[2].why, "the node has fewer than 3 rdma/ib");
}

TEST(ValidShapes, ReservedCpusTakeAwayTheFullNode) {
  MachineSpec spec = TwoByFour(Policy::kBestEffort);
  spec.cpu_static = true;
  spec.reserved_cpus = 2;
  const auto sheet = ValidShapes(MachineOf(spec), kGpu, {{"cpu", 2000}, {"memory", 4 * kGiB}});
  ASSERT_TRUE(sheet.ok());
  EXPECT_EQ(sheet->valid, (std::vector<int>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(sheet->verdicts[7].kubelet, "UnexpectedAdmissionError");
}

TEST(ValidShapes, OfAResourceThatTheNodeLacksAreAnError) {
  EXPECT_FALSE(ValidShapes(MachineOf(TwoByFour(Policy::kNone)), "amd.com/gpu").ok());
  EXPECT_FALSE(ValidShapes(MachineOf(TwoByFour(Policy::kNone)), kGpu, {{"rdma/ib", 1}}).ok());
}

}  // namespace
}  // namespace muster::numa
