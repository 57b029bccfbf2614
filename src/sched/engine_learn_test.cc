// Promises on run times that nobody declared, nodes that had better be left alone, and proposals of
// what is not there yet.
#include <gtest/gtest.h>

#include "sched/testing/run_script.h"

namespace muster::sched {
namespace {

using testing::At;
using testing::ClusterLines;
using testing::JobLine;
using testing::kEnd;
using testing::NodeLine;
using testing::RunScript;

std::string Finish(int64_t t, const std::string& job) {
  return At(t, R"("op":"job.finish","name":")" + job + "\"");
}

TEST(EngineLearn, PromisesOnTheRunTimeOfEarlierRuns) {
  const auto run = RunScript(ClusterLines(1) + JobLine(0, "first", 1, 8) + Finish(50, "first") +
                             JobLine(60, "again", 1, 8) + JobLine(70, "waits", 1, 8) +
                             Finish(105, "again") + kEnd);
  EXPECT_EQ(run.Count({"reserve", "\"waits\"", "\"start\":110"}), 1u);
  EXPECT_EQ(run.Count({"\"t\":105,", "bind", "\"waits\""}), 1u);
}

TEST(EngineLearn, TakesThePromiseBackWhenARunIsLongerThanAllBefore) {
  const auto run = RunScript(ClusterLines(1) + JobLine(0, "first", 1, 8) + Finish(50, "first") +
                             JobLine(60, "again", 1, 8) + JobLine(70, "waits", 1, 8) +
                             Finish(300, "again") + kEnd);
  EXPECT_EQ(run.Count({"\"t\":110,", "reserve", "\"waits\"", "\"start\":-1", "not known"}), 1u);
  EXPECT_EQ(run.Count({"\"t\":300,", "bind", "\"waits\""}), 1u);
}

// What is only expected to end in time may not pass a promise.
TEST(EngineLearn, LetsNobodyPassAPromiseOnALearnedTime) {
  const auto run = RunScript(ClusterLines(2) + JobLine(0, "first", 1, 8) + Finish(5, "first") +
                             JobLine(10, "x", 1, 8, ",\"duration\":100") +
                             JobLine(11, "large", 2, 8, ",\"duration\":10") +
                             JobLine(12, "learned", 1, 8) + kEnd);
  EXPECT_EQ(run.Count({"reserve", "\"large\"", "\"start\":110"}), 1u);
  EXPECT_EQ(run.Count({"\"t\":12,", "bind", "\"learned\""}), 0u);
  EXPECT_EQ(run.Count({"\"t\":110,", "bind", "\"large\""}), 2u);
}

const std::string kLevels =
    "{\"t\":0,\"op\":\"topology\",\"levels\":[\"spine\",\"leaf\",\"node\"]}\n";

TEST(PreferNoSchedule, IsUsedLast) {
  const std::string taint = R"(,"taints":[{"key":"k","value":"v","effect":"PreferNoSchedule"}])";
  const auto run = RunScript(kLevels + NodeLine(0, 0, 0, taint) + NodeLine(1, 0, 0) +
                             JobLine(1, "a", 1, 8) + JobLine(2, "b", 1, 8) + kEnd);
  EXPECT_EQ(run.Count({"bind", "\"a\"", "\"n1\""}), 1u);
  EXPECT_EQ(run.Count({"bind", "\"b\"", "\"n0\""}), 1u);
}

TEST(WouldStartIf, ProposesNodesATolerationOrOtherLabels) {
  const std::string taint = R"(,"taints":[{"key":"k","value":"v","effect":"NoSchedule"}])";
  const auto run = RunScript(
      kLevels + NodeLine(0, 0, 0) + NodeLine(1, 0, 0, R"(,"labels":{"gpu":"a","zone":"z"})") +
      NodeLine(2, 0, 1, taint + R"(,"labels":{"gpu":"b"})") + JobLine(1, "more", 5, 8) +
      JobLine(1, "taint", 1, 8, "", R"(,"select":{"gpu":"b"})") +
      JobLine(1, "label", 1, 8, "", R"(,"select":{"gpu":"a","zone":"y"})") + kEnd);
  const auto more = run.With({"pending", "\"more\"", "node.add"});
  ASSERT_EQ(more.size(), 1u);
  EXPECT_NE(more[0].find("new-3"), std::string::npos) << more[0];
  EXPECT_EQ(more[0].find("new-4"), std::string::npos) << more[0];
  EXPECT_EQ(run.Count({"pending", "\"taint\"", "job.submit", "\"tolerate\":[{\"key\":\"k\""}), 1u);
  EXPECT_EQ(run.Count({"pending", "\"label\"", "job.submit", R"("select":{"gpu":"a"})"}), 1u);
}

}  // namespace
}  // namespace muster::sched
