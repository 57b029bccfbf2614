// Reports that programs print of a host before a job runs on it: gpu_burn's summary, DeepSpeed's
// ds_report.
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/section.h"

namespace muster::diagnose {

namespace {

// "Tested 2 GPUs:" and a row for each; a GPU that failed is told by its line (catalogue).
void ReadBurn(const Section& s, FactStore& facts) {
  const auto words = SplitBlank(Lines(s.text).front());
  size_t asked = 0, good = 0, rows = 0;
  std::from_chars(words[1].data(), words[1].data() + words[1].size(), asked);
  for (const std::string_view line : Lines(s.text)) {
    const auto row = SplitBlank(line);
    if (row.size() != 3 || row[0] != "GPU") continue;
    ++rows;
    if (row[2] == "OK") ++good;
  }
  if (asked == 0 || rows != asked)
    return AddDamage(s, facts, fmt::format("gpu_burn: {} rows of {} GPUs", rows, asked));
  if (good == asked) facts.Add(s.Make("burn.passed", {}, s.At(0), Lines(s.text).front()));
}

// "12" of "12.1"; 0 when it is no version.
int Major(std::string_view version) {
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  return major;
}

// "nvcc version ........ 12.1"
std::string_view Dotted(std::string_view text, std::string_view key) {
  for (const std::string_view line : Lines(text)) {
    const auto rest = After(Trim(line), key);
    if (!rest) continue;
    const size_t at = rest->find_first_not_of(" .");
    return at == std::string_view::npos ? "" : Trim(rest->substr(at));
  }
  return "";
}

// DeepSpeed builds its kernels with nvcc and refuses one of another major version than PyTorch's.
// Source: DeepSpeed op_builder/builder.py, assert_no_cuda_mismatch.
void ReadDeepSpeed(const Section& s, FactStore& facts) {
  const std::string_view torch = Dotted(s.text, "torch cuda version"),
                         nvcc = Dotted(s.text, "nvcc version");
  if (Major(torch) == 0 || Major(nvcc) == 0)
    return AddDamage(s, facts, "ds_report: the versions of CUDA cannot be read");
  if (Major(torch) == Major(nvcc)) return;
  facts.Add(s.Make("deepspeed.other_cuda",
                   {{"torch", std::string(torch)}, {"nvcc", std::string(nvcc)}},
                   s.Where("nvcc version"), fmt::format("nvcc version {}", nvcc)));
}

bool InDeepSpeed(std::string_view line) {
  const std::string_view text = Trim(line);
  return Contains(text, " ..") || Contains(text, ".. ") || EndsWith(text, ":") ||
         StartsWith(text, "---") || StartsWith(text, "[WARNING]") || StartsWith(text, "NOTE:") ||
         Indented(line) || StartsWith(text, "JIT compiled ops");
}

constexpr std::array kReports = {
    SectionKind{"gpu_burn", "tested ",
                [](std::string_view l) {
                  const auto words = SplitBlank(l);
                  return words.size() == 3 && words[0] == "Tested" && words[2] == "GPUs:";
                },
                [](std::string_view l) { return Trim(l).starts_with("GPU "); }, ReadBurn},
    SectionKind{"ds_report", "deepspeed general environment info",
                [](std::string_view) { return true; }, InDeepSpeed, ReadDeepSpeed},
};

}  // namespace

std::span<const SectionKind> ReportSections() { return kReports; }

}  // namespace muster::diagnose
