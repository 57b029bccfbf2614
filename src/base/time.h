// Time as types. TimePoint is wall-clock time in UTC; Duration is a span; both have nanosecond
// resolution and are handed in by a Clock port, never read here. Text forms are RFC 3339
// ("2026-11-20T03:12:00Z") and "90s", "5m", "2h30m", "250ms", "7d".
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;

inline double Seconds(Duration d) { return std::chrono::duration<double>(d).count(); }
inline Duration FromSeconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

// RFC 3339 in UTC, with fractional seconds (ms) only when they are not zero.
std::string FormatTime(TimePoint t);
// Accepts "Z" or a numeric offset, and fractional seconds.
Result<TimePoint> ParseTime(std::string_view text);

// "1.5s", "250ms", "2h30m", "7d". A bare number is refused: a span without a unit is a guess.
Result<Duration> ParseDuration(std::string_view text);
// The shortest exact-enough form for a person: "340ms", "12.4s", "3m20s", "2h05m", "3d4h".
std::string FormatDuration(Duration d);

}  // namespace muster
