#include "base/time.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST(TimeTest, MomentsReadAndPrintAsRfc3339) {
  const auto t = ParseTime("2026-11-20T03:12:00Z");
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(FormatTime(*t), "2026-11-20T03:12:00Z");
  EXPECT_EQ(t->time_since_epoch(), 1795144320s);
  EXPECT_EQ(FormatTime(*t + 250ms), "2026-11-20T03:12:00.250Z");
}

TEST(TimeTest, OffsetsAndFractionsCount) {
  EXPECT_EQ(*ParseTime("2026-11-20T05:12:00+02:00"), *ParseTime("2026-11-20T03:12:00Z"));
  EXPECT_EQ(*ParseTime("2026-11-19T22:12:00-0500"), *ParseTime("2026-11-20T03:12:00Z"));
  EXPECT_EQ(*ParseTime("2026-11-20T03:12:00.000000001Z") - *ParseTime("2026-11-20T03:12:00Z"), 1ns);
}

TEST(TimeTest, WhatIsNoMomentIsRefused) {
  for (const char* bad : {"", "2026-11-20", "2026-11-20T03:12:00", "2026-02-30T00:00:00Z",
                          "2026-11-20T24:00:00Z", "2026-11-20T03:60:00Z", "2026-11-20T03:12:00Zx",
                          "2026-11-20T03:12:00.Z", "yesterday", "2026-11-20T03:12:00+2"}) {
    EXPECT_FALSE(ParseTime(bad).ok()) << bad;
  }
}

TEST(TimeTest, SpansReadWithTheirUnits) {
  EXPECT_EQ(*ParseDuration("90s"), 90s);
  EXPECT_EQ(*ParseDuration("2h30m"), 150min);
  EXPECT_EQ(*ParseDuration("250ms"), 250ms);
  EXPECT_EQ(*ParseDuration("7d"), 168h);
  EXPECT_EQ(*ParseDuration("1.5s"), 1500ms);
}

TEST(TimeTest, SpanWithoutAUnitIsAGuessAndRefused) {
  for (const char* bad :
       {"", "30", "s", "5 m", "-5s", "1y", "1h5", "1..5s", "1e9s", "9999999999s"}) {
    EXPECT_FALSE(ParseDuration(bad).ok()) << bad;
  }
}

TEST(TimeTest, SpansPrintForAPerson) {
  EXPECT_EQ(FormatDuration(340ms), "340ms");
  EXPECT_EQ(FormatDuration(12400ms), "12.4s");
  EXPECT_EQ(FormatDuration(200s), "3m20s");
  EXPECT_EQ(FormatDuration(125min), "2h05m");
  EXPECT_EQ(FormatDuration(76h), "3d4h");
  EXPECT_EQ(FormatDuration(-5s), "-5s");
}

RC_GTEST_PROP(TimeProperty, MomentsReadBackToTheMillisecond, ()) {
  // From 1970 to 2255: nanoseconds in 64 bits end in 2262.
  const auto millis = *rc::gen::inRange<int64_t>(0, 9'000'000'000'000);
  const TimePoint t{std::chrono::milliseconds(millis)};
  RC_ASSERT(*ParseTime(FormatTime(t)) == t);
}

RC_GTEST_PROP(TimeProperty, NoTextCrashesTheReaders, (const std::string& text)) {
  static_cast<void>(ParseTime(text).ok());
  static_cast<void>(ParseDuration(text).ok());
}

RC_GTEST_PROP(TimeProperty, PrintedSpanReadsBackNearly, ()) {
  const Duration d{*rc::gen::inRange<int64_t>(1'000'000, 8'000'000'000'000'000)};
  const auto back = ParseDuration(FormatDuration(d));
  RC_ASSERT(back.ok());
  // Three figures, or the two largest units: 3d4h may be an hour off.
  RC_ASSERT(std::abs(Seconds(*back - d)) <= 0.05 * Seconds(d) + 1e-3);
}

}  // namespace
}  // namespace muster
