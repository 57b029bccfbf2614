#include "evidence/criterion.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/strings.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 7> kMeasures = {"last", "delta",  "rate_per_hour", "max",
                                                       "min",  "median", "all_equal"};
constexpr std::array<std::string_view, 11> kCompares = {
    "equal", "not_equal", "at_least", "at_most", "greater", "less",
    "in",    "not_in",    "contains", "true",    "false"};

template <typename Enum, size_t n>
Result<Enum> ParseName(const std::array<std::string_view, n>& names, std::string_view what,
                       std::string_view text) {
  for (size_t i = 0; i < n; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  return Fail(Code::kInvalid, fmt::format("unknown {} \"{}\", expected one of {}", what,
                                          Printable(text), fmt::join(names, ", ")));
}

}  // namespace

std::string_view ToString(Measure measure) { return kMeasures.at(static_cast<size_t>(measure)); }
Result<Measure> ParseMeasure(std::string_view text) {
  return ParseName<Measure>(kMeasures, "measure", text);
}

std::string_view ToString(Compare compare) { return kCompares.at(static_cast<size_t>(compare)); }
Result<Compare> ParseCompare(std::string_view text) {
  return ParseName<Compare>(kCompares, "comparison", text);
}

}  // namespace muster
