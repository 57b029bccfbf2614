// What a host says of itself in tables: df, free, numactl --hardware, chronyc sources.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/section.h"

namespace muster::diagnose {

namespace {

// ---- df ----

// The container runtimes' own size of /dev/shm; PyTorch's data loaders and NCCL need more.
// Source: docker run(1), --shm-size.
constexpr std::string_view kDefaultShm[] = {"64M", "65536", "64.0M"};
constexpr int64_t kNearlyFullPercent = 97;

// An image that is read only is always full.
bool AlwaysFull(std::string_view device, std::string_view path) {
  return StartsWith(device, "/dev/loop") || StartsWith(device, "/dev/sr") || device == "squashfs" ||
         device == "efivarfs" || StartsWith(path, "/snap/") || StartsWith(path, "/sys/");
}

struct Mounted {
  std::string_view device, size, available, path;
  int64_t percent = 0;
};

// "/dev/sda2  879G  879G  0 100% /", also with the device on a line before it, or a type behind it.
std::optional<Mounted> ReadMounted(std::string_view line, std::string_view device_before) {
  auto words = SplitBlank(line);
  if (!device_before.empty()) words.insert(words.begin(), device_before);
  size_t used = 0;
  while (used < words.size() && words[used].back() != '%') ++used;
  if (used < 4 || used + 1 >= words.size()) return std::nullopt;
  const auto percent = ParseInt(words[used].substr(0, words[used].size() - 1));
  if (!percent.ok() || words[used + 1].front() != '/') return std::nullopt;
  return Mounted{words[0], words[used - 3], words[used - 1], words[used + 1], *percent};
}

void ReadDf(const Section& s, FactStore& facts) {
  const bool inodes = Contains(Lines(s.text).front(), "Inodes");
  std::string_view before;
  for (const std::string_view line : Lines(s.text)) {
    const auto words = SplitBlank(line);
    const auto row = ReadMounted(line, Indented(line) ? before : "");
    before = words.size() == 1 ? words[0] : "";
    if (!row || AlwaysFull(row->device, row->path)) continue;
    const bool shm = row->path == "/dev/shm";
    const bool full = row->percent >= 100 || (!inodes && row->available == "0" && row->size != "0");
    const bool small = shm && std::find(std::begin(kDefaultShm), std::end(kDefaultShm),
                                        row->size) != std::end(kDefaultShm);
    std::string_view id;
    if (full)
      id = shm ? "df.shm_full" : "df.full";
    else if (small)
      id = "df.shm_small";
    else if (row->percent >= kNearlyFullPercent)
      id = "df.nearly_full";
    if (id.empty()) continue;
    facts.Add(s.Make(std::string(id),
                     {{"path", std::string(row->path)},
                      {"value", std::to_string(row->percent)},
                      {"of", inodes ? "inodes" : "bytes"},
                      {"size", std::string(row->size)}},
                     s.Where(line), line));
  }
}

bool InDf(std::string_view line) {
  return Contains(line, "% /") || (SplitBlank(line).size() == 1 && !line.ends_with('#')) ||
         (Indented(line) && Contains(line, "%"));
}

// ---- free ----

// Bytes of "1008Gi", "3.1G", "515612" (of the unit that the whole table is in).
std::optional<double> Amount(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc()) return std::nullopt;
  static constexpr std::string_view kUnits = "KMGTP";
  if (end == word.data() + word.size() || *end == 'B') return value;
  const size_t unit = kUnits.find(*end);
  if (unit == std::string_view::npos) return std::nullopt;
  for (size_t i = 0; i <= unit; ++i) value *= 1024;
  return value;
}

// Below that share of available memory a host is about to kill processes.
constexpr double kLeastAvailable = 0.01;

void ReadFree(const Section& s, FactStore& facts) {
  for (const std::string_view line : Lines(s.text)) {
    const auto words = SplitBlank(line);
    if (words.size() != 7 || words[0] != "Mem:") continue;
    const auto total = Amount(words[1]), available = Amount(words[6]);
    if (!total || !available || *total <= 0)
      return AddDamage(s, facts, "free: its amounts cannot be read");
    if (*available < kLeastAvailable * *total)
      facts.Add(s.Make("memory.nearly_used",
                       {{"value", std::string(words[6])}, {"of", std::string(words[1])}},
                       s.Where(line), line));
    return;
  }
  AddDamage(s, facts, "free: the row of the memory is missing");
}

// ---- numactl --hardware ----

// A zone with cores and no memory: its DIMMs are missing or were switched off. Zones without cores
// are the memory of GPUs or of CXL, and may be empty.
void ReadZones(const Section& s, FactStore& facts) {
  std::string with_cores;
  for (const std::string_view line : Lines(s.text)) {
    const auto words = SplitBlank(line);
    if (words.size() < 3 || words[0] != "node") continue;
    if (words[2] == "cpus:") with_cores = words.size() > 3 ? words[1] : "";
    if (words[2] == "size:" && words.size() == 5 && words[3] == "0" && words[1] == with_cores)
      facts.Add(s.Make("numa.no_memory", {{"zone", std::string(words[1])}}, s.Where(line), line));
  }
}

// ---- chronyc sources ----

// "^? ntp1   0  10   0   -   +0ns[ +0ns] +/- 0ns": the second character says what it thinks of it.
// Source: chronyc(1), sources.
bool IsSource(std::string_view line) {
  return line.size() > 3 && std::string_view("^=#").find(line[0]) != std::string_view::npos &&
         std::string_view("*+-?x~").find(line[1]) != std::string_view::npos && line[2] == ' ';
}

void ReadTimeSources(const Section& s, FactStore& facts) {
  size_t sources = 0, unreached = 0;
  for (const std::string_view line : Lines(s.text)) {
    if (!IsSource(line)) continue;
    if (line[1] == '*') return;
    const auto words = SplitBlank(line);
    ++sources;
    if (words.size() > 4 && words[4] == "0") ++unreached;
  }
  const std::string what = sources == 0 ? "it has no source of time at all"
                           : unreached == sources
                               ? fmt::format("none of its {} sources answers", sources)
                               : fmt::format("none of its {} sources is selected", sources);
  facts.Add(s.Make("clock.no_source", {{"what", what}}, s.At(0), "chronyc sources: " + what));
}

constexpr std::array kHost = {
    SectionKind{"df", "filesystem",
                [](std::string_view l) {
                  return StartsWith(l, "Filesystem ") && Contains(l, "Mounted on");
                },
                InDf, ReadDf, true, false},
    SectionKind{
        "free", "buff/cache",
        [](std::string_view l) { return Contains(l, "total ") && Contains(l, "available"); },
        [](std::string_view l) {
          return StartsWith(l, "Mem:") || StartsWith(l, "Swap:") || StartsWith(l, "Total:");
        },
        ReadFree, true, false},
    SectionKind{
        "numactl --hardware", "available: ",
        [](std::string_view l) { return StartsWith(l, "available: ") && Contains(l, " nodes ("); },
        [](std::string_view l) { return StartsWith(l, "node") || Indented(l); }, ReadZones, false,
        false},
    SectionKind{"chronyc sources", "stratum poll reach",
                [](std::string_view l) { return Contains(l, "Name/IP address"); },
                [](std::string_view l) { return IsSource(l) || StartsWith(l, "==="); },
                ReadTimeSources, true},
};

}  // namespace

std::span<const SectionKind> HostSections() { return kHost; }

}  // namespace muster::diagnose
