#include "probes/nvidia_smi/field.h"

#include <array>

#include "base/strings.h"

namespace muster::nvidia_smi {
namespace {

std::string_view Bare(std::string_view text) {
  text = Trim(text);
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']')
    text = text.substr(1, text.size() - 2);
  return text;
}

}  // namespace

bool IsSentinel(std::string_view text) {
  static constexpr std::array<std::string_view, 8> kPhrases = {
      "N/A",           "Not Supported",
      "Unknown Error", "ERR!",
      "GPU is lost",   "Insufficient Permissions",
      "Not Available", "Requested functionality has been deprecated"};
  text = Bare(text);
  if (text.empty()) return true;
  for (auto phrase : kPhrases)
    if (EqualsIgnoreCase(text, phrase)) return true;
  return false;
}

bool SaysLost(std::string_view text) {
  text = Bare(text);
  return text == "GPU is lost" || text == "Unknown Error" || text == "ERR!";
}

std::optional<double> NumberWithUnit(std::string_view text, std::string_view unit) {
  text = Trim(text);
  if (!unit.empty()) {
    if (!EndsWith(text, unit)) return std::nullopt;
    text.remove_suffix(unit.size());
    if (text.empty() || text.back() != ' ') return std::nullopt;
    text = Trim(text);
  }
  auto number = ParseDouble(text);
  return number.ok() ? std::optional(*number) : std::nullopt;
}

std::optional<int64_t> Count(std::string_view text, std::string_view suffix) {
  text = Trim(text);
  if (!EndsWith(text, suffix)) return std::nullopt;
  text.remove_suffix(suffix.size());
  // Digits alone: a sign or a blank here means that something else was printed.
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  auto number = ParseInt(text);
  return number.ok() ? std::optional(*number) : std::nullopt;
}

std::optional<bool> Flag(std::string_view text) {
  text = Trim(text);
  if (text == "Enabled" || text == "Yes" || text == "Active") return true;
  if (text == "Disabled" || text == "No" || text == "Not Active") return false;
  return std::nullopt;
}

std::optional<uint64_t> PciKey(std::string_view text) {
  text = Trim(text);
  uint64_t function = 0;
  if (auto dot = text.rfind('.'); dot != std::string_view::npos) {
    auto read = ParseHex(text.substr(dot + 1));
    if (!read.ok() || *read > 7 || text.size() - dot != 2) return std::nullopt;
    function = *read;
    text = text.substr(0, dot);
  }
  auto parts = Split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  uint64_t numbers[3] = {0, 0, 0};
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t slot = 3 - parts.size() + i;
    const size_t most = slot == 0 ? 8 : 2;
    if (parts[i].empty() || parts[i].size() > most ||
        parts[i].find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
      return std::nullopt;
    auto read = ParseHex(parts[i]);
    if (!read.ok()) return std::nullopt;
    numbers[slot] = *read;
  }
  return numbers[0] << 24 | numbers[1] << 16 | numbers[2] << 8 | function;
}

}  // namespace muster::nvidia_smi
