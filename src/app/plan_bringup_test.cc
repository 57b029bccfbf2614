#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/bringup.h"
#include "app/testing/lab_site.h"

namespace muster {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LabSite;

std::vector<GatePlan> Plan(LabSite& lab, BringupOptions options = {}) {
  auto context = lab.Open();
  EXPECT_TRUE(context.ok());
  auto plan = PlanBringup(*context, options);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().ToString());
  return plan.ok() ? *plan : std::vector<GatePlan>{};
}

TEST(PlanBringup, EveryGateTellsWhatItReadsAndProves) {
  LabSite lab;
  const auto plan = Plan(lab);
  ASSERT_EQ(plan.size(), 8u);
  for (const GatePlan& gate : plan) {
    EXPECT_GT(gate.criteria, 0u) << gate.gate;
    EXPECT_FALSE(gate.already_open);
    EXPECT_FALSE(gate.reads.empty() && gate.proofs.empty()) << gate.gate;
  }
  EXPECT_THAT(plan[1].reads, Contains(HasSubstr("infiniband.perfquery (twice) on fabric")));
  EXPECT_THAT(plan[2].reads, Contains("nvidia_smi.query on 2 nodes: node000 .. node001"));
  EXPECT_THAT(plan[3].proofs, Contains(HasSubstr("must not start one rank")));
  EXPECT_THAT(plan[5].proofs, Contains(HasSubstr("all_reduce_perf over 2 nodes")));
}

TEST(PlanBringup, NothingIsStartedAndNothingIsWritten) {
  LabSite lab;
  lab.Set("acts", "  - {gate: 3, name: a, argv: [touch, x], probe: [test]}\n");
  const auto before = lab.files.Paths();
  const auto plan = Plan(lab);
  ASSERT_EQ(plan[2].acts.size(), 1u);
  EXPECT_EQ(plan[2].acts[0].argv[0], "touch");
  EXPECT_THAT(lab.processes.asked(), IsEmpty());
  EXPECT_EQ(lab.files.Paths(), before);
}

TEST(PlanBringup, RangeAndNodesAreKept) {
  LabSite lab;
  BringupOptions options;
  options.from = 2;
  options.to = 3;
  options.nodes = {"node001"};
  const auto plan = Plan(lab, options);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].gate, 2);
  EXPECT_THAT(plan[1].reads, Contains("nvidia_smi.query on node001"));
}

TEST(PlanBringup, GateThatIsOpenSaysSo) {
  LabSite lab;
  ASSERT_TRUE(lab.RunGates(1, 1).ok());
  const auto plan = Plan(lab);
  EXPECT_TRUE(plan[0].already_open);
  EXPECT_FALSE(plan[1].already_open);
}

TEST(PlanBringup, UnknownScopeOrNodeIsRefused) {
  LabSite lab;
  auto context = lab.Open();
  ASSERT_TRUE(context.ok());
  BringupOptions scope, node;
  scope.scope = "nowhere";
  node.nodes = {"node099"};
  EXPECT_EQ(PlanBringup(*context, scope).error().code, Code::kInvalid);
  const auto planned = PlanBringup(*context, node);
  ASSERT_FALSE(planned.ok()) << "run refuses the node; so does plan";
  EXPECT_EQ(planned.error().code, Code::kInvalid);
}

}  // namespace
}  // namespace muster
