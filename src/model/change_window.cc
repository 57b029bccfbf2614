#include "model/change_window.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 7> kDays = {"sunday",   "monday", "tuesday", "wednesday",
                                                   "thursday", "friday", "saturday"};

bool Names(const ChangeWindow& window, std::string_view runbook) {
  return window.runbooks.empty() ||
         std::any_of(window.runbooks.begin(), window.runbooks.end(),
                     [&](const std::string& id) { return EqualsIgnoreCase(id, runbook); });
}

bool BeginsOn(const ChangeWindow& window, std::chrono::sys_days day) {
  const int weekday = static_cast<int>(std::chrono::weekday(day).c_encoding());
  return window.days.empty() ||
         std::find(window.days.begin(), window.days.end(), weekday) != window.days.end();
}

}  // namespace

Result<int> ParseWeekday(std::string_view text) {
  const std::string lower = ToLower(text);
  for (size_t day = 0; day < kDays.size(); ++day) {
    if (lower == kDays[day] || lower == kDays[day].substr(0, 3)) return static_cast<int>(day);
  }
  return Fail(
      Code::kInvalid,
      fmt::format("\"{}\" is no day of the week, expected mon, tue, wed, thu, fri, sat, sun",
                  Printable(text)));
}

Result<Duration> ParseTimeOfDay(std::string_view text) {
  const auto digit = [&](size_t at) { return text[at] >= '0' && text[at] <= '9'; };
  if (text.size() == 5 && digit(0) && digit(1) && text[2] == ':' && digit(3) && digit(4)) {
    const int hour = (text[0] - '0') * 10 + text[1] - '0';
    const int minute = (text[3] - '0') * 10 + text[4] - '0';
    if (minute < 60 && hour * 60 + minute <= 24 * 60)
      return Duration(std::chrono::minutes(hour * 60 + minute));
  }
  return Fail(Code::kInvalid,
              fmt::format("\"{}\" is no time of day, expected \"22:00\"", Printable(text)));
}

WindowAnswer AskWindows(const std::vector<ChangeWindow>& windows, std::string_view runbook,
                        TimePoint now) {
  WindowAnswer answer;
  const auto today = std::chrono::floor<std::chrono::days>(now);
  TimePoint next = TimePoint::max();
  for (const ChangeWindow& window : windows) {
    if (!Names(window, runbook)) continue;
    answer.held = true;
    for (int offset = -1; offset <= 7; ++offset) {
      const auto day = today + std::chrono::days(offset);
      if (!BeginsOn(window, day)) continue;
      const TimePoint begins = TimePoint(day) + window.from;
      const TimePoint ends = begins + window.length;
      if (begins <= now && now < ends && ends > answer.closes_at) {
        answer.closes_at = ends;
        answer.name = window.name;
      } else if (begins > now && begins < next) {
        next = begins;
        answer.opens_at = begins;
        if (answer.closes_at == TimePoint{}) answer.name = window.name;
      }
    }
  }
  answer.open = !answer.held || answer.closes_at != TimePoint{};
  return answer;
}

std::string WhyClosed(const WindowAnswer& answer, std::string_view runbook) {
  if (answer.open) return "";
  return answer.opens_at == TimePoint{}
             ? fmt::format("no change window of {} is open", runbook)
             : fmt::format("no change window of {} is open; {} opens at {}", runbook, answer.name,
                           FormatTime(answer.opens_at));
}

}  // namespace muster
