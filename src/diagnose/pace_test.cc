#include "diagnose/pace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "diagnose/testing/case_set.h"

namespace muster::diagnose {
namespace {

TEST(Pace, ThatFallsAndStaysLowIsToldWithItsFirstSample) {
  const auto fall = FallOf(std::vector<double>{10, 100, 101, 99, 100, 51, 50, 50});
  ASSERT_TRUE(fall.has_value());
  EXPECT_EQ(fall->at, 5u);
  EXPECT_EQ(fall->before, 100);
  EXPECT_EQ(fall->after, 50);
}

TEST(Pace, ThatComesBackOrWasNeverSteadyOrIsToldTooSeldomIsNoFall) {
  EXPECT_FALSE(FallOf(std::vector<double>{100, 100, 100, 50, 50, 50, 100}));
  EXPECT_FALSE(FallOf(std::vector<double>{100, 20, 90, 10, 30, 5, 5, 5}));
  EXPECT_FALSE(FallOf(std::vector<double>{100, 100, 50, 50, 50}));
  EXPECT_FALSE(FallOf(std::vector<double>{100, 98, 96, 94, 92, 90, 88, 86}));
  EXPECT_FALSE(FallOf(std::vector<double>{}));
}

std::string Log(std::string_view form, std::initializer_list<double> values) {
  std::string text;
  int step = 100;
  for (const double value : values)
    text +=
        fmt::format("step {} | loss 2.31 | {}\n", step++, fmt::format(fmt::runtime(form), value));
  return text;
}

TEST(Pace, OfALogIsAQuestionInTheWordsThatTrainingsUse) {
  for (const std::string_view form :
       {"tokens/s {}", "tokens_per_sec={}", "throughput per GPU (TFLOP/s/GPU): {} |",
        "tps: {}  mfu", "samples/sec: {}"}) {
    const Diagnosis d = testing::DiagnoseText(Log(form, {400, 401, 399, 200, 201, 200}));
    ASSERT_FALSE(d.findings.empty()) << form;
    EXPECT_EQ(d.findings.front().cause->id, "app.pace_fell") << form;
    EXPECT_EQ(d.outcome, Outcome::kNotEnough);
    EXPECT_TRUE(Contains(d.findings.front().title, "from 400 to 200")) << d.findings.front().title;
  }
  const Diagnosis slower = testing::DiagnoseText(
      Log("elapsed time per iteration (ms): {} |", {1000, 1001, 999, 2000, 2001, 2000}));
  ASSERT_FALSE(slower.findings.empty());
  EXPECT_TRUE(Contains(slower.findings.front().title, "from 1000 to 2000"));
}

TEST(Pace, ThatHoldsOrGetsFasterLeavesALogHealthy) {
  for (const auto values : {std::initializer_list<double>{400, 401, 399, 402, 398, 400},
                            std::initializer_list<double>{100, 101, 99, 402, 398, 400}})
    EXPECT_EQ(testing::OutcomeName(testing::DiagnoseText(Log("tokens/s {}", values))),
              "nothing_wrong");
}

TEST(Pace, OfALongLogIsKeptInBoundedMemoryAndStillSeen) {
  std::string text;
  for (int step = 0; step < 20'000; ++step)
    text +=
        fmt::format("step {} | loss 2.31 | tokens/s {}\n", step, step < 12'000 ? 400'000 : 250'000);
  const Diagnosis d = testing::DiagnoseText(text);
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().cause->id, "app.pace_fell");
  EXPECT_NEAR(static_cast<double>(d.findings.front().evidence.front().at.line), 12'001, 64);
}

}  // namespace
}  // namespace muster::diagnose
