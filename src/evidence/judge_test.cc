#include <algorithm>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "evidence/testing/sample.h"
#include "evidence/verdict.h"

namespace muster {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using testing::JudgeOne;
using testing::kNow;
using testing::MakeCriterion;
using testing::Missing;
using testing::Seen;

const Subject kGpu = GpuSubject("node-07", 3);
const Subject kPort = PortSubject("leaf00", 5);

Criterion GpuCount() {
  return MakeCriterion("gpu.count", SubjectKind::kNode, Compare::kEqual, {int64_t{8}},
                       Unit::kCount);
}
const Subject kNode = NodeSubject("node-07");

TEST(Judge, PassesOnWhatWasSeen) {
  const Verdict v =
      JudgeOne(GpuCount(), kNode, {Seen(kNode, "gpu.count", int64_t{8}, Unit::kCount)});
  EXPECT_EQ(v.level, Level::kPass);
  EXPECT_EQ(v.measured, "8");
  EXPECT_EQ(v.wanted, "= 8");
  EXPECT_EQ(v.evidence, std::vector<size_t>{0});
}

TEST(Judge, FailsOnWhatWasSeenAndSaysSo) {
  const Verdict v =
      JudgeOne(GpuCount(), kNode, {Seen(kNode, "gpu.count", int64_t{7}, Unit::kCount)});
  EXPECT_EQ(v.level, Level::kFail);
  EXPECT_THAT(v.text, HasSubstr("node-07 has 7, wanted = 8"));
}

TEST(Judge, SilenceIsUnknown) {
  const Verdict v = JudgeOne(GpuCount(), kNode, {});
  EXPECT_EQ(v.level, Level::kUnknown);
  EXPECT_EQ(v.reason, UnknownReason::kNotObserved);
  EXPECT_TRUE(v.evidence.empty());
}

TEST(Judge, UnknownNamesTheNearestReason) {
  const Observations seen = {
      Missing(NodeSubject("fabric"), "gpu.model", UnknownReason::kToolFault, "hung"),
      Missing(NodeSubject("node-08"), "gpu.model", UnknownReason::kUnreachable, "no answer"),
      Missing(kNode, "gpu.model", UnknownReason::kNotPermitted, "permission denied")};
  const Criterion c =
      MakeCriterion("gpu.model", SubjectKind::kGpu, Compare::kEqual, {std::string("x")});
  EXPECT_EQ(JudgeOne(c, kGpu, seen).reason, UnknownReason::kNotPermitted);
  EXPECT_EQ(JudgeOne(c, GpuSubject("node-08", 0), seen).reason, UnknownReason::kUnreachable);
  EXPECT_EQ(JudgeOne(c, GpuSubject("node-09", 0), seen).reason, UnknownReason::kToolFault);
  EXPECT_THAT(JudgeOne(c, kGpu, seen).text, HasSubstr("permission denied"));
}

TEST(Judge, AnotherNodesReasonIsNotOurs) {
  const Observations seen = {
      Missing(NodeSubject("node-08"), "gpu.count", UnknownReason::kUnreachable)};
  EXPECT_EQ(JudgeOne(GpuCount(), kNode, seen).reason, UnknownReason::kNotObserved);
}

TEST(Judge, AnOldSampleIsStale) {
  Criterion c = GpuCount();
  c.fresh_for = minutes(15);
  const auto at_age = [&](Duration age) {
    return JudgeOne(c, kNode, {Seen(kNode, "gpu.count", int64_t{8}, Unit::kCount, age)});
  };
  EXPECT_EQ(at_age(minutes(15)).level, Level::kPass);
  EXPECT_EQ(at_age(minutes(15) + seconds(1)).level, Level::kUnknown);
  EXPECT_EQ(at_age(hours(3)).reason, UnknownReason::kStale);
}

TEST(Judge, ASampleFromTheFutureIsNotBelieved) {
  const auto at_age = [&](Duration age) {
    return JudgeOne(GpuCount(), kNode, {Seen(kNode, "gpu.count", int64_t{8}, Unit::kCount, age)});
  };
  EXPECT_EQ(at_age(-seconds(4)).level, Level::kPass);
  EXPECT_EQ(at_age(-seconds(6)).level, Level::kUnknown);
  EXPECT_EQ(at_age(-hours(6)).reason, UnknownReason::kStale);
}

TEST(Judge, TheWarnBandIsBetweenPassAndFail) {
  Criterion c = MakeCriterion("collective.plateau_ratio", SubjectKind::kScope, Compare::kAtLeast,
                              {0.92}, Unit::kRatio);
  c.warn = Threshold{{0.88}, Unit::kRatio, ""};
  const Subject all{SubjectKind::kScope, "all"};
  const auto level = [&](double value) {
    return JudgeOne(c, all, {Seen(all, c.fact, value, Unit::kRatio)}).level;
  };
  EXPECT_EQ(level(0.92), Level::kPass);
  EXPECT_EQ(level(0.9199), Level::kWarn);
  EXPECT_EQ(level(0.88), Level::kWarn);
  EXPECT_EQ(level(0.879), Level::kFail);
}

TEST(Judge, AnAdvisoryMissIsWarnButNotKnowingStaysUnknown) {
  Criterion c = GpuCount();
  c.advisory = true;
  EXPECT_EQ(JudgeOne(c, kNode, {Seen(kNode, "gpu.count", int64_t{7}, Unit::kCount)}).level,
            Level::kWarn);
  EXPECT_EQ(JudgeOne(c, kNode, {}).level, Level::kUnknown);
}

TEST(Judge, AMissThatMeansTooLittleWasSeenIsUnknown) {
  Criterion c = MakeCriterion("dcgm.tests_run", SubjectKind::kNode, Compare::kAtLeast, {int64_t{5}},
                              Unit::kCount);
  c.miss_is = UnknownReason::kTooFewSamples;
  const Verdict v = JudgeOne(c, kNode, {Seen(kNode, c.fact, int64_t{1}, Unit::kCount)});
  EXPECT_EQ(v.level, Level::kUnknown);
  EXPECT_EQ(v.reason, UnknownReason::kTooFewSamples);
  EXPECT_EQ(JudgeOne(c, kNode, {Seen(kNode, c.fact, int64_t{8}, Unit::kCount)}).level,
            Level::kPass);
}

TEST(Judge, AValueThatMeansIDoNotKnowIsUnknown) {
  Criterion c =
      MakeCriterion("dcgm.result", SubjectKind::kGpu, Compare::kIn, {std::string("Pass")});
  c.unknown_values = {"Skip", "N/A"};
  const auto of = [&](std::string text) {
    return JudgeOne(c, kGpu, {Seen(kGpu, c.fact, std::move(text))});
  };
  EXPECT_EQ(of("Pass").level, Level::kPass);
  EXPECT_EQ(of("Skip").level, Level::kUnknown);
  EXPECT_EQ(of("Skip").reason, UnknownReason::kNotObserved);
  EXPECT_EQ(of("Fail").level, Level::kFail);
}

TEST(Judge, AnotherUnitIsNotComparedButUnknown) {
  const Criterion c =
      MakeCriterion("link.rate", SubjectKind::kLink, Compare::kAtLeast, {400.0}, Unit::kGbitPerSec);
  const Subject link = LinkSubject("a/1", "b/1");
  const Verdict v = JudgeOne(c, link, {Seen(link, c.fact, 500.0, Unit::kGBytePerSec)});
  EXPECT_EQ(v.level, Level::kUnknown);
  EXPECT_EQ(v.reason, UnknownReason::kUnparsable);
  EXPECT_THAT(v.text, HasSubstr("GB/s"));
}

TEST(Judge, AnotherTypeIsUnknown) {
  EXPECT_EQ(
      JudgeOne(GpuCount(), kNode, {Seen(kNode, "gpu.count", std::string("8"), Unit::kCount)}).level,
      Level::kUnknown);
  EXPECT_EQ(JudgeOne(GpuCount(), kNode, {Seen(kNode, "gpu.count", true, Unit::kCount)}).level,
            Level::kUnknown);
  const Criterion flag = MakeCriterion("gpu.present", SubjectKind::kGpu, Compare::kTrue, {});
  EXPECT_EQ(JudgeOne(flag, kGpu, {Seen(kGpu, flag.fact, int64_t{1})}).level, Level::kUnknown);
}

TEST(Judge, WhatIsNoNumberIsUnknown) {
  const Criterion c =
      MakeCriterion("train.mfu", SubjectKind::kGang, Compare::kNotEqual, {0.1}, Unit::kRatio);
  const Subject gang{SubjectKind::kGang, "train"};
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const Verdict v = JudgeOne(c, gang, {Seen(gang, c.fact, bad, Unit::kRatio)});
    EXPECT_EQ(v.level, Level::kUnknown);
    EXPECT_EQ(v.reason, UnknownReason::kUnparsable);
  }
}

