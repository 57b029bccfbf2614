// What runs out, and what is let in with fewer pods than it asked for: the quota core by itself.
#include <gtest/gtest.h>

#include "backend/kubernetes/kueue/bodies.h"
#include "backend/kubernetes/kueue/quota.h"
#include "backend/kubernetes/kueue/testing/quota_site.h"
#include "kube/object.h"

namespace muster::kueue {
namespace {

using testing::AskFor;
using testing::ClusterQueueOf;
using testing::JobFor;
using testing::LocalQueueOf;
using testing::OneQueueOf;
using testing::Site;
using Lines = std::vector<std::string>;

std::string At(const std::string& json, const std::string& pointer) {
  return kube::ValueAt(json, pointer).value_or("(nothing)");
}

Ask Reducible(const std::string& uid, int pods, int least) {
  Ask ask = AskFor(uid, pods);
  ask.sets[0].min_count = least;
  return ask;
}

// ---- minCount

TEST(PartialAdmission, AsManyPodsAsThereIsQuotaForAndNotOneBelowTheMinimum) {
  for (int free = 1; free <= 8; ++free) {
    Site site(OneQueueOf(free));
    site.core.Set(Reducible("w", 6, 3));
    const Lines lines = site.Settle();
    const Ask& ask = *site.core.Find("w");
    EXPECT_EQ(ask.reserved, free >= 3) << free;
    if (!ask.reserved) continue;
    EXPECT_EQ(ask.counts.at("main"), std::min(free, 6));
  }
}

TEST(PartialAdmission, WhatItWasLetInWithIsWhatItHoldsAlsoAfterAStart) {
  Site site(OneQueueOf(8));
  site.core.Set(AskFor("first", 3));
  site.core.Set(Reducible("w", 8, 2));
  EXPECT_EQ(site.Settle(), (Lines{"admit first", "admit w"}));
  EXPECT_EQ(site.core.Find("w")->counts.at("main"), 5);
  Ask done = site.Written("first");
  done.finished = true;
  site.Tell(done);
  site.core.Set(AskFor("late", 4));
  EXPECT_EQ(site.Settle(), Lines{}) << "it does not grow, and three are free";
  EXPECT_EQ(site.core.Find("w")->counts.at("main"), 5);
  site.core.Set(AskFor("fits", 3));
  EXPECT_EQ(site.Settle(), Lines{"admit fits"});
  // Another scheduler reads the same from the objects.
  Site next(OneQueueOf(8));
  for (const char* uid : {"w", "fits", "late"}) next.core.Set(*site.core.Find(uid));
  EXPECT_EQ(next.Settle(), Lines{});
  EXPECT_EQ(next.core.admitted(), 2u);
}

TEST(PartialAdmission, AnUrgentOneEvictsTheWholeAndDoesNotShrinkIt) {
  Queues queues = OneQueueOf(8);
  queues.queues[0].within = PreemptWithin::kLowerPriority;
  Site site(queues);
  site.core.Set(Reducible("w", 8, 2));
  EXPECT_EQ(site.Settle(), Lines{"admit w"});
  Ask urgent = AskFor("urgent", 4);
  urgent.priority = 100;
  site.core.Set(urgent);
  EXPECT_EQ(site.Settle(), (Lines{"evict w Preempted", "admit urgent", "admit w"}));
  EXPECT_EQ(site.core.Find("w")->counts.at("main"), 4) << "it comes back smaller";
}

TEST(PartialAdmission, ItsJobRunsWithAsManyAndHasAllAgainWhenItIsHeld) {
  Site site(OneQueueOf(4));
  Ask workload = Reducible("w", 6, 2);
  workload.owner_job = "j";
  site.core.Set(workload);
  site.core.Set(JobFor("j", 6, false));
  site.Decide();
  ASSERT_EQ(site.acts.size(), 1u);
  const auto& admit = std::get<Admit>(site.acts[0]);
  const std::string body = AdmitWorkloadBody(workload, "cq", admit.flavors, admit.counts,
                                             admit.places, false, "2026-02-02T00:00:00Z");
  EXPECT_EQ(At(body, "/status/admission/podSetAssignments/0/count"), "4");
  EXPECT_EQ(At(body, "/status/admission/podSetAssignments/0/resourceUsage/cpu"), "4");
  Ask admitted = site.Written("w");
  admitted.reserved = admitted.admitted = true;
  admitted.cluster_queue = "cq", admitted.flavors = admit.flavors, admitted.counts = admit.counts;
  site.Tell(admitted);
  site.Decide();
  ASSERT_EQ(site.acts.size(), 1u);
  EXPECT_EQ(std::get<Start>(site.acts[0]).parallelism, 4);
  EXPECT_EQ(At(StartJobBody(*site.core.Find("j"), {}, 4), "/spec/parallelism"), "4");
  Ask running = site.Written("j");
  running.runs = true;
  site.Tell(running);
  Ask evicted = site.Written("w");
  evicted.reserved = evicted.admitted = evicted.active = false;
  evicted.counts.clear();
  site.Tell(evicted);
  site.Decide();
  ASSERT_EQ(site.acts.size(), 1u);
  EXPECT_EQ(std::get<Hold>(site.acts[0]).parallelism, 6);
}

// ---- maximumExecutionTimeSeconds

TEST(MaximumExecutionTime, WhenItIsUpTheWorkloadIsDeactivatedAndTheNextOneComes) {
  Site site(OneQueueOf(4));
  Ask ask = AskFor("w", 4);
  ask.max_execution_s = 60;
  site.core.Set(ask);
  site.core.Set(AskFor("next", 4));
  EXPECT_EQ(site.Settle(), Lines{"admit w"});
  EXPECT_FALSE(site.core.repeats());
  EXPECT_LE(site.core.NextAt(), site.now_ms + 60'000);
  site.Pass(std::chrono::seconds(50));
  EXPECT_EQ(site.Settle(), Lines{});
  site.Pass(std::chrono::seconds(10));
  EXPECT_EQ(site.Settle(),
            (Lines{"deactivate w", "evict w DeactivatedDueToMaximumExecutionTimeExceeded",
                   "admit next"}));
  EXPECT_EQ(site.core.NextAt(), -1);
}

TEST(MaximumExecutionTime, WhatItRanBeforeAnEvictionCounts) {
  const auto text = [](const std::string& version, const std::string& status) {
    return R"({"apiVersion":"kueue.x-k8s.io/)" + version +
           R"(","metadata":{"name":"w","namespace":"ml","uid":"u"},"spec":)"
           R"({"maximumExecutionTimeSeconds":100,"podSets":[{"template":{}}]},"status":)" +
           status + "}";
  };
  for (const auto& [version, key] :
       {std::pair{"v1beta2", "accumulatedPastExecutionTimeSeconds"},
        std::pair{"v1beta1", "accumulatedPastExexcutionTimeSeconds"}}) {
    const Ask fresh = *DecodeWorkload(text(version, "{}"));
    const std::string first =
        AdmitWorkloadBody(fresh, "cq", {}, {}, {}, false, "2026-02-02T00:00:00Z");
    const Ask admitted = *DecodeWorkload(text(version, At(first, "/status")));
    ASSERT_TRUE(admitted.admitted_at);
    const std::string evicted =
        EvictWorkloadBody(admitted, "Preempted", "why", {}, *ParseTime("2026-02-02T00:00:30Z"));
    EXPECT_EQ(At(evicted, "/status/" + std::string(key)), "30");
    const Ask out = *DecodeWorkload(text(version, At(evicted, "/status")));
    EXPECT_EQ(out.past_execution_s, 30);
    EXPECT_EQ(out.max_execution_s, 100);
    const std::string off =
        EvictWorkloadBody(admitted, "DeactivatedDueToMaximumExecutionTimeExceeded", "why", {},
                          *ParseTime("2026-02-02T00:01:30Z"));
    EXPECT_EQ(At(off, "/status/" + std::string(key)), "null")
        << "activated again, it has all of it";
  }
}

// ---- waitForPodsReady

TEST(WaitForPodsReady, TheConditionSaysWhatKueueSays) {
  Ask ask = AskFor("w", 1);
  EXPECT_EQ(ReadinessOf(ask, true).reason, "WaitForStart") << "it is not admitted";
  ask.admitted = true;
  EXPECT_EQ(ReadinessOf(ask, false).reason, "WaitForStart");
  EXPECT_EQ(ReadinessOf(ask, true).reason, "Started");
  ask.pods_ready = PodsReady{true, "Started"};
  EXPECT_EQ(ReadinessOf(ask, false).reason, "WaitForRecovery");
  ask.pods_ready = PodsReady{false, "WaitForRecovery"};
  EXPECT_EQ(ReadinessOf(ask, false).reason, "WaitForRecovery");
  EXPECT_EQ(ReadinessOf(ask, true).reason, "Recovered");
  ask.pods_ready = PodsReady{true, "Recovered"};
  EXPECT_EQ(ReadinessOf(ask, true).reason, "Recovered");
}

TEST(WaitForPodsReady, EachWaitIsTwiceTheOneBeforeUpToTheMost) {
  const WaitForPodsReady wait;
  EXPECT_EQ(BackoffOf(wait, 1), std::chrono::seconds(60));
  EXPECT_EQ(BackoffOf(wait, 3), std::chrono::seconds(240));
  EXPECT_EQ(BackoffOf(wait, 1'000'000), std::chrono::hours(1));
}

TEST(WaitForPodsReady, WhoIsNotReadyInTimeBacksOffLongerEachTimeAndIsDeactivatedInTheEnd) {
  Site site(OneQueueOf(4));
  WaitForPodsReady wait;
  wait.timeout = std::chrono::seconds(100), wait.backoff_base = std::chrono::seconds(10);
  wait.backoff_limit = 2;
  site.core.SetWaitForPodsReady(wait);
  site.core.Set(AskFor("w", 4));
  EXPECT_EQ(site.Settle(), Lines{"admit w"});
  for (int nth = 1; nth <= 2; ++nth) {
    site.Pass(std::chrono::seconds(99));
    EXPECT_EQ(site.Settle(), Lines{});
    site.Pass(std::chrono::seconds(1));
    EXPECT_EQ(site.Settle(), Lines{"evict w PodsReadyTimeout"});
    EXPECT_EQ(site.core.Find("w")->requeue.count, nth);
    EXPECT_NE(site.core.StateOf("w").find("backs off until"), std::string::npos);
    site.Pass(std::chrono::seconds(10 * nth - 1));
    EXPECT_EQ(site.Settle(), Lines{}) << "it holds nothing and asks for nothing";
    site.Pass(std::chrono::seconds(2));
    EXPECT_EQ(site.Settle(), (Lines{"requeued w", "admit w"}));
  }
  site.Pass(std::chrono::seconds(101));
  EXPECT_EQ(site.Settle(),
            (Lines{"deactivate w", "evict w DeactivatedDueToRequeuingLimitExceeded"}));
}

TEST(WaitForPodsReady, OthersAreLetInWhileOneBacksOffAndItComesBehindThem) {
  Site site(OneQueueOf(4));
  WaitForPodsReady wait;
  wait.timeout = std::chrono::seconds(100);
  site.core.SetWaitForPodsReady(wait);
  site.core.Set(AskFor("w", 4));
  EXPECT_EQ(site.Settle(), Lines{"admit w"});
  site.core.Set(AskFor("other", 4));
  site.Pass(std::chrono::seconds(100));
  EXPECT_EQ(site.Settle(), (Lines{"evict w PodsReadyTimeout", "admit other"}));
}

TEST(WaitForPodsReady, ReadyPodsEndTheWaitAndLostOnesBeginTheRecovery) {
  Site site(OneQueueOf(4));
  WaitForPodsReady wait;
  wait.timeout = std::chrono::seconds(100), wait.recovery_timeout = std::chrono::seconds(30);
  site.core.SetWaitForPodsReady(wait);
  Ask workload = AskFor("w", 4);
  workload.owner_job = "j";
  site.core.Set(workload);
  site.core.Set(JobFor("j", 4, false));
  EXPECT_EQ(site.Settle(), (Lines{"admit w", "start j", "pods w WaitForStart"}));
  const auto ready = [&](bool are) {
    Ask job = site.Written("j");
    job.pods_are_ready = are;
    site.Tell(job);
  };
  ready(true);
  EXPECT_EQ(site.Settle(), Lines{"pods w Started"});
  site.Pass(std::chrono::hours(1));
  EXPECT_EQ(site.Settle(), Lines{});
  ready(false);
  EXPECT_EQ(site.Settle(), Lines{"pods w WaitForRecovery"});
  site.Pass(std::chrono::seconds(20));
  ready(true);
  EXPECT_EQ(site.Settle(), Lines{"pods w Recovered"});
  ready(false);
  EXPECT_EQ(site.Settle(), Lines{"pods w WaitForRecovery"});
  site.Pass(std::chrono::seconds(31));
  const Lines lines = site.Settle();
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines[0], "evict w PodsReadyTimeout");
  EXPECT_EQ(lines[1], "hold j");
}

