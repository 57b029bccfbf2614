#include "backend/kubernetes/kueue/quota.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "backend/kubernetes/kueue/testing/quota_site.h"

namespace muster::kueue {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

using testing::AskFor;
using testing::ClusterQueueOf;
using testing::JobFor;
using testing::LocalQueueOf;
using testing::OneQueueOf;
using testing::Site;

TEST(Quota, WhatFitsIsLetInWithItsFlavorAndWhatNeverCanIsTold) {
  Site site(OneQueueOf(4));
  site.core.Set(AskFor("two", 2));
  site.core.Set(AskFor("six", 6));
  const auto acts = site.Decide();
  ASSERT_THAT(acts, SizeIs(2));
  const auto* admit = std::get_if<Admit>(&acts[0]);
  ASSERT_NE(admit, nullptr);
  EXPECT_EQ(admit->uid, "two");
  EXPECT_EQ(admit->cluster_queue, "cq");
  EXPECT_EQ(admit->flavors.at("main").at("cpu"), "default-flavor");
  const auto* say = std::get_if<SayWaiting>(&acts[1]);
  ASSERT_NE(say, nullptr);
  EXPECT_EQ(say->uid, "six");
  EXPECT_EQ(site.core.admitted(), 1u);
}

TEST(Quota, WhoWaitsForQuotaIsLetInWhenOthersEnd) {
  Site site(OneQueueOf(4));
  for (const char* uid : {"a", "b", "c"}) site.core.Set(AskFor(uid, 2));
  EXPECT_THAT(site.Settle(), ElementsAre("admit a", "admit b"));
  EXPECT_THAT(site.core.StateOf("c"), HasSubstr("waiting"));
  Ask over = site.Written("a");
  over.finished = true;
  site.core.Set(over);
  EXPECT_THAT(site.Settle(), ElementsAre("admit c"));
}

TEST(Quota, AHigherPriorityPreemptsWhereItsQueueAllowsThat) {
  Queues queues = OneQueueOf(4);
  queues.queues[0].within = PreemptWithin::kLowerPriority;
  Site site(queues);
  site.core.Set(AskFor("low", 3));
  EXPECT_THAT(site.Settle(), ElementsAre("admit low"));
  Ask urgent = AskFor("urgent", 4);
  urgent.priority = 10;
  site.core.Set(urgent);
  EXPECT_THAT(site.Settle(), ElementsAre("evict low Preempted", "admit urgent"));
  EXPECT_THAT(site.core.StateOf("low"), HasSubstr("waiting"));
  // Whoever was evicted keeps its place before those who came after it.
  site.core.Set(AskFor("later", 3));
  Ask over = site.Written("urgent");
  over.finished = true;
  site.core.Set(over);
  EXPECT_THAT(site.Settle(), ElementsAre("admit low"));
}

TEST(Quota, AnEvictionThatWasNotWrittenIsWrittenAgain) {
  Queues queues = OneQueueOf(4);
  queues.queues[0].within = PreemptWithin::kLowerPriority;
  Site site(queues);
  site.core.Set(AskFor("low", 3));
  ASSERT_THAT(site.Settle(), ElementsAre("admit low"));
  Ask urgent = AskFor("urgent", 4);
  urgent.priority = 10;
  site.core.Set(urgent);
  ASSERT_THAT(site.Decide(), SizeIs(2));
  site.core.Failed("low", site.now_ms);
  site.core.Failed("urgent", site.now_ms);
  site.now_ms += 1000;
  EXPECT_THAT(site.Settle(), ElementsAre("evict low Preempted", "admit urgent"));
  EXPECT_EQ(site.core.admitted(), 1u);
}

TEST(Quota, ACohortsIdleQuotaIsBorrowedAndReclaimed) {
  Queues queues;
  queues.flavors.push_back({"default-flavor", {}});
  queues.queues = {ClusterQueueOf("cq-a", 4, "cohort"), ClusterQueueOf("cq-b", 4, "cohort"),
                   LocalQueueOf("ml/a", "cq-a"), LocalQueueOf("ml/b", "cq-b")};
  queues.queues[1].reclaim = ReclaimPolicy::kAny;
  Site site(queues);
  site.core.Set(AskFor("big", 6, 1, "ml/a"));
  EXPECT_THAT(site.Settle(), ElementsAre("admit big"));
  site.core.Set(AskFor("own", 4, 1, "ml/b"));
  EXPECT_THAT(site.Settle(), ElementsAre("evict big Preempted", "admit own"));
}

TEST(Quota, WhatNoQueueCoversIsToldOnce) {
  Site site(OneQueueOf(4));
  Ask gpus = AskFor("gpus", 1);
  gpus.sets[0].shape["nvidia.com/gpu"] = 1;
  site.core.Set(gpus);
  site.core.Set(AskFor("lost", 1, 1, "ml/nowhere"));
  EXPECT_THAT(
      site.Settle(),
      ElementsAre("say gpus couldn't assign flavors to pod set main: resource nvidia.com/gpu "
                  "unavailable in ClusterQueue",
                  "say lost LocalQueue nowhere doesn't exist"));
  EXPECT_TRUE(site.Settle().empty());
  Queues more = OneQueueOf(4);
  more.queues.push_back(LocalQueueOf("ml/nowhere", "cq"));
  site.core.SetQueues(more);
  EXPECT_THAT(site.Settle(), ElementsAre("admit lost"));
}

TEST(Quota, AStoppedQueueLetsNobodyIn) {
  Queues queues = OneQueueOf(4);
  queues.holds.held["cq"] = "cq is stopped";
  queues.holds.stopped.insert("cq");
  Site site(queues);
  site.core.Set(AskFor("a", 1));
  EXPECT_THAT(site.Settle(), ElementsAre("say a cq is stopped"));
  site.core.SetQueues(OneQueueOf(4));
  EXPECT_THAT(site.Settle(), ElementsAre("admit a"));
  // What runs is left alone by Hold; what only reserves is not.
  Ask reserves = AskFor("reserves", 1);
  reserves.reserved = true, reserves.cluster_queue = "cq";
  site.core.Set(reserves);
  site.core.SetQueues(queues);
  EXPECT_THAT(site.Settle(),
              ElementsAre("evict reserves ClusterQueueStopped", "say reserves cq is stopped"));
  EXPECT_EQ(site.core.admitted(), 1u);
}

TEST(Quota, ADrainedQueueIsLeftByWorkloadsAndJobsAndTakesThemBackLater) {
  for (const std::string queue : {"cq", "ml/user-queue"}) {
    Site site(OneQueueOf(4));
    site.core.Set(AskFor("workload", 2));
    site.core.Set(JobFor("job", 2, false));
    ASSERT_THAT(site.Settle(), ElementsAre("admit workload", "admit job"));
    Queues drained = OneQueueOf(4);
    drained.holds.held[queue] = "drained";
    drained.holds.stopped.insert(queue), drained.holds.drained.insert(queue);
    site.core.SetQueues(drained);
    const std::string reason = queue == "cq" ? "ClusterQueueStopped" : "LocalQueueStopped";
    EXPECT_THAT(site.Settle(),
                UnorderedElementsAre("evict workload " + reason, "evict job " + reason,
                                     "say workload drained", "say job drained"));
    EXPECT_EQ(site.core.admitted(), 0u);
    site.core.SetQueues(OneQueueOf(4));
    EXPECT_THAT(site.Settle(), ElementsAre("admit workload", "admit job"));
  }
}

TEST(Quota, QueuesAsBeforeDoNotMakeTheEngineAgain) {
  Queues queues = OneQueueOf(4);
  queues.queues.push_back(ClusterQueueOf("cq", 4));  // each making of the engine complains of it
  Site site(queues);
  site.Decide();
  const size_t once = site.core.troubles().size();
  ASSERT_GT(once, 0u);
  site.core.SetQueues(queues);
  site.Decide();
  EXPECT_EQ(site.core.troubles().size(), once);
  queues.holds.stopped.insert("cq");
  site.core.SetQueues(queues);
  site.Decide();
  EXPECT_EQ(site.core.troubles().size(), 2 * once);
}

TEST(Quota, AJobThatRunsUnaskedIsHeldFirst) {
  Site site(OneQueueOf(4));
  site.core.Set(JobFor("two", 2, true));
  site.core.Set(JobFor("six", 6, true));
  const auto lines = site.Settle();
  EXPECT_THAT(lines, ElementsAre("hold two", "hold six", "admit two", HasSubstr("say six")));
}

// A Job of two pods that waits, and the Workload that stands for it.
void SetJobAndItsWorkload(Site& site) {
  site.core.Set(JobFor("job", 2, false));
  Ask workload = AskFor("workload", 2);
  workload.owner_job = "job";
  site.core.Set(workload);
}

class EitherOrder : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Quota, EitherOrder, ::testing::Bool(), [](const auto& order) {
  return order.param ? "TheWatchTellsFirst" : "TheAnswerComesFirst";
});