TEST(Judge, AThresholdTheSiteDoesNotSayIsUnknown) {
  Criterion c = GpuCount();
  c.pass.values.clear();
  c.pass.expect = "gpus_per_node";
  const Observations seen = {Seen(kNode, "gpu.count", int64_t{8}, Unit::kCount)};
  const Verdict silent =
      JudgeOne(c, kNode, seen, [](const Subject&, std::string_view) { return std::nullopt; });
  EXPECT_EQ(silent.level, Level::kUnknown);
  EXPECT_THAT(silent.text, HasSubstr("the site does not say gpus_per_node"));
  EXPECT_EQ(JudgeOne(c, kNode, seen).level, Level::kUnknown);  // nobody to ask
  const Expectation eight = [](const Subject&, std::string_view) { return Value(int64_t{8}); };
  EXPECT_EQ(JudgeOne(c, kNode, seen, eight).level, Level::kPass);
}

TEST(Judge, TextsAreComparedAsWholesSetsAndParts) {
  const auto level = [&](Compare compare, std::vector<Value> wanted, std::string have) {
    return JudgeOne(MakeCriterion("t", SubjectKind::kGpu, compare, std::move(wanted)), kGpu,
                    {Seen(kGpu, "t", std::move(have))})
        .level;
  };
  const std::string a = "NET/IB", b = "NET/Socket";
  EXPECT_EQ(level(Compare::kEqual, {a}, "NET/IB"), Level::kPass);
  EXPECT_EQ(level(Compare::kEqual, {a}, "NET/IBext"), Level::kFail);
  EXPECT_EQ(level(Compare::kIn, {a, b}, "NET/Socket"), Level::kPass);
  EXPECT_EQ(level(Compare::kNotIn, {a, b}, "NET/Socket"), Level::kFail);
  EXPECT_EQ(level(Compare::kContains, {a}, "NET/IBext"), Level::kPass);
  EXPECT_EQ(level(Compare::kNotEqual, {a}, "NET/IB"), Level::kFail);
}

