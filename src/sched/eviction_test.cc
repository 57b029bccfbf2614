// Who is evicted for whom, and what waiting jobs are promised: among them, by number, what went
// wrong in other schedulers (V# volcano-sh/volcano, K# kai-scheduler/KAI-Scheduler, Q#
// kubernetes-sigs/kueue).
#include "sched/eviction.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sched/testing/run_script.h"

namespace muster::sched {
namespace {

using testing::At;
using testing::ClusterLines;
using testing::JobLine;
using testing::kEnd;
using testing::RunScript;

const std::string kPreempts =
    At(0, R"("op":"queue.add","name":"default","preempt":{"within":"lower-priority"})");

TEST(Eviction, TakesOneVictimWhereOneIsEnough) {  // V#5994: ten went
  std::string script = ClusterLines(10) + kPreempts;
  for (int i = 0; i < 10; ++i) script += JobLine(1 + i, "low" + std::to_string(i), 1, 8);
  const auto run = RunScript(script + JobLine(50, "high", 1, 8, ",\"priority\":5") + kEnd);
  EXPECT_EQ(run.Count({"\"do\":\"evict\""}), 1u);
  EXPECT_EQ(run.Count({"evict", "\"low9\"", "PREEMPT", "\"for\":\"high\""}), 1u);  // lost least
  EXPECT_EQ(run.Count({"\"t\":50,", "bind", "\"high\""}), 1u);
}

TEST(Eviction, FindsThePackedLeafThatCanBeEmptied) {  // K#1591: the filter hid it
  const auto run =
      RunScript(ClusterLines(4) + kPreempts +
                JobLine(1, "keep", 2, 8, R"(,"preemptible":false,"topology":{"required":"leaf"})") +
                JobLine(2, "low", 2, 8, R"(,"topology":{"required":"leaf"})") +
                JobLine(5, "high", 2, 8, R"(,"priority":5,"topology":{"required":"leaf"})") + kEnd);
  EXPECT_EQ(run.Count({"evict", "\"low\""}), 1u);
  EXPECT_EQ(run.Count({"\"t\":5,", "bind", "\"high\""}), 2u);
}

TEST(Eviction, EvictsNobodyWhereTheJobWouldStillNotFit) {  // Q#5243, V#4926: the sum fitted
  std::string script = ClusterLines(4) + kPreempts;
  for (int i = 0; i < 4; ++i) {
    script += JobLine(1 + i, "keep" + std::to_string(i), 1, 5, ",\"preemptible\":false");
  }
  for (int i = 0; i < 4; ++i) script += JobLine(10 + i, "low" + std::to_string(i), 1, 3);
  const auto run = RunScript(script + JobLine(50, "high", 1, 8, ",\"priority\":5") + kEnd);
  EXPECT_EQ(run.Count({"\"do\":\"evict\""}), 0u);
  EXPECT_EQ(run.Count({"pending", "\"high\"", "GANG"}), 1u);
}

TEST(Eviction, TakesWhoLosesLeastSinceItsLastCheckpoint) {
  const auto run = RunScript(
      ClusterLines(2) + kPreempts + JobLine(0, "saves", 1, 8, ",\"checkpoint_every\":90") +
      JobLine(50, "young", 1, 8) + JobLine(100, "high", 1, 8, ",\"priority\":5") + kEnd);
  EXPECT_EQ(run.Count({"evict", "\"saves\""}), 1u);  // 10 ms lost; the other would lose 50
  EXPECT_EQ(run.Count({"\"do\":\"evict\""}), 1u);
}

TEST(Eviction, ShrinksAnElasticGangRatherThanEndingIt) {
  const auto run =
      RunScript(ClusterLines(4) + kPreempts +
                JobLine(1, "wide", 4, 8, R"(,"elastic":{"min":2,"max":4})", ",\"min\":1") +
                JobLine(9, "high", 1, 8, ",\"priority\":5") + kEnd);
  EXPECT_EQ(run.Count({"\"do\":\"evict\""}), 0u);
  EXPECT_EQ(run.Count({"shrink", "\"wide\"", "\"ranks\":[3]"}), 1u);
  EXPECT_EQ(run.Count({"\"t\":9,", "bind", "\"high\""}), 1u);
}

std::string TwoQueues(const std::string& preempt_a) {
  const auto queue = [](const std::string& name, const std::string& more) {
    return At(
        0,
        R"("op":"queue.add","name":")" + name +
            R"(","parent":"root","quota":[{"flavor":"f","resource":"nvidia.com/gpu","nominal":"16"}])" +
            more);
  };
  return At(0, R"("op":"flavor.add","name":"f")") + At(0, R"("op":"queue.add","name":"root")") +
         queue("a", preempt_a) + queue("b", "");
}