TEST_P(EitherOrder, AJobWithAWorkloadRunsWhileThatIsLetIn) {
  Site site(OneQueueOf(4));
  site.watch_is_first = GetParam();
  SetJobAndItsWorkload(site);
  EXPECT_THAT(site.Settle(), ElementsAre("admit workload", "start job"));
  Ask off = site.Written("workload");
  off.active = false;
  site.core.Set(off);
  EXPECT_THAT(site.Settle(), ElementsAre("evict workload Deactivated", "hold job"));
  Ask on = site.Written("workload");
  on.active = true;
  site.core.Set(on);
  EXPECT_THAT(site.Settle(), ElementsAre("admit workload", "start job"));
  Ask over = site.Written("job");
  over.finished = over.succeeded = true;
  site.core.Set(over);
  EXPECT_THAT(site.Settle(), ElementsAre("finish workload"));
  EXPECT_EQ(site.core.admitted(), 0u);
}

TEST(Quota, WhatAJobSaysOfItsWorkloadIsSaidAgainWhenTheWriteFailed) {
  Site site(OneQueueOf(4));
  SetJobAndItsWorkload(site);
  EXPECT_THAT(site.Settle(), ElementsAre("admit workload", "start job"));
  Ask over = site.Written("job");
  over.finished = over.succeeded = true;
  site.core.Set(over);
  ASSERT_THAT(site.Decide(), SizeIs(1));
  site.core.Failed("workload", site.now_ms);
  EXPECT_TRUE(site.Decide().empty());
  site.now_ms += 1000;
  EXPECT_THAT(site.Settle(), ElementsAre("finish workload"));
}