// ---- counters ----

Criterion Counter(Measure measure, std::optional<int64_t> saturates = 65535) {
  Criterion c =
      MakeCriterion("port.symbol_errors", SubjectKind::kPort, Compare::kAtMost, {int64_t{0}},
                    measure == Measure::kDelta ? Unit::kCount : Unit::kPerHour);
  c.measure = measure;
  c.min_samples = 2;
  c.saturates_at = saturates;
  if (measure == Measure::kRatePerHour) c.warn = Threshold{{10.0}, Unit::kPerHour, ""};
  return c;
}
// One reading a second, the last 1 s ago.
Observations Readings(const std::vector<int64_t>& values, Duration apart = seconds(1)) {
  Observations seen;
  for (size_t i = 0; i < values.size(); ++i) {
    seen.push_back(Seen(kPort, "port.symbol_errors", values[i], Unit::kCount,
                        seconds(1) + apart * static_cast<int>(values.size() - 1 - i)));
  }
  return seen;
}
Verdict JudgeCounter(const std::vector<int64_t>& values, Measure measure = Measure::kDelta,
                     Duration apart = seconds(1)) {
  return JudgeOne(Counter(measure), kPort, Readings(values, apart));
}

TEST(Judge, ACounterIsJudgedByItsGrowth) {
  EXPECT_EQ(JudgeCounter({4112, 4112}).level, Level::kPass);
  EXPECT_EQ(JudgeCounter({4112, 4113}).level, Level::kFail);
  EXPECT_EQ(JudgeCounter({4112, 4113}).measured, "1");
}

TEST(Judge, OneReadingIsNoGrowth) {
  EXPECT_EQ(JudgeCounter({0}).level, Level::kUnknown);
  EXPECT_EQ(JudgeCounter({0}).reason, UnknownReason::kTooFewSamples);
}

TEST(Judge, TwoReadingsOfOneMomentAreNoGrowth) {
  const Verdict v = JudgeCounter({0, 0}, Measure::kDelta, seconds(0));
  EXPECT_EQ(v.level, Level::kUnknown);
  EXPECT_EQ(v.reason, UnknownReason::kTooFewSamples);
}

TEST(Judge, ACounterThatWentBackIsUnknownNotNegative) {
  EXPECT_EQ(JudgeCounter({500, 0}).level, Level::kUnknown);
  EXPECT_THAT(JudgeCounter({500, 0}).text, HasSubstr("went back from 500 to 0"));
}

