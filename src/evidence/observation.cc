#include "evidence/observation.h"

#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/strings.h"
#include "evidence/names.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 3> kOrigins = {"live", "replayed", "rehearsed"};
constexpr std::array<std::string_view, 7> kReasons = {
    "not observed",  "stale",      "unparsable", "too few samples",
    "not permitted", "tool fault", "unreachable"};

template <typename Enum, size_t n>
Result<Enum> ParseWord(const std::array<std::string_view, n>& names, std::string_view what,
                       std::string_view text) {
  for (size_t i = 0; i < n; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  return Fail(Code::kInvalid, fmt::format("unknown {} \"{}\", expected one of {}", what,
                                          Printable(text), fmt::join(names, ", ")));
}

}  // namespace

std::string_view ToString(Origin origin) { return kOrigins.at(static_cast<size_t>(origin)); }
Result<Origin> ParseOrigin(std::string_view text) {
  return ParseEnumName<Origin>(kOrigins, "origin", text);
}

std::string_view ToString(UnknownReason reason) { return kReasons.at(static_cast<size_t>(reason)); }
Result<UnknownReason> ParseUnknownReason(std::string_view text) {
  return ParseEnumName<UnknownReason>(kReasons, "reason", text);
}

std::string FormatValue(const Value& value, Unit unit) {
  struct Formatter {
    Unit unit;
    std::string operator()(bool b) const { return b ? "yes" : "no"; }
    std::string operator()(int64_t i) const {
      if (unit == Unit::kNone || unit == Unit::kCount) return fmt::format("{}", i);
      return FormatQuantity({static_cast<double>(i), unit});
    }
    std::string operator()(double d) const {
      // A span beyond what Duration holds (or no number at all) is printed as it is.
      if (!std::isfinite(d) || (unit == Unit::kSeconds && std::abs(d) > 9e9)) {
        return fmt::format("{:g} {}", d, muster::ToString(unit));
      }
      return FormatQuantity({d, unit});
    }
    std::string operator()(const std::string& text) const { return Shorten(Printable(text), 80); }
  };
  return std::visit(Formatter{unit}, value);
}

}  // namespace muster
