#include "measure/training/training.h"

#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/digest.h"
#include "base/strings.h"
#include "world/testing/captures.h"
#include "world/testing/memory_files.h"

namespace muster::training {
namespace {

using ::testing::HasSubstr;

constexpr int kSteps = 40;

// A rank's log as backend/lab/work prints it, with what a test wants changed.
struct LogPlan {
  int steps = kSteps;
  double step_time = 0.5, compute_time = 0.25;
  int nan_at = -1;  // this rank's own loss is not a number at this step
  bool ended = true;
  double started = 1000;
};
std::string LogOf(int rank, const LogPlan& plan) {
  std::string text = fmt::format(
      "{{\"event\":\"start\",\"rank\":{},\"world\":4,\"local_rank\":0,\"node\":\"n\",\"unix_s\":{}}"
      "}\n"
      "{{\"event\":\"config\",\"flops_per_token\":1000.0,\"parameters\":5,\"tokens_per_step\":100,"
      "\"smoke\":true}}\n",
      rank, plan.started);
  for (int s = 1; s <= plan.steps; ++s) {
    text += fmt::format(
        "{{\"event\":\"step\",\"step\":{},\"loss\":{:.4f},\"local_loss\":{},\"grad_norm\":1.0,"
        "\"step_time_s\":{},"
        "\"compute_time_s\":{},\"tokens\":100}}\n",
        s, 4.0 - 2.0 * s / kSteps, s == plan.nan_at ? "\"nan\"" : "3.5", plan.step_time,
        plan.compute_time);
  }
  if (plan.ended)
    text += fmt::format(
        "{{\"event\":\"end\",\"steps\":{},\"peak_flops\":400000.0,\"mfu\":0.5}}\nstep: 40  loss: "
        "2\n",
        plan.steps);
  return text;
}

std::string ShardLine(const std::string& folder, int rank, const std::string& bytes) {
  return fmt::format(
      "{{\"event\":\"checkpoint\",\"folder\":\"{}\",\"file\":\"shard-{}\",\"bytes\":{},\"sha256\":"
      "\"{}\",\"written\":true}}\n",
      folder, rank, bytes.size(), Sha256Hex(bytes));
}

class Training : public ::testing::Test {
 protected:
  Training() {
    run_.gang = "g";
    run_.nodes = {"node000", "node001"};
    run_.ranks_per_node = 2;
    logs_.resize(4);
    for (int r = 0; r < 4; ++r) logs_[static_cast<size_t>(r)] = LogOf(r, {});
  }

  // A checkpoint of four shards as a healthy gang leaves it.
  void WriteCheckpoint() {
    std::string shards;
    for (int r = 0; r < 4; ++r) {
      const std::string bytes = fmt::format("weights of {}", r);
      files_.Put(fmt::format("/ck/shard-{}", r), bytes);
      logs_[static_cast<size_t>(r)] += ShardLine("/ck", r, bytes);
      shards += fmt::format("{}{{\"file\":\"shard-{}\",\"sha256\":\"{}\"}}", r > 0 ? "," : "", r,
                            Sha256Hex(bytes));
    }
    files_.Put("/ck/manifest.json", "{\"shards\":[" + shards + "]}");
  }

  Observations Observe() {
    run_.reports.clear();
    for (size_t r = 0; r < logs_.size(); ++r) {
      if (absent_ == static_cast<int>(r)) continue;
      run_.reports.push_back(ParseRankLog(static_cast<int>(r), run_.nodes[r / 2], 0, logs_[r]));
    }
    Reading reading;
    reading.probe = "measure.training";
    return ObserveTraining(run_, CheckCheckpoint(files_, run_.reports, run_.ranks()), reading);
  }
  static const Observation& Of(const Observations& all, std::string_view fact,
                               std::string_view id = "g") {
    for (const Observation& o : all)
      if (o.fact == fact && o.subject.id == id) return o;
    throw std::runtime_error(std::string(fact) + " of " + std::string(id) + " is not there");
  }
  static double Real(const Observations& all, std::string_view fact, std::string_view id = "g") {
    return std::get<double>(*Of(all, fact, id).value());
  }
  static int64_t Whole(const Observations& all, std::string_view fact) {
    return std::get<int64_t>(*Of(all, fact).value());
  }
  static std::optional<bool> Flag(const Observations& all, std::string_view fact,
                                  std::string_view id = "g") {
    const Observation& o = Of(all, fact, id);
    if (o.value() == nullptr) return std::nullopt;
    return std::get<bool>(*o.value());
  }