TEST(Judge, ACounterThatWentBackButGrewMeanwhileFails) {
  EXPECT_EQ(JudgeCounter({500, 0, 40}).level, Level::kFail);
  EXPECT_EQ(JudgeCounter({500, 0, 40}).measured, ">= 40");
}

TEST(Judge, ASaturatedCounterIsUnknownUnlessItGrewOnItsWay) {
  EXPECT_EQ(JudgeCounter({65535, 65535}).level, Level::kUnknown);
  EXPECT_THAT(JudgeCounter({65535, 65535}).text, HasSubstr("saturated at 65535"));
  EXPECT_EQ(JudgeCounter({65000, 65535}).level, Level::kFail);
}

TEST(Judge, AValueBeyondTheClassicWidthProvesAWideCounter) {
  EXPECT_EQ(JudgeCounter({70000, 70000}).level, Level::kPass);
}

TEST(Judge, ARateIsPerHourOfTheWindow) {
  EXPECT_EQ(JudgeCounter({0, 5}, Measure::kRatePerHour, hours(1)).level, Level::kWarn);
  EXPECT_EQ(JudgeCounter({0, 11}, Measure::kRatePerHour, hours(1)).level, Level::kFail);
  EXPECT_EQ(JudgeCounter({0, 1}, Measure::kRatePerHour, seconds(2)).measured, "1800 /h");
}

TEST(Judge, ALowerBoundInTheWarnBandMayBeAFailAndIsUnknown) {
  EXPECT_EQ(JudgeCounter({65530, 65535}, Measure::kRatePerHour, hours(1)).level, Level::kUnknown);
  EXPECT_EQ(JudgeCounter({65500, 65535}, Measure::kRatePerHour, hours(1)).level, Level::kFail);
}

TEST(Judge, MaxMinAndMedianAreOverTheFreshSamples) {
  Criterion c =
      MakeCriterion("gpu.temperature", SubjectKind::kGpu, Compare::kAtMost, {80.0}, Unit::kCelsius);
  c.fresh_for = minutes(15);
  const Observations seen = {Seen(kGpu, c.fact, 95.0, Unit::kCelsius, hours(2)),
                             Seen(kGpu, c.fact, 70.0, Unit::kCelsius, minutes(3)),
                             Seen(kGpu, c.fact, 84.0, Unit::kCelsius, minutes(2)),
                             Seen(kGpu, c.fact, 60.0, Unit::kCelsius, minutes(1))};
  c.measure = Measure::kMax;
  EXPECT_EQ(JudgeOne(c, kGpu, seen).measured, "84 C");
  c.measure = Measure::kMin;
  EXPECT_EQ(JudgeOne(c, kGpu, seen).measured, "60 C");
  c.measure = Measure::kMedian;
  EXPECT_EQ(JudgeOne(c, kGpu, seen).measured, "70 C");
  c.min_samples = 4;
  EXPECT_EQ(JudgeOne(c, kGpu, seen).reason, UnknownReason::kTooFewSamples);
}

TEST(Judge, OfOneMomentTheWorstCounts) {
  const Observations seen = {Seen(kNode, "gpu.count", int64_t{8}, Unit::kCount),
                             Seen(kNode, "gpu.count", int64_t{7}, Unit::kCount)};
  EXPECT_EQ(JudgeOne(GpuCount(), kNode, seen).level, Level::kFail);
  EXPECT_EQ(JudgeOne(GpuCount(), kNode, {seen[1], seen[0]}).level, Level::kFail);
}

// ---- what was seen and then not any more ----

TEST(Judge, ALaterHangTakesBackAPassButNotAFail) {
  const auto with = [&](int64_t count, Observation later) {
    return JudgeOne(GpuCount(), kNode,
                    {Seen(kNode, "gpu.count", count, Unit::kCount, minutes(5)), std::move(later)});
  };
  EXPECT_EQ(with(8, Missing(kNode, "gpu.count", UnknownReason::kToolFault)).level, Level::kUnknown);
  EXPECT_EQ(with(8, Missing(kNode, "gpu.count", UnknownReason::kToolFault)).evidence.size(), 2u);
  EXPECT_EQ(with(7, Missing(kNode, "gpu.count", UnknownReason::kToolFault)).level, Level::kFail);
  EXPECT_EQ(with(8, Missing(kNode, "gpu.count", UnknownReason::kToolFault, "", minutes(9))).level,
            Level::kPass);
}