TEST(Quota, AWriteThatFailedIsDecidedAgainASecondLater) {
  Site site(OneQueueOf(4));
  site.core.Set(AskFor("a", 2));
  ASSERT_THAT(site.Decide(), SizeIs(1));
  site.core.Failed("a", site.now_ms);
  EXPECT_TRUE(site.Decide().empty());
  EXPECT_GE(site.core.NextAt(), 1000);
  site.now_ms += 1000;
  EXPECT_THAT(site.Settle(), ElementsAre("admit a"));
}

TEST(Quota, WhatWasWrittenOverIsNotHeeded) {
  Site site(OneQueueOf(4));
  const Ask before = AskFor("a", 2);
  site.core.Set(before);
  ASSERT_THAT(site.Decide(), SizeIs(1));
  site.core.Set(before);  // comes while the write is under way
  EXPECT_TRUE(site.Decide().empty());
  site.core.Done("a", 50);
  site.core.Set(before);  // and again, after its answer
  EXPECT_TRUE(site.Decide().empty());
  EXPECT_EQ(site.core.admitted(), 1u);
  Ask taken_back = before;
  taken_back.meta.resource_version = "60";
  site.core.Set(taken_back);
  EXPECT_THAT(site.Settle(), ElementsAre("admit a"));
}

TEST(Quota, FlavorsAreTriedInTheQueuesOrderAndPodsThatChooseNodesNarrowThem) {
  Queues queues;
  queues.flavors = {{"h100", {{"gpu", "h100"}}}, {"a100", {{"gpu", "a100"}}}};
  queues.queues = {ClusterQueueOf("cq", 2, "", "h100"), LocalQueueOf("ml/user-queue", "cq")};
  queues.queues[0].quota.push_back({"a100", "cpu", 4000, {}, {}});
  Site site(queues);
  site.core.Set(AskFor("first", 2));
  site.core.Set(AskFor("second", 2));
  Ask picky = AskFor("picky", 1);
  picky.sets[0].select = {{"gpu", "h100"}, {"somewhere", "else"}};
  site.core.Set(picky);
  std::vector<Act> acts = site.Decide();
  ASSERT_THAT(acts, SizeIs(2));
  EXPECT_EQ(std::get<Admit>(acts[0]).flavors.at("main").at("cpu"), "h100");
  EXPECT_EQ(std::get<Admit>(acts[0]).pods.select.at("gpu"), "h100");
  EXPECT_EQ(std::get<Admit>(acts[1]).flavors.at("main").at("cpu"), "a100");
  EXPECT_THAT(site.core.StateOf("picky"), HasSubstr("waiting"));
}

