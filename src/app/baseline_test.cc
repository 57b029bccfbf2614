#include "app/baseline.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/testing/lab_site.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

muster::Run AcceptedRun() {
  muster::Run run;
  run.header.run = "r-1";
  run.header.origin = Origin::kRehearsed;
  run.closed = true;
  run.ended = ParseTime("2026-11-20T12:00:00Z").value();
  GateRecord six, eight;
  six.gate = 6;
  six.result.emplace();
  six.result->gate = 6;
  six.result->level = Level::kPass;
  six.result->figures = {{"busbw", {370, Unit::kGBytePerSec}},
                         {"busbw_ratio", {0.94, Unit::kRatio}}};
  eight.gate = 8;
  eight.result.emplace();
  eight.result->gate = 8;
  eight.result->level = Level::kWarn;
  eight.result->figures = {{"ttft_p99", {0.5, Unit::kSeconds}}};
  run.gates = {six, eight};
  return run;
}

TEST(Baseline, FiguresOfAnAcceptedRunComeBackFromTheDisk) {
  testing::TestMachine machine;
  World world = machine.world();
  const SitePaths paths = PathsOf("/hall/site.yaml");
  EXPECT_TRUE(ListBaselines(machine.files, paths)->empty());
  const auto baseline = BaselineFromRun(AcceptedRun(), "acceptance");
  ASSERT_TRUE(baseline.ok()) << baseline.error().ToString();
  ASSERT_TRUE(SaveBaseline(world, paths, *baseline).ok());
  const auto listed = ListBaselines(machine.files, paths);
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->size(), 1u);
  const Baseline& read = listed->front();
  EXPECT_EQ(read.name, "acceptance");
  EXPECT_EQ(read.run, "r-1");
  EXPECT_EQ(read.origin, Origin::kRehearsed) << "a rehearsed figure never turns into a live one";
  EXPECT_EQ(read.figures, baseline->figures);
  EXPECT_EQ(read.figures.size(), 3u);
}

TEST(Baseline, RunWhoseGateDidNotOpenIsNone) {
  for (const Level level : {Level::kFail, Level::kUnknown}) {
    muster::Run run = AcceptedRun();
    run.gates[0].result->level = level;
    const auto baseline = BaselineFromRun(run, "x");
    ASSERT_FALSE(baseline.ok());
    EXPECT_EQ(baseline.error().code, Code::kRefused);
    EXPECT_THAT(baseline.error().message, HasSubstr("gate 6"));
  }
}

TEST(Baseline, RunWithoutFiguresIsNone) {
  muster::Run run = AcceptedRun();
  for (GateRecord& record : run.gates) record.result->figures.clear();
  EXPECT_EQ(BaselineFromRun(run, "x").error().code, Code::kRefused);
}

TEST(Baseline, NameThatIsNoFileNameIsRefused) {
  testing::TestMachine machine;
  World world = machine.world();
  const SitePaths paths = PathsOf("/hall/site.yaml");
  Baseline baseline = BaselineFromRun(AcceptedRun(), "x").value();
  for (const char* name : {"", "../../etc/x", "a/b", ".", "..", ".hidden", "a\nb"}) {
    baseline.name = name;
    const Status saved = SaveBaseline(world, paths, baseline);
    ASSERT_FALSE(saved.ok()) << name;
    EXPECT_EQ(saved.error().code, Code::kInvalid) << name;
  }
  EXPECT_TRUE(machine.files.Paths().empty());
}

TEST(Baseline, DamagedOneIsNamed) {
  testing::TestMachine machine;
  World world = machine.world();
  const SitePaths paths = PathsOf("/hall/site.yaml");
  ASSERT_TRUE(SaveBaseline(world, paths, BaselineFromRun(AcceptedRun(), "x").value()).ok());
  const std::string path = paths.Baselines() + "/x.json";
  const std::string sound = machine.files.Read(path).value();
  for (size_t n = 0; n + 2 < sound.size(); n += 5) {
    machine.files.Put(path, sound.substr(0, n));
    const auto listed = ListBaselines(machine.files, paths);
    ASSERT_FALSE(listed.ok()) << n;
    EXPECT_EQ(listed.error().code, Code::kCorrupt);
    EXPECT_THAT(listed.error().message, HasSubstr("x.json"));
  }
}

struct Change {
  const char* figure;
  double now;
  bool worse;
  const char* regression;
};

TEST(Baseline, DriftBeyondTheNoiseInTheDirectionThatHurtsIsARegression) {
  Baseline baseline;
  baseline.figures = {{"busbw", {100, Unit::kGBytePerSec}},
                      {"mfu", {0.40, Unit::kRatio}},
                      {"step_time", {1.0, Unit::kSeconds}},
                      {"ttft_p99", {1.0, Unit::kSeconds}},
                      {"goodput", {1.0, Unit::kRatio}}};
  const Change kChanges[] = {
      {"busbw", 94, true, "fabric"},         {"busbw", 96, false, "fabric"},
      {"busbw", 130, false, "fabric"},       {"mfu", 0.37, true, "training"},
      {"step_time", 1.06, true, "training"}, {"step_time", 0.5, false, "training"},
      {"ttft_p99", 1.2, true, "inference"},  {"goodput", 0.9, true, "inference"},
  };
  for (const Change& change : kChanges) {
    auto now = baseline.figures;
    now[change.figure].value = change.now;
    for (const Drift& drift : CompareToBaseline(baseline, now, 0.05)) {
      if (drift.figure != change.figure) {
        EXPECT_FALSE(drift.worse) << drift.figure;
        continue;
      }
      EXPECT_EQ(drift.worse, change.worse) << change.figure << " " << change.now;
      EXPECT_EQ(drift.regression, change.regression);
    }
  }
}

TEST(Baseline, FigureThatIsMissingOrInAnotherUnitIsWorse) {
  Baseline baseline;
  baseline.figures = {{"busbw", {100, Unit::kGBytePerSec}}};
  for (const auto& now : {std::map<std::string, Quantity>{},
                          std::map<std::string, Quantity>{{"busbw", {100, Unit::kGbitPerSec}}}}) {
    const auto drifts = CompareToBaseline(baseline, now, 0.05);
    ASSERT_EQ(drifts.size(), 1u);
    EXPECT_TRUE(drifts[0].worse);
    EXPECT_TRUE(std::isnan(drifts[0].is.value));
  }
}

TEST(Baseline, FigureThatIsNotANumberNowIsWorse) {
  Baseline baseline;
  baseline.figures = {{"mfu", {0.4, Unit::kRatio}}};
  const auto drifts = CompareToBaseline(baseline, {{"mfu", {std::nan(""), Unit::kRatio}}}, 0.05);
  ASSERT_EQ(drifts.size(), 1u);
  EXPECT_TRUE(drifts[0].worse);
}

TEST(Baseline, AnythingIsWorseThanNothingLost) {
  // A latency or an error that was zero and is not any more has no share to speak of, and is worse.
  Baseline baseline;
  baseline.figures = {{"ttft_p99", {0, Unit::kSeconds}}};
  const auto drifts = CompareToBaseline(baseline, {{"ttft_p99", {3, Unit::kSeconds}}}, 0.05);
  ASSERT_EQ(drifts.size(), 1u);
  EXPECT_TRUE(drifts[0].worse);
}

}  // namespace
}  // namespace muster
