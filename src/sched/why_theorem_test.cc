// The theorem behind `would_start_if`: whatever is proposed to a waiting job, applied to a fork of
// the state at that moment, starts it. 300 random clusters; 10,000 waiting jobs with
// MUSTER_NIGHTLY.
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "sched/testing/run_script.h"

namespace muster::sched {
namespace {

using testing::At;
using testing::NodeLine;

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  int Below(int bound) { return static_cast<int>(engine_() % static_cast<uint64_t>(bound)); }
  bool Percent(int chance) { return Below(100) < chance; }

 private:
  std::mt19937_64 engine_;
};

std::string RandomScript(Dice& dice) {
  std::string script = "{\"t\":0,\"op\":\"topology\",\"levels\":[\"spine\",\"leaf\",\"node\"]}\n";
  const int nodes = 1 + dice.Below(8);
  for (int i = 0; i < nodes; ++i)
    script += NodeLine(
        i, i / 4, i / 2 % 2,
        std::string(dice.Percent(50) ? R"(,"labels":{"gpu":"a"})" : R"(,"labels":{"gpu":"b"})") +
            (dice.Percent(15) ? R"(,"taints":[{"key":"k","value":"v","effect":"NoSchedule"}])"
                              : ""));
  const bool queues = dice.Percent(60);
  if (queues) {
    script += At(0, R"("op":"flavor.add","name":"a","labels":{"gpu":"a"})") +
              At(0, R"("op":"flavor.add","name":"b","labels":{"gpu":"b"})") +
              At(0, R"("op":"queue.add","name":"root")");
    for (const char* name : {"x", "y"}) {
      script += At(0, R"("op":"queue.add","name":")" + std::string(name) +
                          R"(","parent":"root","order":")" +
                          (dice.Percent(30) ? "fifo" : "best-effort-fifo") +
                          R"(","quota":[{"flavor":"a","resource":"nvidia.com/gpu","nominal":")" +
                          std::to_string(dice.Below(40)) +
                          R"("},{"flavor":"b","resource":"nvidia.com/gpu","nominal":")" +
                          std::to_string(dice.Below(40)) + "\"}]" +
                          (dice.Percent(30) ? R"(,"preempt":{"within":"lower-priority"})" : ""));
    }
  }
  int64_t t = 1;
  const int jobs = 1 + dice.Below(16);
  for (int i = 0; i < jobs; ++i) {
    t += dice.Below(30);
    const std::string shape =
        dice.Percent(15) ? R"({"gpu_milli":")" + std::to_string(100 * (1 + dice.Below(10))) + "\"}"
                         : R"({"nvidia.com/gpu":")" + std::to_string(1 << dice.Below(4)) + "\"}";
    const int label = dice.Below(20);
    script += At(
        t,
        R"("op":"job.submit","name":"j)" + std::to_string(i) + "\"" +
            (queues ? std::string(dice.Percent(50) ? R"(,"queue":"x")" : R"(,"queue":"y")") : "") +
            ",\"priority\":" + std::to_string(dice.Below(3)) + R"(,"tasks":[{"name":"w","count":)" +
            std::to_string(1 + dice.Below(6)) + ",\"shape\":" + shape +
            (label < 4   ? R"(,"select":{"gpu":"a"})"
             : label < 5 ? R"(,"select":{"gpu":"c"})"
                         : "") +
            "}]" + (dice.Percent(25) ? R"(,"topology":{"required":"leaf"})" : "") +
            (dice.Percent(60) ? ",\"duration\":" + std::to_string(1 + dice.Below(90)) : "") +
            (dice.Percent(10) ? ",\"max_wait\":" + std::to_string(1 + dice.Below(90)) : ""));
    if (dice.Percent(20))
      script += At(t, R"("op":"node.)" + std::string(dice.Percent(50) ? "cordon" : "fail") +
                          R"(","name":"n)" + std::to_string(dice.Below(nodes)) + "\"");
  }
  return script;
}

TEST(WhyTheorem, WhateverIsProposedStartsTheJob) {
  const bool nightly = std::getenv("MUSTER_NIGHTLY") != nullptr;
  int64_t proposals = 0, waiting = 0;
  const auto more = [&](uint64_t seed) { return nightly ? proposals < 10000 : seed <= 300; };
  for (uint64_t seed = 1; more(seed); ++seed) {
    Dice dice(seed);
    const std::string script = RandomScript(dice);
    const auto events = ReadScript(script);
    ASSERT_TRUE(events.ok()) << events.error().message << "\n" << script;
    Engine engine;
    std::vector<Decision> decisions;
    size_t seen = 0;
    for (const Event& event : *events) {
      ASSERT_TRUE(engine.Take(event, decisions).ok());
      engine.Settle(decisions);
      for (; seen < decisions.size(); ++seen) {
        const auto* pending = std::get_if<PendingDecision>(&decisions[seen].body);
        if (pending == nullptr || decisions[seen].t != engine.now()) continue;
        const Gang* gang = engine.FindJob(pending->job);
        if (gang->state != JobState::kPending) continue;
        ++waiting;
        EXPECT_FALSE(pending->because.empty());
        if (pending->would_start_if.empty()) continue;
        ++proposals;
        Engine fork = engine.Fork();
        std::vector<Decision> ignored;
        for (Event change : pending->would_start_if) {
          change.t = engine.now();
          ASSERT_TRUE(fork.Take(change, ignored).ok());
        }
        fork.Settle(ignored);
        ASSERT_EQ(fork.FindJob(pending->job)->state, JobState::kRunning)
            << "seed " << seed << ", " << pending->job << " at " << engine.now() << "\n"
            << script;
      }
    }
  }
  EXPECT_GT(proposals * 3, waiting) << "many that wait are told what would help";
  RecordProperty("proposals", static_cast<int>(proposals));
}

}  // namespace
}  // namespace muster::sched
