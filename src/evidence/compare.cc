#include "evidence/compare.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/strings.h"

namespace muster {

std::optional<double> NumberOf(const Value& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&value); d && std::isfinite(*d)) return *d;
  return std::nullopt;
}

bool Near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

namespace {

std::optional<bool> Same(const Value& a, const Value& b) {
  const auto x = NumberOf(a), y = NumberOf(b);
  if (x && y) {
    if (std::holds_alternative<int64_t>(a) && std::holds_alternative<int64_t>(b)) return a == b;
    return Near(*x, *y);
  }
  if (a.index() != b.index() || x || y) return std::nullopt;
  if (std::holds_alternative<double>(a)) return std::nullopt;  // not finite
  return a == b;
}

std::optional<bool> AnyOf(const Value& value, std::span<const Value> wanted) {
  bool any = false;
  for (const Value& one : wanted) {
    const auto same = Same(value, one);
    if (!same) return std::nullopt;
    any = any || *same;
  }
  return any;
}

}  // namespace

std::optional<bool> Meets(Compare compare, const Value& value, std::span<const Value> wanted) {
  if (compare == Compare::kTrue || compare == Compare::kFalse) {
    const auto* flag = std::get_if<bool>(&value);
    if (!flag) return std::nullopt;
    return *flag == (compare == Compare::kTrue);
  }
  if (wanted.empty()) return std::nullopt;
  switch (compare) {
    case Compare::kEqual:
      return Same(value, wanted[0]);
    case Compare::kNotEqual: {
      const auto same = Same(value, wanted[0]);
      if (!same) return std::nullopt;
      return !*same;
    }
    case Compare::kIn:
      return AnyOf(value, wanted);
    case Compare::kNotIn: {
      const auto any = AnyOf(value, wanted);
      if (!any) return std::nullopt;
      return !*any;
    }
    case Compare::kContains: {
      const auto* text = std::get_if<std::string>(&value);
      const auto* part = std::get_if<std::string>(&wanted[0]);
      if (!text || !part) return std::nullopt;
      return Contains(*text, *part);
    }
    default:
      break;
  }
  const auto have = NumberOf(value), limit = NumberOf(wanted[0]);
  if (!have || !limit) return std::nullopt;
  switch (compare) {
    case Compare::kAtLeast:
      return *have >= *limit || Near(*have, *limit);
    case Compare::kAtMost:
      return *have <= *limit || Near(*have, *limit);
    case Compare::kGreater:
      return *have > *limit && !Near(*have, *limit);
    case Compare::kLess:
      return *have < *limit && !Near(*have, *limit);
    default:
      return std::nullopt;
  }
}

std::string WantedText(const Criterion& c, std::span<const Value> values) {
  std::vector<std::string> texts;
  for (const Value& value : values) texts.push_back(FormatValue(value, c.pass.unit));
  const std::string all = fmt::format("{}", fmt::join(texts, " or "));
  switch (c.compare) {
    case Compare::kEqual:
      return "= " + all;
    case Compare::kNotEqual:
      return "not " + all;
    case Compare::kAtLeast:
      return ">= " + all;
    case Compare::kAtMost:
      return "<= " + all;
    case Compare::kGreater:
      return "> " + all;
    case Compare::kLess:
      return "< " + all;
    case Compare::kIn:
      return all;
    case Compare::kNotIn:
      return "none of " + fmt::format("{}", fmt::join(texts, ", "));
    case Compare::kContains:
      return "contains " + all;
    case Compare::kTrue:
      return "yes";
    case Compare::kFalse:
      return "no";
  }
  return all;
}

}  // namespace muster
