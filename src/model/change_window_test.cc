#include "model/change_window.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TimePoint At(std::string_view text) { return ParseTime(text).value(); }

ChangeWindow TuesdayNight() {
  return {"tuesday-night", {2}, std::chrono::hours(22), std::chrono::hours(6), {"R1"}};
}

TEST(ChangeWindow, IsOpenFromItsHourAndOverMidnight) {
  const std::vector<ChangeWindow> windows = {TuesdayNight()};
  // 2026-11-24 is a Tuesday.
  EXPECT_FALSE(AskWindows(windows, "R1", At("2026-11-24T21:59:59Z")).open);
  EXPECT_TRUE(AskWindows(windows, "R1", At("2026-11-24T22:00:00Z")).open);
  const auto after = AskWindows(windows, "r1", At("2026-11-25T03:59:59Z"));
  EXPECT_TRUE(after.open);
  EXPECT_EQ(after.closes_at, At("2026-11-25T04:00:00Z"));
  EXPECT_FALSE(AskWindows(windows, "R1", At("2026-11-25T04:00:00Z")).open);
  EXPECT_FALSE(AskWindows(windows, "R1", At("2026-11-25T22:30:00Z")).open);
}

TEST(ChangeWindow, SaysWhenTheNextOneOpens) {
  const std::vector<ChangeWindow> windows = {TuesdayNight()};
  const auto closed = AskWindows(windows, "R1", At("2026-11-25T12:00:00Z"));
  EXPECT_EQ(WhyClosed(closed, "R1"),
            "no change window of R1 is open; tuesday-night opens at 2026-12-01T22:00:00Z");
  EXPECT_EQ(WhyClosed(AskWindows(windows, "R1", At("2026-11-24T23:00:00Z")), "R1"), "");
}

TEST(ChangeWindow, HoldsOnlyWhatItNames) {
  const std::vector<ChangeWindow> windows = {TuesdayNight()};
  const auto other = AskWindows(windows, "R6", At("2026-11-25T12:00:00Z"));
  EXPECT_FALSE(other.held);
  EXPECT_TRUE(other.open);
  EXPECT_TRUE(AskWindows({}, "R1", At("2026-11-25T12:00:00Z")).open);
  ChangeWindow all = TuesdayNight();
  all.runbooks.clear();
  EXPECT_FALSE(AskWindows({all}, "R6", At("2026-11-25T12:00:00Z")).open);
}

TEST(ChangeWindow, TheLaterEndCountsWhereTwoAreOpen) {
  ChangeWindow late = TuesdayNight();
  late.name = "late";
  late.from = std::chrono::hours(23);
  const auto answer = AskWindows({TuesdayNight(), late}, "R1", At("2026-11-24T23:30:00Z"));
  EXPECT_EQ(answer.name, "late");
  EXPECT_EQ(answer.closes_at, At("2026-11-25T05:00:00Z"));
}

TEST(ChangeWindow, RefusesWordsThatAreNoDayAndNoTime) {
  EXPECT_EQ(ParseWeekday("tuesday").value(), 2);
  EXPECT_EQ(ParseWeekday("Sun").value(), 0);
  EXPECT_FALSE(ParseWeekday("t").ok());
  EXPECT_EQ(ParseTimeOfDay("24:00").value(), Duration(std::chrono::hours(24)));
  for (const char* bad : {"", "2:00", "22:60", "24:01", "22.00", "2a:00", "22:000"})
    EXPECT_FALSE(ParseTimeOfDay(bad).ok()) << bad;
}

}  // namespace
}  // namespace muster
