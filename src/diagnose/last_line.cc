#include "diagnose/last_line.h"

#include <algorithm>
#include <iterator>

#include "base/strings.h"

namespace muster::diagnose {

namespace {

constexpr std::string_view kRecordEnds[] = {
    "- Init COMPLETE",         "Link layer: InfiniBand",        "Link layer: Ethernet",
    "Connected all rings",     "Application startup complete.", "Out of bounds values : 0 OK",
    "ready to roll!",          "link_layer:\t\tInfiniBand",     "link_layer:\t\tEthernet",
    "link_layer:\t InfiniBand"};

bool IsDigitChar(char c) { return c >= '0' && c <= '9'; }

size_t DigitsAtEnd(std::string_view line) {
  const auto end = std::find_if_not(line.rbegin(), line.rend(), IsDigitChar);
  return static_cast<size_t>(end - line.rbegin());
}

}  // namespace

bool SameButDigits(std::string_view a, std::string_view b) {
  size_t i = 0, k = 0;
  const auto skip = [](std::string_view text, size_t& at) {
    const size_t begin = at;
    while (at < text.size() && IsDigitChar(text[at])) ++at;
    return at > begin;
  };
  while (i < a.size() || k < b.size()) {
    if (skip(a, i) != skip(b, k)) return false;
    if (i == a.size() || k == b.size()) break;
    if (a[i++] != b[k++]) return false;
  }
  return i == a.size() && k == b.size();
}

bool IsWholeLine(std::string_view line, std::string_view before) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::string_view text = Trim(line);
  if (text.empty()) return false;
  if (std::any_of(std::begin(kRecordEnds), std::end(kRecordEnds),
                  [&](std::string_view end) { return text.ends_with(end); }))
    return true;
  size_t alike = 0;
  for (std::string_view other : Lines(before)) {
    if (other.ends_with('\r')) other.remove_suffix(1);
    if (other == line && text.size() > 8 && (text.back() == '+' || text.back() == '|')) return true;
    if (SameButDigits(other, line) && DigitsAtEnd(other) == DigitsAtEnd(line)) ++alike;
  }
  return alike >= 2;
}

}  // namespace muster::diagnose
