#include "backend/kubernetes/rank_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "world/posix/posix_processes.h"

namespace muster::kubernetes {
namespace {

using ::testing::HasSubstr;

CommandResult RunScript(const std::vector<std::string>& argv, int per_pod, const char* pod,
                        int grace_s = 0) {
  PosixProcesses processes;
  Command command;
  command.argv = RankCommand("proof-1", 3, per_pod, grace_s, argv);
  command.env = {{"JOB_COMPLETION_INDEX", pod}};
  auto ran = processes.Run(command);
  EXPECT_TRUE(ran.ok());
  return ran.ok() ? *ran : CommandResult{};
}

const std::vector<std::string> kTells = {
    "sh", "-c",
    "echo \"I am $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE\"; echo loud >&2"};

TEST(RankScript, GivesEachRankItsPlaceAndItsLinesComeBackApart) {
  const CommandResult ran = RunScript(kTells, 2, "1");
  EXPECT_EQ(ran.exit_code, 0);
  const PodLog log = ParsePodLog(ran.out, "proof-1", 2, 2);
  ASSERT_TRUE(log.whole) << log.missing << ran.out;
  EXPECT_THAT(log.ranks[0].out, HasSubstr("I am 2 of 6, 0 of 2\n"));
  EXPECT_THAT(log.ranks[1].out, HasSubstr("I am 3 of 6, 1 of 2\n"));
  EXPECT_THAT(log.ranks[1].out, HasSubstr("loud\n"));
  EXPECT_EQ(log.ranks[0].exit_code, 0);
  EXPECT_GT(log.ranks[0].began_unix_s.value_or(0), 1.6e9);
  EXPECT_EQ(log.stray, "");
}

TEST(RankScript, OneRanksFailureEndsThePodAndIsInTheLog) {
  const CommandResult ran =
      RunScript({"sh", "-c", "[ $RANK = 1 ] && exit 7; exec sleep 600"}, 2, "0", 2);
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_LT(ran.took, std::chrono::seconds(60)) << "the other one is not waited for";
  const PodLog log = ParsePodLog(ran.out, "proof-1", 0, 2);
  EXPECT_EQ(log.ranks[1].exit_code, 7);
  EXPECT_FALSE(log.ranks[0].exit_code.has_value());
  EXPECT_FALSE(log.whole);
  EXPECT_THAT(log.missing, HasSubstr("of rank 0"));
}

TEST(RankScript, AProgramThatIsMissingIsAFailedRank) {
  const CommandResult ran = RunScript({"/no/such/program"}, 1, "0", 2);
  EXPECT_EQ(ran.exit_code, 1);
  const PodLog log = ParsePodLog(ran.out, "proof-1", 0, 1);
  EXPECT_TRUE(log.whole);
  EXPECT_EQ(log.ranks[0].exit_code, 127);
}

TEST(RankScript, APodThatDoesNotKnowItsPlaceSaysSo) {
  PosixProcesses processes;
  Command command;
  command.argv = RankCommand("m", 1, 1, 0, {"true"});
  command.env = {{"JOB_COMPLETION_INDEX", ""}, {"RANK", ""}};
  const auto ran = processes.Run(command);
  ASSERT_TRUE(ran.ok());
  EXPECT_EQ(ran->exit_code, 64);
  EXPECT_THAT(ParsePodLog(ran->out, "m", 0, 1).stray, HasSubstr("which pod this is"));
}

TEST(ParsePodLog, OutputWithoutALastNewlineKeepsItsEnd) {
  const CommandResult ran = RunScript({"printf", "half a line"}, 1, "0");
  const PodLog log = ParsePodLog(ran.out, "proof-1", 0, 1);
  ASSERT_TRUE(log.whole);
  EXPECT_EQ(log.ranks[0].out, "half a line\n");
}

TEST(ParsePodLog, ALogThatIsCutAnywhereIsNeverWhole) {
  const std::string text = RunScript(kTells, 2, "0").out;
  ASSERT_TRUE(ParsePodLog(text, "proof-1", 0, 2).whole);
  for (size_t at = 0; at < text.size(); ++at)
    EXPECT_FALSE(ParsePodLog(text.substr(0, at), "proof-1", 0, 2).whole) << at;
  // A kubelet that rotates takes the beginning away.
  const size_t line = text.find('\n') + 1;
  EXPECT_FALSE(ParsePodLog(text.substr(line), "proof-1", 0, 2).whole);
}

TEST(ParsePodLog, LinesOfNobodyAreKeptAndJudgeNothing) {
  const PodLog log =
      ParsePodLog("proof-1 9 @proof-1 end 0\nproof-2 0 @proof-2 begin 1\n\x1b[2J\nproof-1 x y\n",
                  "proof-1", 0, 1);
  EXPECT_FALSE(log.whole);
  EXPECT_EQ(Lines(log.stray).size(), 4u);
  EXPECT_EQ(log.ranks[0].out, "");
}

}  // namespace
}  // namespace muster::kubernetes
