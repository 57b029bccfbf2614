// When changes may begin, as a site declares it: days of the week and a span of the day, in UTC, so
// that no clock change makes an hour twice. Plain data and one question.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster {

struct ChangeWindow {
  std::string name;
  std::vector<int> days;              // 0 = Sunday, of the day it begins; empty = every day
  Duration from{};                    // since midnight UTC
  Duration length{};                  // over midnight it goes on into the next day
  std::vector<std::string> runbooks;  // ids; empty = all
};

// "mon", "Tuesday" -> 1, 2.
Result<int> ParseWeekday(std::string_view text);
// "22:00" -> 22h; up to "24:00".
Result<Duration> ParseTimeOfDay(std::string_view text);

struct WindowAnswer {
  bool held = false;    // some window names this runbook: outside of all of them it must not begin
  bool open = true;     // it may begin now
  std::string name;     // of the open one, or of the next
  TimePoint closes_at;  // of the open one
  TimePoint opens_at;   // of the next one, where none is open
};
// Linear in the windows; looks seven days ahead.
WindowAnswer AskWindows(const std::vector<ChangeWindow>& windows, std::string_view runbook,
                        TimePoint now);
// "no change window of R1 is open; tuesday-night opens at 2026-11-24T22:00:00Z". "" = it may begin.
std::string WhyClosed(const WindowAnswer& answer, std::string_view runbook);

}  // namespace muster
