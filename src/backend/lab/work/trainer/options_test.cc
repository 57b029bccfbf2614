#include "backend/lab/work/trainer/options.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::lab {
namespace {

using ::testing::HasSubstr;

Result<TrainOptions> Parse(const std::vector<std::string>& args) { return ParseTrainOptions(args); }

TEST(TrainOptions, HaveDefaultsAndTakeValues) {
  EXPECT_EQ(Parse({})->steps, 60);
  const auto options = Parse({"--steps", "7", "--checkpoint", "/ck", "--rendezvous-timeout", "3s"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->steps, 7);
  EXPECT_EQ(options->checkpoint, "/ck");
  EXPECT_EQ(options->rendezvous_timeout, std::chrono::seconds(3));
}

TEST(TrainOptions, RefuseWhatCannotBeMeant) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"--steps"},
                                             {"--steps", "0"},
                                             {"--steps", "x"},
                                             {"--what", "1"},
                                             {"--rendezvous-timeout", "3"}})
    EXPECT_EQ(Parse(args).error().code, Code::kInvalid) << args[0];
}

Result<RankIdentity> Identity(const std::map<std::string, std::string>& env) {
  return ReadIdentity([&](const char* name) -> std::optional<std::string> {
    const auto found = env.find(name);
    if (found == env.end()) return std::nullopt;
    return found->second;
  });
}

TEST(RankIdentity, ComesFromTheEnvironmentAsTorchrunGivesIt) {
  const auto identity = Identity({{"RANK", "3"},
                                  {"WORLD_SIZE", "4"},
                                  {"LOCAL_RANK", "1"},
                                  {"MASTER_ADDR", "10.0.0.1"},
                                  {"MASTER_PORT", "1234"},
                                  {"MUSTER_NODE", "node001"},
                                  {"MUSTER_LAB", "/lab"}});
  ASSERT_TRUE(identity.ok());
  EXPECT_EQ(identity->rank, 3);
  EXPECT_EQ(identity->master_port, 1234);
  EXPECT_EQ(identity->node, "node001");
  EXPECT_EQ(identity->lab, "/lab");
}

TEST(RankIdentity, AMissingOrImpossibleRankIsRefused) {
  EXPECT_THAT(Identity({{"WORLD_SIZE", "4"}}).error().message, HasSubstr("RANK is not set"));
  EXPECT_FALSE(Identity({{"RANK", "0"}}).ok());
  EXPECT_FALSE(Identity({{"RANK", "4"}, {"WORLD_SIZE", "4"}}).ok());
  EXPECT_FALSE(Identity({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_PORT", "99999"}}).ok());
}

class RankFault : public ::testing::Test {
 protected:
  RankFaults Of(const std::string& kind, Subject on, const std::string& node,
                std::map<std::string, double> with = {}) {
    LabState state;
    state.faults.push_back({kind, std::move(on), {}, std::move(with)});
    return FaultsOf(state, node, 60);
  }
};

TEST_F(RankFault, TouchesOnlyItsNode) {
  EXPECT_GT(Of("straggler", NodeSubject("node001"), "node001").straggler_factor, 1);
  EXPECT_EQ(Of("straggler", NodeSubject("node001"), "node000").straggler_factor, 1);
  EXPECT_TRUE(Of("checkpoint_disk_full", NodeSubject("node001"), "node001").disk_full);
}

TEST_F(RankFault, OfTheSiteTouchesEveryRank) {
  EXPECT_GT(Of("slow_training", {SubjectKind::kSite, "lab"}, "node003").slow_factor, 5);
}

TEST_F(RankFault, FiguresAreItsOwnOrTheTables) {
  EXPECT_EQ(Of("straggler", NodeSubject("n"), "n", {{"factor", 4}}).straggler_factor, 4);
  EXPECT_EQ(Of("straggler", NodeSubject("n"), "n").straggler_factor,
            FindFaultKind("straggler")->defaults.at("factor"));
  const RankFaults nan = Of("nan_loss", NodeSubject("n"), "n");
  EXPECT_EQ(nan.nan_at, static_cast<int>(FindFaultKind("nan_loss")->defaults.at("step")));
}

}  // namespace
}  // namespace muster::lab
