// nccl-tests: a run with its heading, which the probe's parser reads, and rows alone, as people
// paste them.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/section.h"
#include "probes/nccl_tests/collective_run.h"

namespace muster::diagnose {

namespace {

void ReadCollective(const Section& s, FactStore& facts) {
  const auto run = nccl_tests::ParseCollective(s.text);
  for (const auto& row : run.rows) {
    for (const auto& half : {row.out_of_place, row.in_place})
      if (half && half->wrong && *half->wrong > 0)
        facts.Add(s.Make(
            "collective.wrong",
            {{"bytes", std::to_string(row.bytes)}, {"value", fmt::format("{}", *half->wrong)}},
            s.Where(Trim(row.line)), row.line));
  }
  if (run.out_of_bounds && !run.out_of_bounds_ok && *run.out_of_bounds > 0)
    facts.Add(s.Make("collective.wrong", {{"value", std::to_string(*run.out_of_bounds)}},
                     s.Where("Out of bounds"),
                     fmt::format("Out of bounds values : {} FAILED", *run.out_of_bounds)));
  for (const std::string& failure : run.failures)
    facts.Add(s.Make("collective.failure", {{"what", failure}}, s.Where(failure), failure));
  if (!run.damage.empty()) AddDamage(s, facts, "nccl-tests: " + run.damage.front());
  if (run.ranks.size() > 1) {
    bool all_zero = true;
    for (const auto& rank : run.ranks) all_zero = all_zero && rank.rank == 0;
    if (all_zero)
      facts.Add(s.Make("collective.copies_of_rank0", {{"ranks", std::to_string(run.ranks.size())}},
                       s.Where("Rank  0"), "every process says that it is rank 0"));
  }
  // The largest row against the best: a plateau that falls off at the top.
  double best = 0, last = 0;
  for (const auto& row : run.rows) {
    last = row.Busbw();
    best = std::max(best, last);
  }
  if (run.rows.size() >= 4 && best > 0 && run.complete()) {
    const std::string figure = fmt::format("{:.1f}", last);
    facts.Add(s.Make("collective.busbw",
                     {{"value", figure},
                      {"ranks", std::to_string(run.ranks.size())},
                      {"best", fmt::format("{:.1f}", best)}},
                     s.Where(Trim(run.rows.back().line)), run.rows.back().line));
    if (last < 0.5 * best && run.rows.back().bytes >= (1u << 28))
      facts.Add(s.Make("collective.falls_off",
                       {{"value", figure}, {"best", fmt::format("{:.1f}", best)}},
                       s.Where(Trim(run.rows.back().line)), run.rows.back().line));
  }
}

bool CollectiveLine(std::string_view line) {
  if (line.empty() || line[0] == '#' || Contains(line, " NCCL ")) return true;
  const std::string_view text = Trim(line);
  return text.empty() || (text[0] >= '0' && text[0] <= '9') ||
         text.starts_with("rccl-tests: Ver") || text.starts_with("NCCL version ");
}

bool IsElementType(std::string_view word) {
  static constexpr std::string_view kTypes[] = {
      "float",  "half",  "double", "bfloat16", "int8",    "uint8",  "int32",
      "uint32", "int64", "uint64", "fp8e4m3",  "fp8e5m2", "f8e4m3", "f8e5m2"};
  return std::find(std::begin(kTypes), std::end(kTypes), word) != std::end(kTypes);
}

struct CollectivePiece {
  double bytes = 0, busbw = 0;
  bool wrong = false, adds_up = true;
};

// bytes, elements, type, [operation, root,] then time, algbw, busbw and wrong, once or twice.
std::optional<CollectivePiece> ReadPiece(std::string_view line) {
  const auto words = SplitBlank(line);
  if (words.size() < 7 || words.size() > 13 || !IsElementType(words[2])) return std::nullopt;
  const auto bytes = ParseInt(words[0]), elements = ParseInt(words[1]);
  if (!bytes.ok() || !elements.ok() || *bytes < 0 || *elements < 0) return std::nullopt;
  // A time of 10 ms and more has no decimals: how many words stand before it tells the count alone.
  const size_t rest = words.size() - 3, halves = rest >= 8 ? 2 : 1;
  if (rest < 4 || rest - 4 * halves > 2) return std::nullopt;
  size_t at = words.size() - 4 * halves;
  CollectivePiece row;
  row.bytes = static_cast<double>(*bytes);
  for (size_t half = 0; half < halves; ++half, at += 4) {
    const auto time = ParseDouble(words[at]), algbw = ParseDouble(words[at + 1]),
               busbw = ParseDouble(words[at + 2]);
    if (!time.ok() || !algbw.ok() || !busbw.ok() || *time <= 0) return std::nullopt;
    // Below one it is the largest deviation, which old versions print: rounding makes it.
    row.wrong = row.wrong || ParseDouble(words[at + 3]).value_or(0) >= 1;
    row.busbw = std::max(row.busbw, *busbw);
    const double expected = row.bytes / *time / 1e3;
    if (std::abs(expected - *algbw) > 0.02 * expected + 0.02) row.adds_up = false;
  }
  return row;
}

void ReadRows(const Section& s, FactStore& facts) {
  bool closed = false, adds_up = true;
  for (const std::string_view line : Split(s.text, '\n')) {
    closed = closed || Contains(line, "Avg bus bandwidth") || Contains(line, "values : 0 OK");
    if (Contains(line, "Out of bounds values") && Contains(line, "FAILED"))
      facts.Add(s.Make("collective.wrong", {{"value", "some"}}, s.Where(Trim(line)), line));
    const auto row = ReadPiece(line);
    if (!row) continue;
    adds_up = adds_up && row->adds_up;
    if (row->wrong)
      facts.Add(s.Make("collective.wrong", {{"bytes", fmt::format("{:.0f}", row->bytes)}},
                       s.Where(Trim(line)), line));
  }
  if (!adds_up) AddDamage(s, facts, "nccl-tests: a row's bytes, time and bandwidth do not fit");
  if (!closed || s.cut)
    AddDamage(s, facts, "rows of nccl-tests without the lines that end a run: it may have stopped");
}

bool RowLine(std::string_view line) {
  return line.empty() || line.starts_with("#") || ReadPiece(line).has_value();
}
bool BeginsRow(std::string_view line) { return ReadPiece(line).has_value(); }
bool BeginsEnd(std::string_view line) {
  return line.starts_with("# Out of bounds values") || line.starts_with("# Avg bus bandwidth");
}

bool BeginsTable(std::string_view line) {
  return line.starts_with("#") && Contains(line, "size") && Contains(line, "algbw");
}

bool Ended(std::string_view text) { return Contains(text, "Avg bus bandwidth"); }

constexpr SectionKind Rows(std::string_view anchor, bool (*begins)(std::string_view)) {
  return {"nccl-tests", anchor, begins, RowLine, ReadRows, false, true, Ended, true};
}

constexpr std::array kCollective = {
    SectionKind{"nccl-tests", "# nthread", [](std::string_view l) { return l.starts_with("#"); },
                CollectiveLine, ReadCollective, false, true, Ended},
    Rows("  float  ", BeginsRow),
    Rows("   half  ", BeginsRow),
    Rows("bfloat16 ", BeginsRow),
    Rows(" double  ", BeginsRow),
    Rows("  int32  ", BeginsRow),
    Rows("  uint8  ", BeginsRow),
    Rows("   int8  ", BeginsRow),
    Rows(" count      type ", BeginsTable),
    Rows("# out of bounds", BeginsEnd),
    Rows("# avg bus band", BeginsEnd),
};

}  // namespace

std::span<const SectionKind> CollectiveSections() { return kCollective; }

}  // namespace muster::diagnose
