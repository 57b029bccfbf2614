#include <gtest/gtest.h>

#include "sched/engine.h"
#include "sched/testing/run_script.h"

namespace muster::sched {
namespace {

using testing::ClusterLines;
using testing::JobLine;
using testing::NodeLine;
using testing::RunScript;

std::string AdoptLine(int64_t t, const std::string& name, int count, const std::string& seats,
                      const std::string& more = "") {
  std::string line = JobLine(t, name, count, 4, more);
  line.replace(line.find("job.submit"), 10, "job.adopt");
  line.resize(line.rfind('}'));
  return line + ",\"seats\":[" + seats + "]}\n";
}
std::string Seat(int rank, const std::string& node) {
  return R"({"task":"w","rank":)" + std::to_string(rank) + R"(,"node":")" + node + "\"}";
}
std::string TaskLine(int64_t t, const std::string& op, const std::string& name, int rank) {
  return "{\"t\":" + std::to_string(t) + ",\"op\":\"task." + op + "\",\"name\":\"" + name +
         "\",\"task\":\"w\",\"rank\":" + std::to_string(rank) + "}\n";
}
constexpr const char* kAdopted = R"({"t":1000,"op":"end"})";

TEST(EngineAdopt, WhatRunsAlreadyIsNotBoundAgainAndHoldsItsRoom) {
  const auto run =
      RunScript(ClusterLines(2) + AdoptLine(0, "old", 2, Seat(0, "n0") + "," + Seat(1, "n1")) +
                JobLine(1, "late", 1, 8) + JobLine(1, "small", 2, 4) + kAdopted);
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.Count({"bind", "\"old\""}), 0u);
  EXPECT_EQ(run.Count({"bind", "\"late\""}), 0u) << "half of each node is held";
  EXPECT_EQ(run.Count({"bind", "\"small\""}), 2u);
  EXPECT_EQ(run.bound, 2);
}

TEST(EngineAdopt, IsChargedToItsQueueEvenBeyondTheQuota) {
  const std::string queue =
      R"({"t":0,"op":"queue.add","name":"q","quota":[{"flavor":"f","resource":"nvidia.com/gpu","nominal":"4"}]})"
      "\n";
  const auto run =
      RunScript(ClusterLines(3) + queue +
                AdoptLine(0, "old", 2, Seat(0, "n0") + "," + Seat(1, "n1"), ",\"queue\":\"q\"") +
                JobLine(1, "late", 1, 4, ",\"queue\":\"q\"") + kAdopted);
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.Count({"bind", "\"late\""}), 0u);
  EXPECT_EQ(run.Count({"pending", "\"late\"", "QUOTA"}), 1u);
}

TEST(EngineAdopt, ASeatThatDoesNotFitIsRefusedAndTakesNothing) {
  const auto run = RunScript(
      ClusterLines(1) +
      AdoptLine(0, "three", 3, Seat(0, "n0") + "," + Seat(1, "n0") + "," + Seat(2, "n0")) +
      kAdopted);
  EXPECT_NE(run.error.find("does not fit node n0"), std::string::npos) << run.error;
  Engine engine;
  std::vector<Decision> decisions;
  const auto events = ReadScript(
      ClusterLines(1) +
      AdoptLine(0, "three", 3, Seat(0, "n0") + "," + Seat(1, "n0") + "," + Seat(2, "n0")) +
      JobLine(1, "next", 1, 8));
  ASSERT_TRUE(events.ok());
  for (const Event& event : *events) {
    const bool adopts = std::holds_alternative<JobAdopt>(event.body);
    EXPECT_EQ(engine.Take(event, decisions).ok(), !adopts);
  }
  engine.Settle(decisions);
  EXPECT_EQ(engine.FindJob("next")->bound, 1) << "nothing was kept of the refused one";
}

TEST(EngineAdopt, MistakesAreRefused) {
  const auto error = [](const std::string& line) {
    return RunScript(ClusterLines(1) + line).error;
  };
  EXPECT_NE(error(AdoptLine(0, "a", 1, "")).find("sits nowhere"), std::string::npos);
  EXPECT_NE(error(AdoptLine(0, "a", 1, Seat(0, "n9"))).find("no node n9"), std::string::npos);
  EXPECT_NE(error(AdoptLine(0, "a", 1, Seat(1, "n0"))).find("ranks 0 to 0"), std::string::npos);
  EXPECT_NE(error(AdoptLine(0, "a", 2, Seat(0, "n0") + "," + Seat(0, "n0"))).find("two nodes"),
            std::string::npos);
}

TEST(EngineAdopt, ARankThatEndsGivesItsRoomBackAndIsNotPlacedAgain) {
  const auto run = RunScript(ClusterLines(1) + JobLine(0, "a", 2, 4) + JobLine(1, "b", 1, 4) +
                             TaskLine(5, "end", "a", 0) + kAdopted);
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.Count({"bind", "\"a\""}), 2u);
  EXPECT_EQ(run.Count({"\"t\":5,", "bind", "\"b\""}), 1u);
  EXPECT_EQ(run.Count({"evict"}), 0u);
}

TEST(EngineAdopt, WithItsLastRankAJobIsDone) {
  const auto run = RunScript(ClusterLines(1) + JobLine(0, "a", 2, 4) + TaskLine(5, "end", "a", 0) +
                             TaskLine(6, "end", "a", 1) + kAdopted);
  EXPECT_EQ(run.With({"finish"}),
            std::vector<std::string>{R"({"t":6,"do":"finish","job":"a","why":"DONE"})"});
  EXPECT_EQ(run.bound, 0);
}

TEST(EngineAdopt, ARankThatComesBackIsPlacedBesideItsGang) {
  const auto run = RunScript(ClusterLines(4) + AdoptLine(0, "a", 2, Seat(0, "n2")) +
                             TaskLine(5, "again", "a", 1) + kAdopted);
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.Count({"\"t\":5,", "bind", "\"a\"", "\"n2\""}), 1u);
}

TEST(EngineAdopt, AScriptOfAdoptionsIsWrittenAsItIsRead) {
  const std::string script = AdoptLine(0, "a", 2, Seat(0, "n0")) + TaskLine(1, "end", "a", 0) +
                             TaskLine(2, "again", "a", 0);
  const auto events = ReadScript(script);
  ASSERT_TRUE(events.ok()) << events.error().message;
  std::string written;
  for (const Event& event : *events) AppendEvent(event, true, written), written += '\n';
  const auto again = ReadScript(written);
  ASSERT_TRUE(again.ok()) << again.error().message;
  std::string twice;
  for (const Event& event : *again) AppendEvent(event, true, twice), twice += '\n';
  EXPECT_EQ(written, twice);
  EXPECT_NE(written.find("job.adopt"), std::string::npos);
}

}  // namespace
}  // namespace muster::sched
