// dcgmi diag as text; its JSON is a document.
#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/section.h"

namespace muster::diagnose {

namespace {

// "GPU3: Fail" says of GPU 3 what "Fail" says of the test.
std::string_view Verdict(std::string_view value) {
  const size_t colon = value.rfind(": ");
  if (colon == std::string_view::npos) return value;
  const std::string_view last = Trim(value.substr(colon + 2));
  return last == "Pass" || last == "Fail" || last == "Skip" ? last : value;
}

// "+ dcgmi health -g 0 -c", which a shell prints before it runs it, is no rule of a table.
bool DrawnRow(std::string_view line) {
  return StartsWith(line, "|") || StartsWith(line, "+-") || StartsWith(line, "+=");
}

// "| GPU Memory   | Fail - GPU: 0   |", from the middle of a table; "Failure" is of dcgmi health.
bool DiagRow(std::string_view line) {
  const auto cells = Split(line, '|');
  return cells.size() == 4 && Trim(cells[0]).empty() && Trim(cells[2]) != "Failure" &&
         StartsWith(Verdict(Trim(cells[2])), "Fail");
}

// Calls `take(offset, line, first cell, second cell)` for each row of a drawn table.
template <typename Take>
void EachRow(std::string_view text, Take take) {
  size_t offset = 0;
  for (const std::string_view line : Split(text, '\n')) {
    const auto cells = Split(line, '|');
    if (cells.size() >= 3) take(offset, line, Trim(cells[1]), Trim(cells[2]));
    offset += line.size() + 1;
  }
}

void ReadDiagText(const Section& s, FactStore& facts) {
  std::string test;
  int results = 0, skipped = 0;
  EachRow(s.text,
          [&](size_t at, std::string_view line, std::string_view name, std::string_view value) {
            if (!name.empty() && name != "Diagnostic" && name != "Warning" && name != "Error")
              test = name;
            const std::string verdict = ToLower(Verdict(value));
            const bool fail = StartsWith(verdict, "fail");
            if (StartsWith(verdict, "pass") || fail) ++results;
            if (StartsWith(verdict, "skip") || StartsWith(verdict, "not run")) ++skipped;
            if (fail || ((name == "Warning" || name == "Error") && !value.empty())) {
              std::string gpu;
              for (const std::string_view mark : {"GPU: ", "GPU ", "GPU"})
                if (const size_t g = value.find(mark); g != std::string_view::npos && gpu.empty()) {
                  size_t end = g + mark.size();
                  const size_t begin = end;
                  while (end < value.size() && ((value[end] >= '0' && value[end] <= '9'))) ++end;
                  gpu = value.substr(begin, end - begin);
                }
              facts.Add(s.Make(fail ? "dcgm.fail" : "dcgm.warning",
                               {{"gpu", gpu}, {"test", test}, {"what", std::string(value)}},
                               s.At(at), line));
            }
          });
  if (results == 0 && skipped == 0) AddDamage(s, facts, "dcgmi diag shows no result");
  if (results == 0 && skipped > 0)
    facts.Add(s.Make("dcgm.skipped", {{"count", std::to_string(skipped)}}, s.At(0),
                     fmt::format("{} tests skipped, none ran", skipped)));
  if (!Trim(s.text).ends_with('+')) AddDamage(s, facts, "the table of dcgmi diag is cut");
}

struct HealthWords {
  std::string_view says, sign;
};

// What dcgmi health finds has signs of its own wherever another tool says the same.
constexpr std::array kHealthWords = {
    HealthWords{"row remapping failed", "gpu.remap_failed"},
    HealthWords{"row remappings are pending", "gpu.remap_pending"},
    HealthWords{"pending retired page", "gpu.retired_pending"},
    HealthWords{"double-bit ECC", "gpu.double_bit"},
    HealthWords{"thermal violation", "gpu.throttle_thermal"},
    HealthWords{"is currently down", "nvlink.inactive"},
};

std::string NumberBehind(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = text.substr(at + mark.size());
  return std::string(rest.substr(0, rest.find_first_not_of("0123456789")));
}

// "| -> Memory system | Failure |" and below it, in pieces of the cell's width, what was found.
struct HealthFinding {
  std::string gpu, system, says, line;
  size_t at = 0;
  bool fail = false;
};

void AddHealth(const Section& s, const HealthFinding& found, FactStore& facts) {
  if (found.system.empty()) return;
  std::string gpu = NumberBehind(found.says, "GPU ");
  if (gpu.empty()) gpu = found.gpu;
  for (const HealthWords& words : kHealthWords)
    if (Contains(found.says, words.says)) {
      facts.Add(s.Make(std::string(words.sign), {{"gpu", gpu}, {"value", "true"}}, s.At(found.at),
                       found.line));
      return;
    }
  facts.Add(s.Make(found.fail ? "dcgm.fail" : "dcgm.warning",
                   {{"gpu", gpu}, {"test", found.system}, {"what", found.says}}, s.At(found.at),
                   found.line));
}

void ReadHealthText(const Section& s, FactStore& facts) {
  HealthFinding found;
  EachRow(s.text, [&](size_t at, std::string_view line, std::string_view name,
                      std::string_view value) {
    if (StartsWith(name, "-> ") && (value == "Failure" || value == "Warning")) {
      AddHealth(s, found, facts);
      const std::string_view what = Trim(name.substr(3));
      const bool number = what.find_first_not_of("0123456789") == std::string_view::npos;
      const std::string gpu = number ? std::string(what) : found.gpu;
      found = {gpu, number ? "" : std::string(what), "", std::string(line), at, value == "Failure"};
    } else if (name.empty() && !found.system.empty()) {
      if (found.says.empty())
        found.line = line, found.at = at;
      else
        found.says += ' ';
      found.says += value;
    }
  });
  AddHealth(s, found, facts);
}

constexpr std::array kDcgm = {
    SectionKind{"dcgmi health", "| health monitor report",
                [](std::string_view l) { return !l.empty() && l[0] == '|'; }, DrawnRow,
                ReadHealthText},
    SectionKind{"dcgmi diag", "| fail", DiagRow, DrawnRow, ReadDiagText},
    SectionKind{"dcgmi diag", "| diagnostic ",
                [](std::string_view l) { return Contains(l, "Result"); }, DrawnRow, ReadDiagText},
};

}  // namespace

std::span<const SectionKind> DcgmSections() { return kDcgm; }

}  // namespace muster::diagnose
