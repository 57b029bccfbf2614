// The core by itself: objects in as an API server shows them, acts out.
#include "backend/kubernetes/sched/core.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/kubernetes/sched/testing/small_cluster.h"

namespace muster::kubesched {
namespace {

using testing::SmallCluster;

TEST(JudgeHalfBound, WhatIsMissingDecides) {
  EXPECT_EQ(JudgeHalfBound(8, 0, 0, 8, true), HalfBound::kWhole);
  EXPECT_EQ(JudgeHalfBound(5, 3, 0, 8, true), HalfBound::kComplete);
  EXPECT_EQ(JudgeHalfBound(5, 2, 0, 8, true), HalfBound::kWait) << "a pod is still to be made";
  EXPECT_EQ(JudgeHalfBound(5, 2, 0, 8, false), HalfBound::kEvict) << "and nobody makes it";
  EXPECT_EQ(JudgeHalfBound(7, 0, 0, 8, false), HalfBound::kWait) << "it ran; one was taken away";
  EXPECT_EQ(JudgeHalfBound(5, 2, 1, 8, true), HalfBound::kComplete) << "one has done its work";
  EXPECT_EQ(JudgeHalfBound(6, 2, 0, 6, true), HalfBound::kWhole) << "the minimum runs";
}

TEST(Core, AGangIsBoundWholeOrNotAtAll) {
  SmallCluster c(2);
  c.Gang("fits", 4, 4);
  c.Gang("large", 3, 8);
  c.Decide();
  EXPECT_EQ(c.Binds("fits").size(), 4u);
  EXPECT_EQ(c.Binds("large").size(), 0u);
  EXPECT_NE(c.Why("ml/large").find("GANG"), std::string::npos) << c.Why("ml/large");
}

TEST(Core, AGangWaitsForItsLastPodAndNothingIsWrittenBefore) {
  SmallCluster c(2);
  for (int i = 0; i < 3; ++i) c.Pod("half", i, 4, 4);
  c.Decide();
  EXPECT_TRUE(c.acts.empty());
  c.Decide(5000);
  EXPECT_TRUE(c.acts.empty()) << "no status, no event on pods of a half-made gang";
  c.Pod("half", 3, 4, 4);
  c.Decide(6000);
  EXPECT_EQ(c.Binds("half").size(), 4u);
}

TEST(Core, OneEventWhenTheLastPodIsBound) {
  SmallCluster c(2);
  c.Gang("a", 4, 4);
  c.Decide();
  const auto binds = c.Binds("a");
  for (size_t i = 0; i < binds.size(); ++i) {
    EXPECT_EQ(c.Says("GangScheduled"), 0u);
    c.Confirm(binds[i]);
    c.Decide();
  }
  EXPECT_EQ(c.Says("GangScheduled"), 1u);
  c.Decide(60'000);
  EXPECT_EQ(c.Says("GangScheduled"), 1u);
  EXPECT_EQ(c.Binds("a").size(), 4u) << "nothing is bound twice";
}

TEST(Core, WhoWaitsIsToldWhyAfterAWhileAndOnce) {
  SmallCluster c(1);
  c.Gang("large", 2, 8);
  c.Decide();
  EXPECT_EQ(c.Says("GangWaiting"), 0u);
  c.Decide(11'000);
  EXPECT_EQ(c.Says("GangWaiting"), 1u);
  c.Decide(500'000);
  EXPECT_EQ(c.Says("GangWaiting"), 1u);
}

TEST(Core, EndedPodsGiveTheirRoomBackToTheNextGang) {
  SmallCluster c(1);
  c.Gang("first", 2, 4);
  c.Gang("second", 2, 4);
  c.Decide();
  c.ConfirmAll();
  EXPECT_EQ(c.Binds("second").size(), 0u);
  c.End("first", 0);
  c.Decide(1000);
  EXPECT_EQ(c.Binds("second").size(), 0u);
  c.End("first", 1);
  c.Decide(2000);
  EXPECT_EQ(c.Binds("second").size(), 2u);
}

TEST(Core, PodsOfOthersHoldTheirRoom) {
  SmallCluster c(1);
  c.Foreign("theirs", "n0", 6);
  c.Gang("ours", 1, 4);
  c.Decide();
  EXPECT_TRUE(c.Binds("ours").empty());
  c.RemoveForeign("theirs");
  c.Decide(1000);
  EXPECT_EQ(c.Binds("ours").size(), 1u);
}

TEST(Core, WhatIsBoundAlreadyIsAdoptedAtAStart) {
  SmallCluster c(2);
  c.Gang("old", 2, 8, {"n0", "n1"});
  c.Gang("late", 1, 8);
  c.Decide();
  EXPECT_TRUE(c.acts.empty());
  c.End("old", 1);
  c.Decide(1000);
  ASSERT_EQ(c.Binds("late").size(), 1u);
  EXPECT_EQ(c.Binds("late")[0].node, "n1");
}

// `kill -9` between binds, after each of them: the next scheduler finds some bound.
TEST(Core, AGangCaughtBetweenBindsIsCompletedWhereTheRestFits) {
  for (size_t bound = 1; bound < 4; ++bound) {
    SmallCluster c(4);
    std::vector<std::string> nodes = {"n0", "n1", "n2", "n3"};
    nodes.resize(bound);
    c.Gang("half", 4, 8, nodes);
    c.Decide();
    EXPECT_EQ(c.Binds("half").size(), 4 - bound);
    EXPECT_TRUE(c.Deleted().empty());
    for (const BindPod& bind : c.Binds("half"))
      EXPECT_EQ(std::count(nodes.begin(), nodes.end(), bind.node), 0) << bind.node;
  }
}

TEST(Core, AGangCaughtBetweenBindsIsWhollyEvictedWhereTheRestDoesNotFit) {
  for (int bound = 1; bound < 4; ++bound) {
    SmallCluster c(4);
    std::vector<std::string> nodes;
    for (int i = 0; i < bound; ++i) nodes.push_back(fmt::format("n{}", i));
    c.Gang("half", 4, 8, nodes);
    c.Foreign("theirs", "n3", 1);
    c.Decide();
    EXPECT_TRUE(c.Binds("half").empty());
    EXPECT_EQ(c.Deleted().size(), static_cast<size_t>(bound)) << "all of it goes, or none";
    EXPECT_EQ(c.Says("GangEvicted"), 1u);
  }
}

TEST(Core, AGangWithPodsThatAreStillToBeMadeIsLeftAlone) {
  SmallCluster c(4);
  c.Pod("half", 0, 4, 8, "n0");
  c.Pod("half", 1, 4, 8, "n1");
  c.Pod("half", 2, 4, 8);
  c.Decide();
  EXPECT_TRUE(c.acts.empty());
  c.Pod("half", 3, 4, 8);
  c.Decide(1000);
  EXPECT_EQ(c.Binds("half").size(), 2u);
}

TEST(Core, ABindThatFailedIsAskedForAgain) {
  SmallCluster c(1);
  c.Gang("a", 2, 4);
  c.Decide();
  const auto binds = c.Binds("a");
  c.Confirm(binds[0]);
  c.core.NotBound(binds[1].pod.uid, "", false, c.now);
  c.Decide(100);
  EXPECT_EQ(c.Binds("a").size(), 2u);
  EXPECT_EQ(c.core.NextAt(), 1000);
  c.Decide(1000);
  EXPECT_EQ(c.Binds("a").size(), 3u);
  EXPECT_EQ(c.Binds("a")[2].node, binds[1].node);
}

TEST(Core, APodThatTheServerNeverTakesCondemnsItsGangAndWhatIsNotBoundStays) {
  SmallCluster c(1);
  c.Gang("a", 2, 4);
  c.Decide();
  const auto binds = c.Binds("a");
  c.Confirm(binds[0]);
  for (int i = 0; i < 3; ++i) {
    c.core.NotBound(binds[1].pod.uid, "held back", true, c.now);
    c.Decide(1000 * (i + 1));
  }
  ASSERT_EQ(c.Deleted().size(), 1u);
  EXPECT_EQ(c.Deleted()[0], binds[0].pod.name);
}

TEST(Core, AServerThatRefusesEveryBindingIsAskedEverLessOftenAndNoPodIsRemoved) {
  SmallCluster c(1);
  c.Gang("a", 2, 4);
  c.Decide();
  size_t answered = 0;
  for (int64_t now = 0; now <= 3'600'000; now += 500) {
    const auto binds = c.Binds("a");
    for (; answered < binds.size(); ++answered)
      c.core.NotBound(binds[answered].pod.uid, "forbidden", true, c.now);
    c.Decide(now);
  }
  EXPECT_TRUE(c.Deleted().empty());
  EXPECT_LT(answered, 150u) << "an hour";
  EXPECT_NE(c.Why("ml/a").find("forbidden"), std::string::npos) << c.Why("ml/a");
  // The right is given.
  for (int i = 0; i < 700 && c.Binds("a").size() == answered; ++i) c.Decide(c.now + 500);
  const auto binds = c.Binds("a");
  ASSERT_EQ(binds.size(), answered + 2);
  c.Confirm(binds[answered]);
  c.Confirm(binds[answered + 1]);
  c.Decide(c.now + 1000);
  EXPECT_EQ(c.Says("GangScheduled"), 1u);
}

TEST(Core, ACondemnedGangWaitsForTheAnswersThatAreUnderWay) {
  SmallCluster c(1);
  c.Gang("a", 2, 4);
  c.Decide();
  const auto binds = c.Binds("a");
  for (int i = 0; i < 3; ++i) {
    c.core.NotBound(binds[0].pod.uid, "held back", true, c.now);
    c.Decide(1000 * (i + 1));
  }
  EXPECT_TRUE(c.Deleted().empty()) << "the other may be bound in a moment";
  c.Confirm(binds[1]);
  c.Decide(4000);
  ASSERT_EQ(c.Deleted().size(), 1u);
  EXPECT_EQ(c.Deleted()[0], binds[1].pod.name);
}

TEST(Core, AGangWhoseQuotaCannotBeReadWaits) {
  SmallCluster c(1);
  c.core.SetUnreadableQueues({{"kueue.x-k8s.io", "listing clusterqueues: forbidden"}});
  muster::Queue cluster_queue, local_queue;
  cluster_queue.name = local_queue.parent = "cq", local_queue.name = "ml/team";
  c.core.SetQueues({cluster_queue, local_queue}, {});
  c.Gang("asks", 2, 1, {}, 0, "ml/team");
  c.Gang("free", 2, 1);
  c.Decide();
  EXPECT_TRUE(c.Binds("asks").empty());
  EXPECT_NE(c.Why("ml/asks").find("forbidden"), std::string::npos) << c.Why("ml/asks");
  EXPECT_EQ(c.Binds("free").size(), 2u);
  c.core.SetUnreadableQueues({});
  c.Decide(1000);
  EXPECT_EQ(c.Binds("asks").size(), 2u);
}

TEST(Core, QuotaThatAnEvictedGangGivesUpIsUsedWhenItIsGone) {
  for (const bool hangs : {false, true}) {
    SmallCluster c(2);
    c.Queue("team", PreemptWithin::kLowerPriority, 8);
    c.Foreign("theirs", "n0", 4);
    c.Gang("low", 1, 4, {"n0"}, 0, "team");
    c.Decide();
    c.Gang("urgent", 1, 8, {}, 10, "team");
    c.Decide(1000);
    EXPECT_EQ(c.Deleted().size(), 1u);
    EXPECT_TRUE(c.Binds("urgent").empty()) << "there is room on n1, and no quota yet";
    c.Decide(1100);
    EXPECT_TRUE(c.Binds("urgent").empty());
    if (!hangs) c.Remove("low", 0);
    c.Decide(1200);
    EXPECT_EQ(c.Binds("urgent").size(), hangs ? 0u : 1u);
    if (!hangs) continue;
    // A pod that never goes holds its node, not the whole tree.
    EXPECT_LE(c.core.NextAt(), 36'000);
    c.Decide(36'000);
    ASSERT_EQ(c.Binds("urgent").size(), 1u);
    EXPECT_EQ(c.Binds("urgent")[0].node, "n1");
  }
}

TEST(Core, SomebodyElsesBindingIsTakenIntoAccount) {
  SmallCluster c(2);
  c.Gang("a", 2, 8);
  c.Decide();
  c.Pod("a", 0, 2, 8, "n0");
  c.Pod("a", 1, 2, 8, "n0-gone");
  c.Decide(1000);
  EXPECT_EQ(c.core.stats().rebuilds, 2u);
}

TEST(Core, AFailedPodsSeatIsKeptForTheOneInItsPlace) {
  SmallCluster c(2);
  c.Gang("a", 2, 8);
  c.Decide();
  c.ConfirmAll();
  c.Gang("greedy", 1, 8);
  const std::string node = c.NodeOf("a", 1);
  c.Fail("a", 1);
  c.Decide(1000);
  EXPECT_TRUE(c.Binds("greedy").empty()) << "the seat is kept";
  c.Pod("a", 1, 2, 8);  // its successor, another uid
  c.Decide(2000);
  ASSERT_EQ(c.Binds("a").size(), 3u);
  EXPECT_EQ(c.Binds("a")[2].node, node);
}

TEST(Core, AKeptSeatIsGivenUpAfterAWhile) {
  SmallCluster c(2);
  c.Gang("a", 2, 8);
  c.Decide();
  c.ConfirmAll();
  c.Gang("next", 1, 8);
  c.Fail("a", 1);
  c.Decide(1000);
  c.Decide(40'000);
  EXPECT_EQ(c.Binds("next").size(), 1u);
}

TEST(Core, HigherPriorityEvictsWholeGangsAndWaitsUntilTheyAreGone) {
  SmallCluster c(2);
  c.Queue("q", PreemptWithin::kLowerPriority);
  c.Gang("low", 2, 8, {}, 1, "q");
  c.Decide();
  c.ConfirmAll();
  c.Gang("urgent", 2, 8, {}, 100, "q");
  c.Decide(1000);
  EXPECT_EQ(c.Deleted().size(), 2u);
  EXPECT_TRUE(c.Binds("urgent").empty()) << "the devices are still held";
  c.Remove("low", 0);
  c.Decide(2000);
  EXPECT_TRUE(c.Binds("urgent").empty());
  c.Remove("low", 1);
  c.Decide(3000);
  EXPECT_EQ(c.Binds("urgent").size(), 2u);
}

TEST(Core, APodWithARuleThatIsNotModelledIsNotPlaced) {
  SmallCluster c(1);
  PodFacts facts = c.Facts("a", 0, 1, 1);
  facts.unsupported = "spec.affinity.podAntiAffinity is required and is not modelled";
  c.core.SetPod(std::make_shared<const PodFacts>(facts));
  c.Decide();
  EXPECT_TRUE(c.acts.empty());
  EXPECT_NE(c.Why("ml/a").find("podAntiAffinity"), std::string::npos);
}

TEST(Core, QuotaIsKeptAndAnUnknownLocalQueueBlocks) {
  SmallCluster c(2);
  c.Queue("cq", PreemptWithin::kNever, 4);
  c.Gang("over", 6, 1, {}, 0, "cq");
  c.Gang("under", 4, 1, {}, 0, "cq");
  c.Gang("lost", 1, 1, {}, 0, "ml/no-such-queue");
  c.Decide();
  EXPECT_EQ(c.Binds("over").size(), 0u);
  EXPECT_EQ(c.Binds("under").size(), 4u);
  EXPECT_EQ(c.Binds("lost").size(), 0u);
  EXPECT_NE(c.Why("ml/over").find("LIMIT queue=cq"), std::string::npos) << c.Why("ml/over");
  EXPECT_NE(c.Why("ml/lost").find("no-such-queue"), std::string::npos);
}

TEST(Core, TwoGroupsOfOneNameInTwoDialectsAreTwoGangs) {
  SmallCluster c(1);
  for (const Dialect dialect : {Dialect::kVolcano, Dialect::kCoscheduling}) {
    GroupFacts group;
    group.meta = {"ml", "same", fmt::format("g{}", static_cast<int>(dialect)), "1"};
    group.dialect = dialect;
    group.min = 2;
    c.core.SetGroup(group);
    for (int i = 0; i < 2; ++i) {
      PodFacts facts = c.Facts(fmt::format("same{}", static_cast<int>(dialect)), i, 0, 2);
      facts.dialect = dialect, facts.group = "same";
      c.core.SetPod(std::make_shared<const PodFacts>(facts));
    }
  }
  c.Decide();
  EXPECT_EQ(c.core.Gangs().size(), 2u);
  EXPECT_EQ(c.core.stats().gangs_placed, 2u);
}

TEST(Core, APodGroupThatIsNotThereHoldsItsPods) {
  SmallCluster c(1);
  PodFacts facts = c.Facts("a", 0, 0, 1);
  facts.dialect = Dialect::kVolcano;
  c.core.SetPod(std::make_shared<const PodFacts>(facts));
  c.Decide();
  EXPECT_TRUE(c.acts.empty());
  GroupFacts group;
  group.meta = {"ml", "a", "g", "1"};
  group.dialect = Dialect::kVolcano;
  group.min = 1;
  c.core.SetGroup(group);
  c.Decide(1000);
  EXPECT_EQ(c.Binds("a").size(), 1u);
}

// The same end whenever the scheduler is killed: after each act, a new core is made from what the
// cluster then shows.
TEST(Core, KilledAfterAnyWriteTheEndIsTheSame) {
  for (size_t kill_after = 0; kill_after <= 9; ++kill_after) {
    SmallCluster c(2);
    c.Gang("a", 4, 2);
    c.Gang("b", 2, 4);
    c.Gang("c", 8, 8);
    c.Decide();
    for (size_t i = 0; i < kill_after && i < c.acts.size(); ++i) {
      if (const auto* bind = std::get_if<BindPod>(&c.acts[i])) c.Write(*bind);
    }
    c.Restart();
    c.Decide(1000);
    for (const Act& act : std::vector<Act>(c.acts)) {
      if (const auto* bind = std::get_if<BindPod>(&act)) c.Write(*bind);
    }
    EXPECT_EQ(c.BoundPods("a"), 4) << kill_after;
    EXPECT_EQ(c.BoundPods("b"), 2) << kill_after;
    EXPECT_EQ(c.BoundPods("c"), 0) << kill_after;
    EXPECT_TRUE(c.NoNodeOverfull()) << kill_after;
  }
}

}  // namespace
}  // namespace muster::kubesched
