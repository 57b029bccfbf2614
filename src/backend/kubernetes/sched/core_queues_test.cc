// What queues, classes and roles ask for beyond amounts, on the core by itself.
#include <gtest/gtest.h>

#include "backend/kubernetes/sched/core.h"
#include "backend/kubernetes/sched/testing/small_cluster.h"

namespace muster::kubesched {
namespace {

using testing::SmallCluster;

Queue GpuQueue(const std::string& name, const std::string& parent = "", int64_t gpus = 100) {
  Queue queue;
  queue.name = name, queue.parent = parent;
  if (parent.empty()) queue.quota.push_back({"any", "nvidia.com/gpu", gpus, {}, {}});
  return queue;
}

GroupFacts GroupOf(Dialect dialect, const std::string& name, int min, const std::string& queue) {
  GroupFacts group;
  group.meta = {"ml", name, name + "-uid", "1"};
  group.dialect = dialect, group.min = min, group.queue = queue;
  return group;
}

struct DialectCluster : SmallCluster {
  using SmallCluster::SmallCluster;
  void GangOf(Dialect dialect, const std::string& name, int size, int gpus,
              const std::string& queue = "", int min = -1) {
    core.SetGroup(testing_group = GroupOf(dialect, name, min < 0 ? size : min, queue));
    for (int i = 0; i < size; ++i) {
      PodFacts facts = Facts(name, i, 0, gpus);
      facts.dialect = dialect;
      Put(facts);
    }
  }
  GroupFacts testing_group;
};

TEST(CoreQueues, NothingStartsThroughAHeldQueueAndTheReasonIsSaid) {
  SmallCluster c(2);
  QueueWords words;
  words.held["cq"] = "ClusterQueue cq has stopPolicy Hold";
  c.core.SetQueues({GpuQueue("cq"), GpuQueue("ml/lq", "cq")}, {}, words);
  c.Gang("a", 2, 8, {}, 0, "ml/lq");
  c.Decide();
  EXPECT_TRUE(c.Binds("a").empty());
  EXPECT_NE(c.Why("ml/a").find("stopPolicy Hold"), std::string::npos) << c.Why("ml/a");
  c.core.SetQueues({GpuQueue("cq"), GpuQueue("ml/lq", "cq")}, {}, {});
  c.Decide(1000);
  EXPECT_EQ(c.Binds("a").size(), 2u);
}

TEST(CoreQueues, AHeldQueueLeavesWhatRunsAndADrainedOneDoesNot) {
  for (const bool drain : {false, true}) {
    SmallCluster c(2);
    c.core.SetQueues({GpuQueue("cq"), GpuQueue("ml/lq", "cq")}, {}, {});
    c.Gang("a", 2, 8, {}, 0, "ml/lq");
    c.Gang("other", 2, 1);
    c.Decide();
    c.ConfirmAll();
    QueueWords words;
    words.held["cq"] = "held";
    if (drain) words.drained.insert("cq");
    c.core.SetQueues({GpuQueue("cq"), GpuQueue("ml/lq", "cq")}, {}, words);
    c.Decide(1000);
    EXPECT_EQ(c.Deleted().size(), drain ? 2u : 0u);
    for (const std::string& pod : c.Deleted()) EXPECT_TRUE(pod.starts_with("a-")) << pod;
  }
}

TEST(CoreQueues, GangsOfALocalQueueCountInItsClusterQueueAndPreemptAsThatSays) {
  for (const bool may : {false, true}) {
    SmallCluster c(2);
    Queue cq = GpuQueue("cq", "", 8);
    if (may) cq.within = PreemptWithin::kLowerPriority;
    c.core.SetQueues({cq, GpuQueue("ml/one", "cq"), GpuQueue("ml/two", "cq")}, {}, {});
    c.Gang("low", 1, 8, {}, 0, "ml/one");
    c.Decide();
    c.ConfirmAll();
    ASSERT_EQ(c.Binds("low").size(), 1u);
    c.Gang("high", 1, 8, {}, 10, "ml/two");
    c.Decide(1000);
    EXPECT_EQ(c.Deleted().size(), may ? 1u : 0u) << "both queues are one";
    if (may) continue;
    EXPECT_NE(c.Why("ml/high").find("queue=cq"), std::string::npos) << c.Why("ml/high");
  }
}

TEST(CoreQueues, ALocalQueueWithoutItsClusterQueueIsWaitedFor) {
  SmallCluster c(1);
  c.core.SetQueues({GpuQueue("ml/lq", "gone")}, {}, {});
  c.Gang("g", 1, 1, {}, 0, "ml/lq");
  c.Decide();
  EXPECT_TRUE(c.Binds("g").empty());
  EXPECT_NE(c.Why("ml/g").find("ClusterQueue gone"), std::string::npos) << c.Why("ml/g");
}

TEST(CoreQueues, AQueueThatCannotBeInTheTreeLimitsNobodyAndSoStopsAll) {
  SmallCluster c(1);
  c.core.SetQueues({GpuQueue("a", "b"), GpuQueue("b", "a")}, {}, {});
  c.Gang("g", 1, 1, {}, 0, "b");
  c.Decide();
  EXPECT_TRUE(c.Binds("g").empty());
  EXPECT_NE(c.Why("ml/g").find("ancestor"), std::string::npos) << c.Why("ml/g");
}

TEST(CoreQueues, FourGroupsOfOneNameAreFourGangsInTheirOwnQueues) {
  DialectCluster c(4);
  QueueWords words;
  words.renamed[{"volcano", "q"}] = "q@volcano";
  words.renamed[{"kai", "q"}] = "q@kai";
  c.core.SetQueues({GpuQueue("q@volcano", "", 2), GpuQueue("q@kai", "", 1)}, {}, words);
  for (const Dialect dialect :
       {Dialect::kVolcano, Dialect::kCoscheduling, Dialect::kKai, Dialect::kNative}) {
    const bool queued = dialect == Dialect::kVolcano || dialect == Dialect::kKai;
    c.core.SetGroup(GroupOf(dialect, "same", 2, queued ? "q" : ""));
    for (int i = 0; i < 2; ++i) {
      PodFacts facts = c.Facts(std::string(ToString(dialect)), i, 0, 1);
      facts.dialect = dialect, facts.group = "same";
      c.Put(facts);
    }
  }
  c.Decide();
  EXPECT_EQ(c.Binds("volcano").size(), 2u);
  EXPECT_EQ(c.Binds("coscheduling").size(), 2u);
  EXPECT_EQ(c.Binds("native").size(), 2u);
  EXPECT_EQ(c.Binds("kai").size(), 0u) << "its queue holds one GPU";
}

TEST(CoreQueues, AQueueThatIsNotThereIsWaitedForAndVolcanosDefaultIsAlwaysThere) {
  DialectCluster c(2);
  c.GangOf(Dialect::kVolcano, "vd", 1, 1, "default");
  c.GangOf(Dialect::kVolcano, "vq", 1, 1, "team");
  c.GangOf(Dialect::kKai, "kq", 1, 1, "team");
  c.Decide();
  EXPECT_EQ(c.Binds("vd").size(), 1u);
  EXPECT_TRUE(c.Binds("vq").empty());
  EXPECT_TRUE(c.Binds("kq").empty());
  EXPECT_NE(c.Why("ml/vq").find("Queue team is not there"), std::string::npos) << c.Why("ml/vq");
}

TEST(CoreQueues, TheClassOfTheGroupGoesBeforeThePriorityOfItsPods) {
  DialectCluster c(1);
  QueueWords words;
  words.priorities["urgent"] = 1000;
  c.core.SetQueues({}, {}, words);
  c.Gang("first", 1, 8, {}, 10);
  c.GangOf(Dialect::kVolcano, "second", 1, 8);
  c.testing_group.priority_class = "urgent";
  c.core.SetGroup(c.testing_group);
  c.Decide();
  EXPECT_EQ(c.Binds("second").size(), 1u);
  EXPECT_TRUE(c.Binds("first").empty());
}

TEST(CoreQueues, RolesHaveMinimaOfTheirOwn) {
  DialectCluster c(1);
  c.core.SetGroup([] {
    GroupFacts group = GroupOf(Dialect::kVolcano, "g", 2, "");
    group.role_min = {{"worker", 2}};
    return group;
  }());
  // One GPU a helper, eight a worker: two helpers would be enough for minMember alone.
  for (int i = 0; i < 4; ++i) {
    PodFacts facts = c.Facts("g", i, 0, i < 2 ? 1 : 8);
    facts.dialect = Dialect::kVolcano, facts.role = i < 2 ? "helper" : "worker";
    c.Put(facts);
  }
  c.Decide();
  EXPECT_TRUE(c.Binds("g").empty());
}

TEST(CoreQueues, WhatIsIgnoredIsSaidWithTheGang) {
  DialectCluster c(1);
  GroupFacts group = GroupOf(Dialect::kKai, "g", 1, "");
  group.ignored = {"spec.subGroups"};
  group.priority_class = "nowhere";
  c.core.SetGroup(group);
  PodFacts facts = c.Facts("g", 0, 0, 1);
  facts.dialect = Dialect::kKai;
  c.Put(facts);
  c.Decide();
  c.ConfirmAll();
  bool said = false;
  for (const Act& act : c.acts) {
    const auto* say = std::get_if<SayGang>(&act);
    if (say == nullptr || say->reason != "GangScheduled") continue;
    said = true;
    EXPECT_NE(say->ignored.find("spec.subGroups"), std::string::npos) << say->ignored;
    EXPECT_NE(say->ignored.find("nowhere"), std::string::npos) << say->ignored;
  }
  EXPECT_TRUE(said);
}

TEST(CoreQueues, AJobSetWithoutAQueueIsNoGangAndOneWithAQueueWaitsForAllOfIt) {
  DialectCluster c(1);
  c.GangOf(Dialect::kJobSet, "plain", 2, 1, "", 0);
  c.core.SetQueues({GpuQueue("cq"), GpuQueue("ml/lq", "cq")}, {}, {});
  c.GangOf(Dialect::kJobSet, "set", 2, 1, "ml/lq", 3);
  c.Decide();
  EXPECT_EQ(c.Binds("plain").size(), 2u);
  EXPECT_TRUE(c.Binds("set").empty());
  PodFacts facts = c.Facts("set", 2, 0, 1);
  facts.dialect = Dialect::kJobSet;
  c.Put(facts);
  c.Decide(1000);
  EXPECT_EQ(c.Binds("set").size(), 3u);
}

}  // namespace
}  // namespace muster::kubesched