TEST(Quota, TaintsOfAFlavorAreHeldToThePodsAndItsOwnTolerationsAreGivenToThem) {
  Queues queues;
  const Taint spot{"spot", "true", "NoSchedule"};
  queues.flavors = {{"spot", {}, {spot}}, {"gentle", {}, {spot}, {{"spot", "Exists", "", ""}}}};
  queues.queues = {ClusterQueueOf("cq", 4, "", "spot"), LocalQueueOf("ml/user-queue", "cq"),
                   ClusterQueueOf("cq2", 4, "", "gentle"), LocalQueueOf("ml/gentle", "cq2")};
  Site site(queues);
  Ask tolerant = AskFor("tolerant", 1);
  tolerant.sets[0].tolerate = {{"spot", "Equal", "true", "NoSchedule"}};
  site.core.Set(tolerant);
  site.core.Set(AskFor("plain", 1));
  site.core.Set(AskFor("gently", 1, 1, "ml/gentle"));
  const auto acts = site.Decide();
  std::map<std::string, std::string> said;
  for (const Act& act : acts) {
    if (const auto* admit = std::get_if<Admit>(&act))
      said[admit->uid] = fmt::format("admitted, {} tolerations", admit->pods.tolerate.size());
    if (const auto* say = std::get_if<SayWaiting>(&act)) said[say->uid] = say->message;
  }
  EXPECT_EQ(said["tolerant"], "admitted, 0 tolerations");
  EXPECT_EQ(said["gently"], "admitted, 1 tolerations");
  EXPECT_EQ(said["plain"],
            "couldn't assign flavors to pod set main: untolerated taint spot=true:NoSchedule in "
            "flavor spot");
}

TEST(Quota, ATaintOfOneGroupsFlavorDoesNotStopPodsThatAskForTheOtherGroupAlone) {
  Queues queues = OneQueueOf(4);
  queues.flavors.push_back({"gpus", {}, {{"gpu", "", "NoSchedule"}}});
  queues.queues[0].quota.push_back({"gpus", "nvidia.com/gpu", 8, {}, {}});
  Site site(queues);
  site.core.Set(AskFor("cpus", 1));
  EXPECT_THAT(site.Settle(), ElementsAre("admit cpus"));
}

TEST(Quota, DevicesAreAmountsOfAnySize) {
  Queues queues = OneQueueOf(4);
  queues.queues[0].quota.push_back({"default-flavor", "nvidia.com/gpu", 1000, {}, {}});
  Site site(queues);
  Ask large = AskFor("large", 100);
  large.sets[0].shape = {{"nvidia.com/gpu", 8}};
  site.core.Set(large);
  Ask more = AskFor("more", 30);
  more.sets[0].shape = {{"nvidia.com/gpu", 8}};
  site.core.Set(more);
  EXPECT_THAT(site.Settle(), ElementsAre("admit large"));
  EXPECT_EQ(site.core.Find("large")->flavors.at("main").at("nvidia.com/gpu"), "default-flavor");
  EXPECT_THAT(site.core.StateOf("more"), HasSubstr("resource=nvidia.com/gpu"));
  site.core.SetQueues(queues);  // counted anew from what the object says
  EXPECT_THAT(site.Settle(), ElementsAre());
  EXPECT_EQ(site.core.admitted(), 1u);
}