TEST(Eviction, TakesBackWhatWasLentAndNoMore) {
  std::string script = ClusterLines(4) + TwoQueues(R"(,"preempt":{"reclaim":"any"})");
  for (int i = 0; i < 4; ++i)
    script += JobLine(1 + i, "b" + std::to_string(i), 1, 8, R"(,"queue":"b")");
  for (int i = 0; i < 3; ++i)
    script += JobLine(9 + i, "a" + std::to_string(i), 1, 8, R"(,"queue":"a")");
  const auto run = RunScript(script + kEnd);
  EXPECT_EQ(run.Count({"evict", "RECLAIM"}), 2u);  // b keeps its nominal 16
  EXPECT_EQ(run.Count({"bind", "\"job\":\"a"}), 2u);
  EXPECT_EQ(run.Count({"pending", "\"a2\"", "QUOTA"}), 1u);
}

TEST(Eviction, NeverGoesBackAndForth) {
  std::string script =
      ClusterLines(1) +
      At(0, R"("op":"queue.add","name":"default","preempt":{"within":"lower-or-newer-equal"})");
  script += JobLine(1, "first", 1, 8) + JobLine(2, "second", 1, 8) + JobLine(3, "third", 1, 8);
  const auto run = RunScript(script + At(9, R"("op":"node.cordon","name":"n0")") +
                             At(10, R"("op":"node.uncordon","name":"n0")") + kEnd);
  EXPECT_EQ(run.Count({"\"do\":\"evict\""}), 0u);
}

TEST(Waiting, ALargeGangIsNotStarvedBySmallOnes) {  // V#3095, V#1901
  const auto run = RunScript(
      ClusterLines(2) + JobLine(0, "s0", 1, 8, ",\"duration\":100") +
      JobLine(0, "s1", 1, 8, ",\"duration\":200") + JobLine(1, "large", 2, 8, ",\"duration\":50") +
      JobLine(50, "long", 1, 8, ",\"duration\":150") +
      JobLine(60, "short", 1, 8, ",\"duration\":90") + JobLine(70, "endless", 1, 8) + kEnd);
  EXPECT_EQ(run.Count({"\"t\":1,", "reserve", "\"large\"", "\"start\":200"}), 1u);
  EXPECT_EQ(run.Count({"\"t\":100,", "bind", "\"short\""}), 1u);  // over before 200
  EXPECT_EQ(run.Count({"\"t\":200,", "bind", "\"large\""}), 2u);
  EXPECT_EQ(run.Count({"pending", "\"long\"", "RESERVED", "\"for\":\"large\""}), 1u);
  EXPECT_EQ(run.Count({"\"t\":250,", "bind", "\"long\""}), 1u);
}

// What is promised for later takes no quota from what is promised for sooner.
TEST(Waiting, TwoPromisesDoNotHoldEachOtherUp) {
  const auto queue = [](const std::string& name, const std::string& quota) {
    return At(0, R"("op":"queue.add","name":")" + name +
                     R"(","parent":"root","quota":[{"flavor":"f","resource":"nvidia.com/gpu",)" +
                     quota + "}]");
  };
  const auto run = RunScript(
      ClusterLines(8) + At(0, R"("op":"flavor.add","name":"f")") +
      At(0, R"("op":"queue.add","name":"root")") + queue("a", R"("nominal":"18","lend":"4")") +
      queue("b", R"("nominal":"5","borrow":"6")") + queue("c", R"("nominal":"18","lend":"3")") +
      JobLine(10, "runs", 3, 3, R"(,"queue":"b","duration":190)") +
      JobLine(20, "first", 5, 1, R"(,"queue":"b","duration":500)") +
      JobLine(30, "second", 5, 1, R"(,"queue":"b","duration":400)") +
      JobLine(40, "lent", 4, 4, R"(,"queue":"c","duration":200)") +
      JobLine(50, "later", 4, 4, R"(,"queue":"a","duration":500)") + kEnd);
  EXPECT_EQ(run.Count({"reserve", "\"first\"", "\"start\":200"}), 1u);
  EXPECT_EQ(run.Count({"reserve", "\"second\"", "\"start\":200"}), 1u);
  EXPECT_EQ(run.Count({"reserve", "\"later\"", "\"start\":240"}), 1u);
  EXPECT_EQ(run.Count({"\"t\":200,", "bind", "\"first\""}), 5u);
  EXPECT_EQ(run.Count({"\"t\":200,", "bind", "\"second\""}), 5u);
  EXPECT_EQ(run.Count({"\"t\":240,", "bind", "\"later\""}), 4u);
}

TEST(Waiting, APromiseThatCannotBeKeptIsTakenBackAloud) {
  const auto run = RunScript(ClusterLines(2) + JobLine(0, "runs", 1, 8, ",\"duration\":100") +
                             JobLine(1, "wide", 2, 8, ",\"duration\":10") +
                             At(50, R"("op":"node.cordon","name":"n1")") + kEnd);
  EXPECT_EQ(run.Count({"\"t\":1,", "reserve", "\"wide\"", "\"start\":100"}), 1u);
  EXPECT_EQ(run.Count({"\"t\":50,", "reserve", "\"wide\"", "\"start\":-1", "operator"}), 1u);
}

