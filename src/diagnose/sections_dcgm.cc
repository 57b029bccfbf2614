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

// "| GPU Memory   | Fail - GPU: 0   |", from the middle of a table.
bool DiagRow(std::string_view line) {
  const auto cells = Split(line, '|');
  return cells.size() == 4 && Trim(cells[0]).empty() && StartsWith(Verdict(Trim(cells[2])), "Fail");
}

void ReadDiagText(const Section& s, FactStore& facts) {
  std::string test;
  int results = 0;
  size_t offset = 0;
  for (const std::string_view line : Split(s.text, '\n')) {
    const size_t at = offset;
    offset += line.size() + 1;
    const auto cells = Split(line, '|');
    if (cells.size() < 3) continue;
    const std::string_view name = Trim(cells[1]), value = Trim(cells[2]);
    if (!name.empty() && name != "Diagnostic" && name != "Warning" && name != "Error") test = name;
    const std::string verdict = ToLower(Verdict(value));
    const bool fail = StartsWith(verdict, "fail");
    if (StartsWith(verdict, "pass") || fail || StartsWith(verdict, "skip")) ++results;
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
                       {{"gpu", gpu}, {"test", test}, {"what", std::string(value)}}, s.At(at),
                       line));
    }
  }
  if (results == 0) AddDamage(s, facts, "dcgmi diag shows no result");
  if (!Trim(s.text).ends_with('+')) AddDamage(s, facts, "the table of dcgmi diag is cut");
}

constexpr std::array kDcgm = {
    SectionKind{"dcgmi diag", "| fail", DiagRow,
                [](std::string_view l) { return !l.empty() && (l[0] == '|' || l[0] == '+'); },
                ReadDiagText},
    SectionKind{"dcgmi diag", "| diagnostic ",
                [](std::string_view l) { return Contains(l, "Result"); },
                [](std::string_view l) { return !l.empty() && (l[0] == '|' || l[0] == '+'); },
                ReadDiagText},
};

}  // namespace

std::span<const SectionKind> DcgmSections() { return kDcgm; }

}  // namespace muster::diagnose