TEST(Judge, NotBeingMentionedByTheHostTakesNothingBack) {
  const Criterion c = MakeCriterion("gpu.present", SubjectKind::kGpu, Compare::kTrue, {});
  const auto with = [&](Observation later) {
    return JudgeOne(c, kGpu, {Seen(kGpu, c.fact, true, Unit::kNone, minutes(5)), std::move(later)})
        .level;
  };
  EXPECT_EQ(with(Missing(kNode, c.fact, UnknownReason::kNotObserved)), Level::kPass);
  EXPECT_EQ(with(Missing(kNode, c.fact, UnknownReason::kUnreachable)), Level::kUnknown);
  EXPECT_EQ(with(Missing(NodeSubject("node-08"), c.fact, UnknownReason::kUnreachable)),
            Level::kPass);
  EXPECT_EQ(with(Missing(kGpu, c.fact, UnknownReason::kNotObserved)), Level::kUnknown);
}

// ---- all equal ----

Criterion OneDriver() {
  Criterion c = MakeCriterion("node.driver_version", SubjectKind::kNode, Compare::kEqual, {});
  c.measure = Measure::kAllEqual;
  return c;
}
Observations Drivers(const std::vector<std::string>& versions) {
  Observations seen;
  for (size_t i = 0; i < versions.size(); ++i)
    seen.push_back(Seen(NodeSubject("n" + std::to_string(i)), "node.driver_version", versions[i]));
  return seen;
}

TEST(Judge, TheOddOneOutMissesAllEqual) {
  const Observations seen = Drivers({"570", "570", "535", "570"});
  EXPECT_EQ(JudgeOne(OneDriver(), NodeSubject("n0"), seen).level, Level::kPass);
  const Verdict odd = JudgeOne(OneDriver(), NodeSubject("n2"), seen);
  EXPECT_EQ(odd.level, Level::kFail);
  EXPECT_EQ(odd.wanted, "570, as on most");
  EXPECT_EQ(odd.evidence.size(), 2u);
}

TEST(Judge, WithoutAMajorityAllMiss) {
  const Observations seen = Drivers({"570", "535"});
  EXPECT_EQ(JudgeOne(OneDriver(), NodeSubject("n0"), seen).level, Level::kFail);
  EXPECT_EQ(JudgeOne(OneDriver(), NodeSubject("n1"), seen).level, Level::kFail);
}

TEST(Judge, AllEqualPassesWhereAllAreAndIsUnknownForTheUnseen) {
  const Observations seen = Drivers({"570", "570"});
  EXPECT_EQ(JudgeOne(OneDriver(), NodeSubject("n1"), seen).level, Level::kPass);
  EXPECT_EQ(JudgeOne(OneDriver(), NodeSubject("n9"), seen).level, Level::kUnknown);
}

// ---- the verdict of many ----

Verdict Of(Level level) {
  Verdict v;
  v.level = level;
  return v;
}

TEST(Combine, FailOverUnknownOverWarnOverPass) {
  const auto combine = [](std::initializer_list<Level> levels) {
    std::vector<Verdict> verdicts;
    for (const Level level : levels) verdicts.push_back(Of(level));
    return Combine(verdicts);
  };
  EXPECT_EQ(combine({Level::kPass, Level::kNotApplicable}), Level::kPass);
  EXPECT_EQ(combine({Level::kPass, Level::kWarn}), Level::kWarn);
  EXPECT_EQ(combine({Level::kWarn, Level::kUnknown, Level::kPass}), Level::kUnknown);
  EXPECT_EQ(combine({Level::kUnknown, Level::kFail, Level::kWarn}), Level::kFail);
}

TEST(Combine, NothingJudgedIsUnknown) {
  EXPECT_EQ(Combine({}), Level::kUnknown);
  const std::vector<Verdict> none = {Of(Level::kNotApplicable)};
  EXPECT_EQ(Combine(none), Level::kUnknown);
}

TEST(Verdict, LevelsReadBack) {
  for (int i = 0; i <= static_cast<int>(Level::kNotApplicable); ++i) {
    const auto level = static_cast<Level>(i);
    EXPECT_EQ(ParseLevel(ToString(level)).value(), level);
  }
  EXPECT_FALSE(ParseLevel("green").ok());
}

TEST(Verdict, OriginIsTheLeastRealOfTheEvidence) {
  Observations seen = Readings({1, 1});
  seen[0].origin = Origin::kRehearsed;
  EXPECT_EQ(JudgeOne(Counter(Measure::kDelta), kPort, seen).origin, Origin::kRehearsed);
}

}  // namespace
}  // namespace muster
