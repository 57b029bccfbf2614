#include "evidence/criterion.h"

#include <array>

#include "evidence/names.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 7> kMeasures = {"last", "delta",  "rate_per_hour", "max",
                                                       "min",  "median", "all_equal"};
constexpr std::array<std::string_view, 11> kCompares = {
    "equal", "not_equal", "at_least", "at_most", "greater", "less",
    "in",    "not_in",    "contains", "true",    "false"};

}  // namespace

std::string_view ToString(Measure measure) { return kMeasures.at(static_cast<size_t>(measure)); }
Result<Measure> ParseMeasure(std::string_view text) {
  return ParseEnumName<Measure>(kMeasures, "measure", text);
}

std::string_view ToString(Compare compare) { return kCompares.at(static_cast<size_t>(compare)); }
Result<Compare> ParseCompare(std::string_view text) {
  return ParseEnumName<Compare>(kCompares, "comparison", text);
}

}  // namespace muster
