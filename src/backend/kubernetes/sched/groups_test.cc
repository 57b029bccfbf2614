// Every dialect's group as facts: what counts, and what is named because it does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/kubernetes/sched/facts.h"

namespace muster::kubesched {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string WithSpec(const std::string& spec, const std::string& meta = "") {
  return R"({"metadata":{"name":"g","namespace":"ml")" + meta + R"(},"spec":)" + spec + "}";
}
const std::string kQueueLabel =
    R"(,"labels":{"kueue.x-k8s.io/queue-name":"q","kueue.x-k8s.io/priority-class":"high"})";

TEST(Groups, EachDialectSaysItsMinimum) {
  EXPECT_EQ(DecodeVolcanoGroup(WithSpec(R"({"minMember":3,"queue":"q"})"))->min, 3);
  EXPECT_EQ(DecodeVolcanoGroup(WithSpec(R"({"minMember":3,"queue":"q"})"))->queue, "q");
  EXPECT_EQ(DecodeCoschedulingGroup(WithSpec(R"({"minMember":4})"))->min, 4);
  EXPECT_EQ(DecodeKaiGroup(WithSpec(R"({"minMember":5})"))->min, 5);
  EXPECT_EQ(DecodeNativeGroup(WithSpec(R"({"schedulingPolicy":{"gang":{"minCount":6}}})"))->min, 6);
  EXPECT_EQ(DecodeNativeGroup(WithSpec(R"({"schedulingPolicy":{"basic":{}}})"))->min, 0);
}

TEST(Groups, AJobIsAGangWhereItNamesAQueueOfKueue) {
  const std::string spec = R"({"parallelism":6,"completions":6,"completionMode":"Indexed"})";
  EXPECT_EQ(DecodeJobGroup(WithSpec(spec))->min, 0);
  const auto group = DecodeJobGroup(WithSpec(spec, kQueueLabel));
  EXPECT_EQ(group->min, 6);
  EXPECT_EQ(group->queue, "ml/q");
  EXPECT_EQ(group->priority_class, "kueue/high");
}

TEST(Groups, AJobSetWithAQueueIsOneGangOfAllItsJobs) {
  const std::string jobs =
      R"("replicatedJobs":[{"name":"a","template":{"spec":{"parallelism":2,"completions":2}}},)"
      R"({"name":"b","replicas":3,"template":{"spec":{"parallelism":4,"completions":4}}}])";
  EXPECT_EQ(DecodeJobSetGroup(WithSpec("{" + jobs + "}"))->min, 0);
  EXPECT_EQ(DecodeJobSetGroup(WithSpec("{" + jobs + "}", kQueueLabel))->min, 14);
  const auto in_turn = DecodeJobSetGroup(
      WithSpec(R"({"startupPolicy":{"startupPolicyOrder":"InOrder"},)" + jobs + "}", kQueueLabel));
  EXPECT_NE(in_turn->unsupported, "") << "its later pods come when the first are ready";
}

TEST(Groups, TiersOfVolcanoAndRolesAreRead) {
  const auto group =
      DecodeVolcanoGroup(WithSpec(R"({"minMember":3,"minTaskMember":{"master":1,"worker":2},)"
                                  R"("networkTopology":{"mode":"hard","highestTierAllowed":2}})"));
  EXPECT_EQ(group->topology.required, "tier-2");
  EXPECT_EQ(group->role_min.at("worker"), 2);
  EXPECT_EQ(DecodeVolcanoGroup(
                WithSpec(R"({"networkTopology":{"mode":"soft","highestTierName":"rack"}})"))
                ->topology.preferred,
            "rack");
}

TEST(Groups, WhatIsNotActedOnIsNamed) {
  EXPECT_THAT(
      DecodeVolcanoGroup(WithSpec(R"({"minMember":1,"minResources":{"cpu":"4"}})"))->ignored,
      IsEmpty())
      << "the pods' own requests are counted";
  EXPECT_THAT(DecodeVolcanoGroup(WithSpec(R"({"subGroupPolicy":[{"name":"a"}]})"))->ignored,
              ElementsAre("spec.subGroupPolicy"));
  EXPECT_THAT(DecodeKaiGroup(WithSpec(R"({"subGroups":[{"name":"a"}],"minSubGroup":1})"))->ignored,
              ElementsAre("spec.minSubGroup", "spec.subGroups"));
  EXPECT_THAT(DecodeNativeGroup(WithSpec(R"({"parentCompositePodGroupName":"p"})"))->ignored,
              ElementsAre("spec.parentCompositePodGroupName"));
  EXPECT_THAT(DecodeCoschedulingGroup(WithSpec(R"({"minMember":2,"somethingNew":true})"))->ignored,
              ElementsAre("spec.somethingNew"));
}

TEST(Groups, PrioritiesAndWhoMayBeEvicted) {
  EXPECT_EQ(DecodeNativeGroup(WithSpec(R"({"priority":-7})"))->priority, -7);
  EXPECT_EQ(DecodeVolcanoGroup(WithSpec(R"({"priorityClassName":"urgent"})"))->priority_class,
            "urgent");
  EXPECT_FALSE(DecodeKaiGroup(WithSpec(R"({"preemptibility":"non-preemptible"})"))->preemptible);
  EXPECT_TRUE(DecodeKaiGroup(WithSpec("{}"))->preemptible);
}

TEST(Groups, AnySpecIsRead) {
  for (const std::string spec : {"null", "[]", "7", R"({"minMember":"x","networkTopology":[]})",
                                 R"({"minMember":-3,"minTaskMember":[1]})"}) {
    EXPECT_TRUE(DecodeVolcanoGroup(WithSpec(spec)).ok()) << spec;
    EXPECT_TRUE(DecodeKaiGroup(WithSpec(spec)).ok()) << spec;
    EXPECT_TRUE(DecodeNativeGroup(WithSpec(spec)).ok()) << spec;
    EXPECT_TRUE(DecodeJobSetGroup(WithSpec(spec, kQueueLabel)).ok()) << spec;
  }
}

}  // namespace
}  // namespace muster::kubesched