TEST(Quota, FlavorFungibilitySaysWhetherToBorrowOrToEvictBeforeTheNextFlavor) {
  const auto given = [](bool borrows_last, bool evicts_first, const std::string& cohort) {
    Queues queues;
    queues.flavors = {{"first", {}}, {"second", {}}};
    Queue cq = ClusterQueueOf("cq", 2, cohort, "first");
    cq.quota.push_back({"second", "cpu", 4000, {}, {}});
    cq.borrows_last = borrows_last, cq.evicts_first = evicts_first;
    cq.within = PreemptWithin::kLowerPriority;
    Queue other = ClusterQueueOf("other", 2, cohort, "first");
    queues.queues = {cq, other, LocalQueueOf("ml/user-queue", "cq")};
    Site site(queues);
    site.core.Set(AskFor("low", 2));  // all of "first" that is its own
    site.Settle();
    Ask ask = AskFor("next", 2);
    ask.priority = 10;
    site.core.Set(ask);
    std::string text;
    for (const std::string& line : site.Settle()) text += line + " ";
    return text + site.core.Find("next")->flavors.at("main").at("cpu");
  };
  EXPECT_EQ(given(false, false, "cohort"), "admit next first") << "borrows, as it may by default";
  EXPECT_EQ(given(true, false, "cohort"), "admit next second");
  EXPECT_EQ(given(true, true, "cohort"), "admit next second") << "what it could borrow it leaves";
  EXPECT_EQ(given(false, false, ""), "admit next second");
  EXPECT_EQ(given(false, true, ""), "evict low Preempted admit next admit low first");
}

// Whatever comes and goes, and wherever the scheduler is started anew: what is let in never exceeds
// the quota, and nobody is forgotten.
RC_GTEST_PROP(Quota, IsNeverExceededAndNobodyIsForgotten, (const std::vector<uint8_t>& steps)) {
  constexpr int kCpus = 5;
  auto site = std::make_unique<Site>(OneQueueOf(kCpus));
  std::map<std::string, Ask> there;
  int made = 0;
  const auto keep = [&] {
    for (auto& [uid, ask] : there) ask = *site->core.Find(uid);
  };
  const auto used = [&] {
    int sum = 0;
    for (const auto& [uid, ask] : there) sum += ask.reserved ? ask.sets[0].count : 0;
    return sum;
  };
  for (const uint8_t step : steps) {
    if (step % 4 != 3 || there.empty()) {
      const Ask ask = AskFor("w" + std::to_string(made++), 1 + step / 4 % 6);
      there[ask.meta.uid] = ask;
      site->core.Set(ask);
    } else if (step / 4 % 2 == 0) {
      auto one = there.begin();
      std::advance(one, step / 8 % there.size());
      site->core.Remove(one->first);
      there.erase(one);
    } else {
      const uint64_t version = site->version;
      site = std::make_unique<Site>(OneQueueOf(kCpus));
      site->version = version;
      for (const auto& [uid, ask] : there) site->core.Set(ask);
    }
    site->Settle();
    keep();
    RC_ASSERT(used() <= kCpus);
  }
  // A small one may have to wait for a large one that was promised a start; in the end all are let
  // in that ever could be.
  for (size_t round = 0; round <= steps.size(); ++round) {
    for (auto one = there.begin(); one != there.end();) {
      if (!one->second.reserved) {
        ++one;
        continue;
      }
      Ask over = site->Written(one->first);
      over.finished = true;
      site->core.Set(over);
      one = there.erase(one);
    }
    site->Settle();
    keep();
    RC_ASSERT(used() <= kCpus);
  }
  for (const auto& [uid, ask] : there) RC_ASSERT(ask.sets[0].count > kCpus);
}

}  // namespace
}  // namespace muster::kueue