  TrainingRun run_;
  std::vector<std::string> logs_;
  int absent_ = -1;
  testing::MemoryFiles files_;
};

TEST_F(Training, AHealthyGangGivesEveryFigure) {
  WriteCheckpoint();
  const Observations all = Observe();
  EXPECT_EQ(Whole(all, "train.ranks_started"), 4);
  EXPECT_DOUBLE_EQ(Real(all, "train.start_spread"), 0);
  EXPECT_DOUBLE_EQ(Real(all, "train.step_time"), 0.5);
  EXPECT_DOUBLE_EQ(Real(all, "train.step_time_spread"), 1);
  EXPECT_EQ(Whole(all, "train.nan_steps"), 0);
  EXPECT_NEAR(Real(all, "train.loss_drop"), (3.9 - 2.05) / 3.9, 1e-3);
  EXPECT_EQ(Flag(all, "train.checkpoint_written"), true);
  for (const char* node : {"node000", "node001"}) {
    EXPECT_EQ(Flag(all, "train.rank_started", node), true);
    EXPECT_DOUBLE_EQ(Real(all, "train.rank_lag", node), 1);
    EXPECT_EQ(Flag(all, "train.checkpoint_of_node", node), true);
  }
}

// 4 ranks x 100 tokens in 0.5 s are 800 tok/s; x 1000 FLOP / (4 x 400,000 FLOP/s) is one half.
TEST_F(Training, MfuFollowsTheFormula) {
  EXPECT_NEAR(Real(Observe(), "train.mfu"), 0.5, 1e-9);
  run_.peak_flops = 800'000;
  run_.flops_per_token = 500;
  EXPECT_NEAR(Real(Observe(), "train.mfu"), 0.125, 1e-9);
}

TEST_F(Training, MoreThanThePeakIsAWrongPeak) {
  run_.peak_flops = 1000;
  EXPECT_EQ(Of(Observe(), "train.mfu").unobserved()->reason, UnknownReason::kToolFault);
}

TEST_F(Training, TheSlowNodeStandsOutAlsoAmongTwo) {
  for (int r : {2, 3}) logs_[static_cast<size_t>(r)] = LogOf(r, {.compute_time = 0.625});
  const Observations all = Observe();
  EXPECT_DOUBLE_EQ(Real(all, "train.rank_lag", "node000"), 1);
  EXPECT_DOUBLE_EQ(Real(all, "train.rank_lag", "node001"), 2.5);
}

TEST_F(Training, WarmUpStepsDoNotCount) {
  std::string text = LogOf(0, {});
  // The first step takes a minute.
  text.replace(text.find("\"step_time_s\":0.5"), 17, "\"step_time_s\":60.0");
  logs_[0] = text;
  EXPECT_DOUBLE_EQ(Real(Observe(), "train.step_time_spread"), 1);
}

TEST_F(Training, ALossThatIsNoNumberIsCountedAndTheRankNamed) {
  logs_[3] = LogOf(3, {.nan_at = 12});
  const Observations all = Observe();
  EXPECT_EQ(Whole(all, "train.nan_steps"), 1);
  EXPECT_THAT(Of(all, "train.nan_steps").excerpt, HasSubstr("rank 3 on node001"));
}

TEST_F(Training, ALossThatIsNoNumberCountsAlsoWhenAnotherLogIsCut) {
  logs_[3] = LogOf(3, {.nan_at = 12});
  logs_[1] = LogOf(1, {.ended = false});
  EXPECT_EQ(Whole(Observe(), "train.nan_steps"), 1);
}

TEST_F(Training, ARankWithoutALogLeavesTheRestUnknownAndItsNodeBad) {
  for (std::string& log : logs_) {
    log = log.substr(0, log.find('\n') + 1) +
          "{\"event\":\"error\",\"code\":\"timeout\",\"what\":\"rendezvous: 1 of 4 ranks did not "
          "come: missing rank 2\"}\n";
  }
  absent_ = 2;
  const Observations all = Observe();
  EXPECT_EQ(Whole(all, "train.ranks_started"), 0);
  EXPECT_EQ(Flag(all, "train.rank_started", "node001"), false);
  EXPECT_EQ(Flag(all, "train.rank_started", "node000"), std::nullopt);
  for (const char* fact :
       {"train.start_spread", "train.mfu", "train.step_time", "train.step_time_spread",
        "train.nan_steps", "train.loss_drop", "train.checkpoint_written"})
    EXPECT_NE(Of(all, fact).unobserved(), nullptr) << fact;
}

TEST_F(Training, TheRankThatTheOthersMissedIsTheOneThatDidNotStart) {
  for (size_t r : {0u, 1u, 3u})
    logs_[r] =
        logs_[r].substr(0, logs_[r].find('\n') + 1) +
        "{\"event\":\"error\",\"code\":\"timeout\",\"what\":\"rendezvous: missing rank 2\"}\n";
  logs_[2] = logs_[2].substr(0, logs_[2].find('\n') + 1);
  const Observations all = Observe();
  EXPECT_EQ(Flag(all, "train.rank_started", "node001"), false);
  EXPECT_EQ(Flag(all, "train.rank_started", "node000"), std::nullopt);
}

TEST_F(Training, AllRanksStartedIsNotSaidOfANodeWhoseRankFailedOnItsOwn) {
  for (size_t r = 0; r < 4; ++r)
    logs_[r] = logs_[r].substr(0, logs_[r].find('\n') + 1) +
               "{\"event\":\"error\",\"code\":\"unavailable\",\"what\":\"connecting\"}\n";
  const Observations all = Observe();
  EXPECT_EQ(Flag(all, "train.rank_started", "node000"), false);
  EXPECT_EQ(Flag(all, "train.rank_started", "node001"), false);
}

TEST_F(Training, TooFewStepsGiveNoMedian) {
  for (int r = 0; r < 4; ++r) logs_[static_cast<size_t>(r)] = LogOf(r, {.steps = 29});
  const Observations all = Observe();
  for (const char* fact : {"train.mfu", "train.step_time", "train.step_time_spread"})
    EXPECT_EQ(Of(all, fact).unobserved()->reason, UnknownReason::kTooFewSamples) << fact;
  EXPECT_EQ(Of(all, "train.rank_lag", "node000").unobserved()->reason,
            UnknownReason::kTooFewSamples);
}

TEST_F(Training, NoCheckpointAskedForIsNotAWrittenOne) {
  EXPECT_EQ(Flag(Observe(), "train.checkpoint_written"), std::nullopt);
  EXPECT_EQ(Flag(Observe(), "train.checkpoint_of_node", "node000"), std::nullopt);
}

TEST_F(Training, AShardThatIsMissingOrAlteredBreaksItsNodeAndTheGang) {
  WriteCheckpoint();
  files_.Put("/ck/shard-3", "weights of 4");
  Observations all = Observe();
  EXPECT_EQ(Flag(all, "train.checkpoint_written"), false);
  EXPECT_EQ(Flag(all, "train.checkpoint_of_node", "node001"), false);
  EXPECT_EQ(Flag(all, "train.checkpoint_of_node", "node000"), true);
  ASSERT_TRUE(files_.Remove("/ck/shard-0").ok());
  all = Observe();
  EXPECT_EQ(Flag(all, "train.checkpoint_of_node", "node000"), false);
}

TEST_F(Training, AFullDiskIsNamedWithItsNode) {
  WriteCheckpoint();
  logs_[2] = LogOf(2, {}) +
             "{\"event\":\"checkpoint\",\"folder\":\"/"
             "ck\",\"file\":\"shard-2\",\"written\":false,\"error\":\"No space left on "
             "device\"}\n";
  const Observations all = Observe();
  EXPECT_EQ(Flag(all, "train.checkpoint_of_node", "node001"), false);
  EXPECT_EQ(Flag(all, "train.checkpoint_of_node", "node000"), true);
  EXPECT_THAT(Of(all, "train.checkpoint_of_node", "node001").excerpt, HasSubstr("No space left"));
}

TEST_F(Training, ShardsWithoutAManifestAreNoCheckpoint) {
  WriteCheckpoint();
  ASSERT_TRUE(files_.Remove("/ck/manifest.json").ok());
  const Observations all = Observe();
  EXPECT_EQ(Flag(all, "train.checkpoint_written"), false);
  EXPECT_EQ(Flag(all, "train.checkpoint_of_node", "node000"), true);
}

TEST_F(Training, AManifestOfAnOlderRunSealsNothing) {
  WriteCheckpoint();
  files_.Put("/ck/shard-1", "new weights");
  logs_[1] = LogOf(1, {}) + ShardLine("/ck", 1, "new weights");
  EXPECT_EQ(Flag(Observe(), "train.checkpoint_written"), false);
}

TEST_F(Training, AFolderThatCannotBeReadLeavesTheCheckpointUnknown) {
  WriteCheckpoint();
  files_.Forbid("/ck/shard-1", Error{Code::kPermission, "no", {}});
  const Observations all = Observe();
  EXPECT_EQ(Flag(all, "train.checkpoint_written"), std::nullopt);
  EXPECT_EQ(Flag(all, "train.checkpoint_of_node", "node000"), std::nullopt);
  EXPECT_EQ(Flag(all, "train.checkpoint_of_node", "node001"), true);
}

TEST_F(Training, AGangWithoutRanksIsUnknown) {
  run_.nodes.clear();
  logs_.clear();
  for (const Observation& o : Observe()) EXPECT_NE(o.unobserved(), nullptr) << o.fact;
}

// Cut one rank's log at any byte: nothing but what starts, wrong losses, and other ranks' shards
// may still be seen.
TEST_F(Training, ALogCutAnywhereGivesNoHealthyFigure) {
  WriteCheckpoint();
  const std::string whole = logs_[2];
  const size_t last_line = whole.find("step: 40");
  for (size_t n = 0; n < last_line - 1; n += 7) {
    logs_[2] = whole.substr(0, n);
    const Observations all = Observe();
    for (const char* fact : {"train.mfu", "train.step_time", "train.step_time_spread",
                             "train.nan_steps", "train.loss_drop"})
      EXPECT_NE(Of(all, fact).unobserved(), nullptr) << fact << " with " << n << " bytes";
    EXPECT_NE(Flag(all, "train.checkpoint_written"), true);
    EXPECT_NE(Flag(all, "train.checkpoint_of_node", "node001"), true);
  }
}

TEST_F(Training, AStepWithAKeyDroppedIsDamage) {
  for (const char* key :
       {"step", "loss", "local_loss", "step_time_s", "compute_time_s", "tokens"}) {
    std::string text = LogOf(0, {});
    const std::string quoted = fmt::format("\"{}\":", key);
    const size_t at = text.find(quoted, text.find("\"event\":\"step\"") + 14);
    text.replace(at, quoted.size(), "\"x\":");
    const RankReport report = ParseRankLog(0, "n", 0, text);
    EXPECT_FALSE(report.whole()) << key;
  }
}

TEST_F(Training, AStepThatIsMissingIsDamage) {
  std::string text = LogOf(0, {});
  const size_t at = text.find("\"step\":20,");
  const size_t begin = text.rfind('\n', at) + 1;
  text.erase(begin, text.find('\n', at) + 1 - begin);
  EXPECT_THAT(ParseRankLog(0, "n", 0, text).damage, HasSubstr("step 21 follows step 19"));
}

// captures/rehearsed/train: four ranks of backend/lab/work on two busy cores, 60 steps.
TEST_F(Training, ReadsARealGang) {
  logs_.clear();
  for (int r = 0; r < 4; ++r)
    logs_.push_back(
        testing::Capture(MUSTER_SOURCE_DIR, fmt::format("rehearsed/train/gang4.rank{}.txt", r)));
  const Observations all = Observe();
  EXPECT_EQ(Whole(all, "train.ranks_started"), 4);
  EXPECT_NEAR(Real(all, "train.mfu"), 0.324, 0.001);
  EXPECT_NEAR(Real(all, "train.step_time"), 0.0999, 0.0001);
  EXPECT_GT(Real(all, "train.loss_drop"), 0.7);
  EXPECT_LT(Real(all, "train.rank_lag", "node001"), 1.05);
  EXPECT_EQ(Whole(all, "train.nan_steps"), 0);
  // The shards are not in the project.
  EXPECT_EQ(Flag(all, "train.checkpoint_written"), false);
}

TEST_F(Training, AnyBytesAreSurvived) {
  EXPECT_TRUE(rc::check("any log", [](const std::string& text) {
    RC_ASSERT(!ParseRankLog(0, "n", 0, text).whole());
    RC_ASSERT(!ParseRankLog(0, "n", 0, "{\"event\":" + text).whole());
  }));
}

TEST(NearestRank, IsAValueThatWasSeen) {
  EXPECT_EQ(NearestRank({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(NearestRank({4, 3, 2, 1}, 0.5), 2);
  EXPECT_EQ(NearestRank({1, 2, 3}, 0.99), 3);
  EXPECT_EQ(NearestRank({7}, 0.99), 7);
}

}  // namespace
}  // namespace muster::training