// Of what is promised, the end is known too: its nodes are promised again from then on.
TEST(Waiting, APromiseMayStandOnTheEndOfAnother) {
  const auto run = RunScript(ClusterLines(1) + JobLine(0, "runs", 1, 8, ",\"duration\":100") +
                             JobLine(1, "next", 1, 8, ",\"duration\":50") +
                             JobLine(2, "last", 1, 8, ",\"duration\":50,\"priority\":-1") + kEnd);
  EXPECT_EQ(run.Count({"reserve", "\"next\"", "\"start\":100"}), 1u);
  EXPECT_EQ(run.Count({"reserve", "\"last\"", "\"start\":150"}), 1u);
  EXPECT_EQ(run.Count({"\"t\":150,", "bind", "\"last\""}), 1u);
}

TEST(Waiting, MaxWaitIsKeptByEviction) {
  const auto run =
      RunScript(ClusterLines(1) + JobLine(0, "endless", 1, 8) +
                JobLine(5, "patient", 1, 8, ",\"max_wait\":100,\"duration\":10") + kEnd);
  EXPECT_EQ(run.Count({"\"t\":105,", "evict", "MAX_WAIT", "\"for\":\"patient\""}), 1u);
  EXPECT_EQ(run.Count({"\"t\":105,", "bind", "\"patient\""}), 1u);
  EXPECT_EQ(run.Count({"\"t\":115,", "bind", "\"endless\""}), 1u);
}

TEST(Waiting, MaxWaitSparesHigherPriorityAndWhatMayNotBePreempted) {
  const auto run = RunScript(ClusterLines(2) + JobLine(0, "held", 1, 8, ",\"preemptible\":false") +
                             JobLine(0, "high", 1, 8, ",\"priority\":1") +
                             JobLine(5, "patient", 1, 8, ",\"max_wait\":100") + kEnd);
  EXPECT_EQ(run.Count({"\"do\":\"evict\""}), 0u);
}

TEST(WhatIf, SaysWhenAJobWouldStart) {
  const auto run = RunScript(
      ClusterLines(2) + At(0, R"("op":"node.cordon","name":"n1")") +
      JobLine(1, "a", 1, 8, ",\"duration\":100") + JobLine(2, "b", 1, 8, ",\"duration\":5") +
      At(3, R"("op":"ask.whatif","change":[{"op":"node.uncordon","name":"n1"}],"about":["b"])") +
      At(3, R"("op":"ask.why","name":"b")") + kEnd);
  EXPECT_EQ(run.Count({R"({"t":3,"do":"answer","ask":"whatif","about":"b","start":3,"was":101})"}),
            1u);
  EXPECT_EQ(run.Count({"\"ask\":\"why\"", "\"state\":\"pending\"", "job.cancel"}), 1u);
  EXPECT_EQ(run.Count({"\"t\":101,", "bind", "\"b\""}), 1u);
}

// Every change that is proposed has been tried: applied to a fork of the state, the job starts.
RC_GTEST_PROP(WouldStartIf, StartsTheJobInAFork, ()) {
  std::string script = ClusterLines(*rc::gen::inRange(1, 7));
  script += At(0, R"("op":"flavor.add","name":"f")");
  for (const char* name : {"a", "b"})
    script += At(0, std::string(R"("op":"queue.add","name":")") + name +
                        R"(","quota":[{"flavor":"f","resource":"nvidia.com/gpu","nominal":")" +
                        std::to_string(*rc::gen::inRange(0, 40)) + "\"}]");
  const int jobs = *rc::gen::inRange(1, 12);
  for (int i = 0; i < jobs; ++i) {
    std::string more = *rc::gen::arbitrary<bool>() ? R"(,"queue":"a")" : R"(,"queue":"b")";
    if (*rc::gen::inRange(0, 3) == 0) more += R"(,"topology":{"required":"leaf"})";
    if (*rc::gen::inRange(0, 2) == 0)
      more += ",\"duration\":" + std::to_string(*rc::gen::inRange(1, 50));
    more += ",\"priority\":" + std::to_string(*rc::gen::inRange(0, 3));
    script += JobLine(10 * i, "j" + std::to_string(i), *rc::gen::inRange(1, 4),
                      *rc::gen::element(1, 2, 4, 8), more);
    if (*rc::gen::inRange(0, 4) == 0) script += At(10 * i, R"("op":"node.cordon","name":"n0")");
  }
  const auto events = ReadScript(script);
  RC_ASSERT(events.ok());
  Engine engine;
  std::vector<Decision> decisions;
  size_t seen = 0;
  for (const Event& event : *events) {
    RC_ASSERT(engine.Take(event, decisions).ok());
    engine.Settle(decisions);
    for (; seen < decisions.size(); ++seen) {
      const auto* pending = std::get_if<PendingDecision>(&decisions[seen].body);
      if (pending == nullptr || pending->would_start_if.empty() ||
          decisions[seen].t != engine.now())
        continue;
      Engine fork = engine.Fork();
      std::vector<Decision> ignored;
      for (Event change : pending->would_start_if) {
        change.t = engine.now();
        RC_ASSERT(fork.Take(change, ignored).ok());
      }
      fork.Settle(ignored);
      RC_ASSERT(fork.FindJob(pending->job)->state == JobState::kRunning);
    }
  }
}

}  // namespace
}  // namespace muster::sched
