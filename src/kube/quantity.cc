#include "kube/quantity.h"

#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::kube {

namespace {

__extension__ using Wide = __int128;
constexpr Wide kLargest = std::numeric_limits<int64_t>::max();
// Beyond this every further factor saturates anyway.
constexpr Wide kCeiling = kLargest * 1000000000;

struct Scale {
  int power = 0;  // of ten, or of 1024
  bool binary = false;
};

std::optional<Scale> ScaleOf(std::string_view suffix) {
  static const std::map<std::string_view, Scale> kScales = {
      {"n", {-9, false}}, {"u", {-6, false}}, {"m", {-3, false}}, {"", {0, false}},
      {"k", {3, false}},  {"M", {6, false}},  {"G", {9, false}},  {"T", {12, false}},
      {"P", {15, false}}, {"E", {18, false}}, {"Ki", {1, true}},  {"Mi", {2, true}},
      {"Gi", {3, true}},  {"Ti", {4, true}},  {"Pi", {5, true}},  {"Ei", {6, true}}};
  if (const auto found = kScales.find(suffix); found != kScales.end()) return found->second;
  if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return std::nullopt;
  const auto exponent = ParseInt(suffix.substr(1));
  if (!exponent.ok() || *exponent < -30 || *exponent > 30) return std::nullopt;
  return Scale{static_cast<int>(*exponent), false};
}

// mantissa * 10^(power), rounded away from zero, never beyond kCeiling.
Wide Scaled(Wide mantissa, int power) {
  for (; power > 0 && mantissa < kCeiling; --power) mantissa *= 10;
  bool rest = false;
  for (; power < 0 && mantissa != 0; ++power) {
    rest = rest || mantissa % 10 != 0;
    mantissa /= 10;
  }
  if (power < 0) rest = false;  // it was zero
  return mantissa + (rest ? 1 : 0);
}

}  // namespace

Result<int64_t> ParseMilli(std::string_view text) {
  const auto bad = [&] {
    return Fail(Code::kParse, fmt::format("\"{}\" is no quantity; expected a number such as 2, "
                                          "500m, 1.5Gi",
                                          Shorten(Printable(text), 60)));
  };
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  Wide mantissa = 0;
  int fraction = 0, digits = 0;
  bool point = false;
  size_t at = 0;
  for (; at < rest.size(); ++at) {
    if (rest[at] == '.' && !point) {
      point = true;
      continue;
    }
    if (rest[at] < '0' || rest[at] > '9') break;
    if (mantissa > kCeiling) return bad();  // more digits than any amount has
    mantissa = mantissa * 10 + (rest[at] - '0');
    ++digits;
    if (point) ++fraction;
  }
  const auto scale = ScaleOf(rest.substr(at));
  if (digits == 0 || !scale) return bad();
  Wide value = mantissa;
  if (scale->binary) {
    for (int i = 0; i < scale->power && value < kCeiling; ++i) value *= 1024;
  }
  const bool nothing = mantissa == 0;
  value = Scaled(value, (scale->binary ? 0 : scale->power) - fraction + 3);
  if (!nothing && value == 0) value = 1;
  if (value > kLargest) value = kLargest;
  return static_cast<int64_t>(negative ? -value : value);
}

std::string FormatMilli(int64_t milli) {
  return milli % 1000 == 0 ? std::to_string(milli / 1000) : fmt::format("{}m", milli);
}

}  // namespace muster::kube
