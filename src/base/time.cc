#include "base/time.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

namespace {

using std::chrono::days;
using std::chrono::duration_cast;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Reads exactly `width` digits at `at`, moving it on.
bool Digits(std::string_view text, size_t& at, size_t width, int& value) {
  if (at + width > text.size()) return false;
  value = 0;
  for (size_t i = 0; i < width; ++i) {
    const char c = text[at + i];
    if (c < '0' || c > '9') return false;
    value = value * 10 + (c - '0');
  }
  at += width;
  return true;
}

bool Literal(std::string_view text, size_t& at, std::string_view any_of) {
  if (at >= text.size() || any_of.find(text[at]) == std::string_view::npos) return false;
  ++at;
  return true;
}

Result<double> UnitSeconds(std::string_view unit) {
  if (unit == "ns") return 1e-9;
  if (unit == "us") return 1e-6;
  if (unit == "ms") return 1e-3;
  if (unit == "s") return 1.0;
  if (unit == "m") return 60.0;
  if (unit == "h") return 3600.0;
  if (unit == "d") return 86400.0;
  if (unit == "w") return 7 * 86400.0;
  return Fail(Code::kInvalid,
              fmt::format("unknown unit \"{}\", expected ns, us, ms, s, m, h, d or w", unit));
}

}  // namespace

std::string FormatTime(TimePoint t) {
  const auto day = floor<days>(t);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{floor<milliseconds>(t - day)};
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  if (clock.subseconds().count() != 0) text += fmt::format(".{:03}", clock.subseconds().count());
  return text + "Z";
}

Result<TimePoint> ParseTime(std::string_view text) {
  const auto bad = [&] {
    return Fail(Code::kInvalid,
                fmt::format("\"{}\" is not an RFC 3339 time such as 2026-11-20T03:12:00Z", text));
  };
  size_t at = 0;
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!Digits(text, at, 4, year) || !Literal(text, at, "-") || !Digits(text, at, 2, month) ||
      !Literal(text, at, "-") || !Digits(text, at, 2, day) || !Literal(text, at, "Tt ") ||
      !Digits(text, at, 2, hour) || !Literal(text, at, ":") || !Digits(text, at, 2, minute) ||
      !Literal(text, at, ":") || !Digits(text, at, 2, second)) {
    return bad();
  }
  int64_t nanos = 0;
  if (Literal(text, at, ".,")) {
    int64_t scale = 100'000'000;
    const size_t first = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      nanos += (text[at++] - '0') * scale;
      scale /= 10;
    }
    if (at == first) return bad();
  }
  minutes offset{0};
  if (!Literal(text, at, "Zz")) {
    if (at >= text.size() || (text[at] != '+' && text[at] != '-')) return bad();
    const int sign = text[at++] == '+' ? 1 : -1;
    int oh = 0, om = 0;
    if (!Digits(text, at, 2, oh)) return bad();
    Literal(text, at, ":");
    if (!Digits(text, at, 2, om)) return bad();
    offset = minutes{sign * (oh * 60 + om)};
  }
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  // Nanoseconds in 64 bits reach from late 1677 to early 2262.
  if (year < 1678 || year > 2261) return bad();
  if (at != text.size() || !date.ok() || hour > 23 || minute > 59 || second > 60) return bad();
  return TimePoint{std::chrono::sys_days{date}} + hours{hour} + minutes{minute} + seconds{second} -
         offset + Duration{nanos};
}

Result<Duration> ParseDuration(std::string_view text) {
  const std::string_view all = Trim(text);
  std::string_view rest = all;
  double total = 0;
  if (rest.empty()) return Fail(Code::kInvalid, "empty duration, expected for example 30s or 5m");
  while (!rest.empty()) {
    size_t digits = rest.find_first_not_of("0123456789.");
    if (digits == 0 || digits == std::string_view::npos) {
      return Fail(
          Code::kInvalid,
          fmt::format(
              "\"{}\" is not a duration, expected a number with a unit such as 30s or 2h30m", all));
    }
    TRY(const double number, ParseDouble(rest.substr(0, digits)));
    rest.remove_prefix(digits);
    const size_t unit_end = rest.find_first_of("0123456789.");
    TRY(const double unit, UnitSeconds(rest.substr(0, unit_end)));
    total += number * unit;
    rest = unit_end == std::string_view::npos ? std::string_view{} : rest.substr(unit_end);
  }
  if (total > 9e9)
    return Fail(Code::kInvalid, fmt::format("\"{}\" is longer than any span kept here", all));
  return FromSeconds(total);
}

std::string FormatDuration(Duration d) {
  if (d < Duration::zero()) return "-" + FormatDuration(-d);
  if (d == Duration::zero()) return "0s";
  const double s = Seconds(d);
  if (s < 1e-3) return fmt::format("{}us", static_cast<int64_t>(std::llround(s * 1e6)));
  if (s < 1) return fmt::format("{}ms", static_cast<int64_t>(std::llround(s * 1e3)));
  if (s < 60) return fmt::format("{:.3g}s", s);
  const auto whole = static_cast<int64_t>(std::llround(s));
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
  return fmt::format("{}d{}h", whole / 86400, whole % 86400 / 3600);
}

}  // namespace muster
