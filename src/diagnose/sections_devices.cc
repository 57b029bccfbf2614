// What a host's tools say of its devices in tables: ethtool's settings of an interface, rocm-smi's
// table of GPUs, and lfs df for the targets of a Lustre file system.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/section.h"

namespace muster::diagnose {

namespace {

// The number that a word begins with.
std::optional<double> Leading(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end == word.data()) return std::nullopt;
  return value;
}

// ---- ethtool ----

std::string_view ValueOf(std::string_view text, std::string_view key) {
  for (const std::string_view line : Lines(text))
    if (const auto rest = After(Trim(line), key)) return Trim(*rest);
  return "";
}

// The fastest of the modes that the interface supports, in Mbit/s: "400000baseCR8/Full".
int64_t FastestMode(std::string_view text) {
  int64_t most = 0;
  bool supported = false;
  for (const std::string_view line : Lines(text)) {
    const std::string_view trimmed = Trim(line);
    if (Contains(trimmed, ":")) supported = StartsWith(trimmed, "Supported link modes:");
    if (!supported) continue;
    for (const std::string_view word : SplitBlank(trimmed))
      if (Contains(word, "base"))
        if (const auto mode = Leading(word)) most = std::max(most, static_cast<int64_t>(*mode));
  }
  return most;
}

void ReadInterface(const Section& s, FactStore& facts) {
  const auto first = SplitBlank(Lines(s.text).front());
  std::string device(first.back().substr(0, first.back().find(':')));
  const std::string_view speed = ValueOf(s.text, "Speed:");
  const std::string_view duplex = ValueOf(s.text, "Duplex:");
  const auto mbit = Leading(speed);
  const std::string_view link = ValueOf(s.text, "Link detected:");
  if (link.empty()) return AddDamage(s, facts, "ethtool: no line says whether there is a link");
  if (!StartsWith(link, "yes"))
    facts.Add(s.Make("ethtool.no_link", {{"device", device}}, s.Where("Link detected:"),
                     fmt::format("Link detected: {}", link)));
  if (duplex == "Half")
    facts.Add(s.Make("ethtool.half_duplex", {{"device", device}}, s.Where("Duplex:"),
                     fmt::format("{}: Duplex: Half", device)));
  const int64_t most = FastestMode(s.text);
  if (mbit && most > 0 && *mbit < static_cast<double>(most))
    facts.Add(s.Make("ethtool.slow",
                     {{"device", device},
                      {"value", fmt::format("{:.0f}", *mbit)},
                      {"max", std::to_string(most)}},
                     s.Where("Speed:"), fmt::format("{}: Speed: {}", device, speed)));
}

// ---- rocm-smi ----

// "0  2  0x74a1, 28851  106.0°C  749.0W ...", and of older releases "0  45.0c  38.0W ...".
bool IsRocmRow(std::string_view line) {
  const auto words = SplitBlank(line);
  return words.size() >= 6 && ParseInt(words[0]).ok() && Contains(line, "%");
}

bool EndsInDegrees(std::string_view word) {
  return word.ends_with("°C") || word.ends_with('c') || word.ends_with('C');
}

void ReadRocmTable(const Section& s, FactStore& facts) {
  size_t rows = 0;
  bool in_order = true;
  for (const std::string_view line : Lines(s.text)) {
    if (!IsRocmRow(line)) continue;
    const auto words = SplitBlank(line);
    in_order = in_order && words[0] == std::to_string(rows++);
    const std::string gpu(words[0]);
    for (const std::string_view word : words) {
      const auto value = Leading(word);
      if (!EndsInDegrees(word) || !value) continue;
      facts.Add(s.Make("rocm.junction", {{"gpu", gpu}, {"value", fmt::format("{:.0f}", *value)}},
                       s.Where(line), line));
      break;
    }
  }
  if (rows == 0) AddDamage(s, facts, "the table of rocm-smi lists no GPU");
  if (!in_order) AddDamage(s, facts, "rows of rocm-smi's table are missing or not in order");
}

// ---- lfs df ----

// "scratch-OST0002_UUID  98.1T  97.9T  10.1G  100% /scratch[OST:2]"
void ReadTargets(const Section& s, FactStore& facts) {
  for (const std::string_view line : Lines(s.text)) {
    const auto words = SplitBlank(line);
    if (words.size() < 6 || !words[0].ends_with("_UUID") || words[4] != "100%") continue;
    facts.Add(s.Make("lustre.target_full",
                     {{"name", std::string(words[0].substr(0, words[0].size() - 5))}},
                     s.Where(line), line));
  }
}

constexpr std::array kDevices = {
    SectionKind{
        "ethtool", "settings for ",
        [](std::string_view l) { return StartsWith(l, "Settings for ") && l.ends_with(':'); },
        Indented, ReadInterface},
    SectionKind{
        "rocm-smi", "device  node  ids", [](std::string_view) { return true; },
        [](std::string_view l) { return Indented(l) || StartsWith(l, "=") || IsRocmRow(l); },
        ReadRocmTable, true},
    SectionKind{
        "rocm-smi", "perf  pwrcap  vram%", [](std::string_view) { return true; },
        [](std::string_view l) { return Indented(l) || StartsWith(l, "=") || IsRocmRow(l); },
        ReadRocmTable, true},
    SectionKind{"lfs df", "available use% mounted on",
                [](std::string_view l) { return StartsWith(l, "UUID "); },
                [](std::string_view l) {
                  return Contains(l, "_UUID ") || Contains(l, " : ") ||
                         StartsWith(l, "filesystem_summary");
                },
                ReadTargets, true, false},
};

}  // namespace

std::span<const SectionKind> DeviceSections() { return kDevices; }

}  // namespace muster::diagnose