TEST(WaitForPodsReady, NobodyLooksWhereItIsNotAskedFor) {
  Site site(OneQueueOf(4));
  site.core.Set(AskFor("w", 4));
  EXPECT_EQ(site.Settle(), Lines{"admit w"});
  site.Pass(std::chrono::hours(100));
  EXPECT_EQ(site.Settle(), Lines{});
  EXPECT_EQ(site.core.NextAt(), -1);
}

TEST(WaitForPodsReady, ABackOffIsWrittenAndReadBack) {
  const auto text = [](const std::string& status) {
    return R"({"apiVersion":"kueue.x-k8s.io/v1beta2","metadata":{"name":"w","namespace":"ml",)"
           R"("uid":"u"},"spec":{"podSets":[{"template":{}}]},"status":)" +
           status + "}";
  };
  const Ask fresh = *DecodeWorkload(text("{}"));
  const TimePoint later = *ParseTime("2026-02-02T00:02:00Z");
  const std::string evicted = EvictWorkloadBody(fresh, "PodsReadyTimeout", "why", Requeue{3, later},
                                                *ParseTime("2026-02-02T00:01:00Z"));
  const Ask out = *DecodeWorkload(text(At(evicted, "/status")));
  EXPECT_TRUE(out.backs_off);
  EXPECT_EQ(out.requeue.count, 3);
  EXPECT_EQ(out.requeue.at, later);
  ASSERT_TRUE(out.timed_out_at);
  const std::string again = RequeuedBody(out, "2026-02-02T00:02:00Z");
  EXPECT_EQ(At(again, "/status/requeueState/requeueAt"), "null");
  EXPECT_FALSE(DecodeWorkload(text(At(again, "/status")))->backs_off);
  Ask target = *DecodeWorkload(text(
      At(DeactivationTargetBody(fresh, "RequeuingLimitExceeded", "why", "2026-02-02T00:02:00Z"),
         "/status")));
  ASSERT_TRUE(target.deactivate);
  EXPECT_EQ(target.deactivate->reason, "RequeuingLimitExceeded");
  EXPECT_EQ(At(DeactivateBody(target), "/spec/active"), "false");
  const std::string off =
      EvictWorkloadBody(target, "DeactivatedDueToRequeuingLimitExceeded", "why", {}, later);
  EXPECT_EQ(At(off, "/status/requeueState"), "null");
  EXPECT_EQ(off.find("DeactivationTarget"), std::string::npos);
}

}  // namespace
}  // namespace muster::kueue
