#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/nccl_tests/collective_run.h"
#include "probes/nccl_tests/sweep_check.h"
#include "probes/nccl_tests/table_lines.h"

namespace muster::nccl_tests {
namespace {

// What nccl-tests and the launchers around it print when a run ended badly.
constexpr std::array<std::string_view, 14> kFailures = {
    "Test NCCL failure",
    "Test CUDA failure",
    ": Test failure ",
    "Invalid number of GPUs",
    "There are not enough slots available",
    "mpirun noticed that process",
    "mpirun was unable to",
    "Primary job  terminated normally",
    "prterun noticed that process",
    "srun: error:",
    "slurmstepd: error:",
    "Segmentation fault",
    "command not found",
    "error while loading shared libraries",
};

// The number after `key` in "# nThread 1 nGpus 8 minBytes 8 ...".
std::optional<int64_t> NumberAfter(const std::vector<std::string_view>& words,
                                   std::string_view key) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] != key) continue;
    const auto number = ParseInt(words[i + 1].substr(0, words[i + 1].find('(')));
    if (number.ok()) return *number;
  }
  return std::nullopt;
}

class TextReader {
 public:
  CollectiveRun Read(std::string_view text) {
    for (std::string_view line : Lines(text)) ReadLine(line);
    if (!pending_.empty()) Damage("the last row is cut", pending_line_);
    CheckWhole(run_);
    return std::move(run_);
  }

 private:
  void ReadLine(std::string_view whole) {
    if (NoteFailure(whole)) return;
    std::string_view line = WithoutRunnerTag(whole);
    NoteNcclVersion(line);
    if (const auto before = BeforeLogMessage(line)) line = *before;
    const std::string_view text = Trim(line);
    if (text.empty()) return;
    if (text.front() == '#') {
      ReadComment(text);
    } else {
      ReadFields(text);
    }
  }

  bool NoteFailure(std::string_view line) {
    const bool failed = std::any_of(kFailures.begin(), kFailures.end(),
                                    [line](std::string_view sign) { return Contains(line, sign); });
    if (failed) run_.failures.push_back(Shorten(Printable(Trim(line)), 200));
    return failed;
  }

  void NoteNcclVersion(std::string_view line) {
    constexpr std::string_view kSays = "NCCL version ";
    const size_t at = line.find(kSays);
    if (at == std::string_view::npos || !run_.nccl_version.empty()) return;
    const std::string_view rest = line.substr(at + kSays.size());
    const std::string_view version = rest.substr(0, rest.find_first_of(" \t"));
    if (!version.empty() && std::isdigit(static_cast<unsigned char>(version.front())) != 0) {
      run_.nccl_version = version;
    }
  }

  void ReadComment(std::string_view text) {
    if (auto columns = Columns::FromHeader(text)) {
      columns_ = std::move(columns);
      return;
    }
    const auto words = SplitBlank(text.substr(1));
    if (words.empty()) return;
    if (words[0] == "nThread") ReadSweep(words);
    if (words[0] == "Rank") ReadRank(words);
    if (words[0] == "nccl-tests" && words.size() > 2 && words[1] == "version")
      run_.tests_version = words[2];
    if (words[0] == "Reducing" && run_.sweep) {
      if (const auto most = NumberAfter(words, "to"); most && *most > 0) {
        run_.sweep->max_bytes = static_cast<uint64_t>(*most);
      }
    }
    if (Contains(text, "Collective test starting: ")) {
      const std::string_view program = words.back().substr(words.back().rfind('/') + 1);
      run_.collective = program.substr(0, program.rfind("_perf"));
    }
    if (Contains(text, "Out of bounds values")) ReadOutOfBounds(text);
    if (Contains(text, "Avg bus bandwidth")) {
      const auto value = SplitBlank(text.substr(text.find(':') + 1));
      const auto number =
          value.empty() ? Result<double>(Fail(Code::kParse, "")) : ParseDouble(value[0]);
      if (Contains(text, ":") && number.ok()) run_.average_busbw = *number;
    }
  }

  void ReadSweep(const std::vector<std::string_view>& words) {
    const auto low = NumberAfter(words, "minBytes"), high = NumberAfter(words, "maxBytes");
    const auto step = NumberAfter(words, "step:");
    if (!low || !high || !step || *low < 0 || *high < 0 || *step < 0) {
      Damage("the line that states the range of sizes is cut", "");
      return;
    }
    SweepRange sweep;
    sweep.min_bytes = static_cast<uint64_t>(*low);
    sweep.max_bytes = static_cast<uint64_t>(*high);
    sweep.step = static_cast<uint64_t>(*step);
    for (std::string_view word : words) {
      if (Contains(word, "(bytes)")) sweep.by_factor = false;
    }
    sweep.validated = NumberAfter(words, "validation:").value_or(0) > 0;
    run_.sweep = sweep;
  }

  // "Rank  0 Group  0 Pid 112424 on localhost device  0 [0000:0f:00] NVIDIA H100 80GB HBM3"
  void ReadRank(const std::vector<std::string_view>& words) {
    RankLine rank;
    const auto number = NumberAfter(words, "Rank");
    const auto device = NumberAfter(words, "device");
    const auto on = std::find(words.begin(), words.end(), "on");
    if (!number || *number < 0 || *number > 1 << 24 || !device || on == words.end() ||
        on + 1 == words.end()) {
      Damage("a line of the device list is cut", "");
      return;
    }
    rank.rank = static_cast<int>(*number);
    rank.group = static_cast<int>(NumberAfter(words, "Group").value_or(0));
    rank.pid = NumberAfter(words, "Pid").value_or(0);
    rank.host = *(on + 1);
    rank.device = static_cast<int>(*device);
    const auto at = std::find(words.begin(), words.end(), "device");
    std::vector<std::string> name;
    for (auto word = at + 2; word < words.end(); ++word) {
      if (name.empty() && word->starts_with('[') && word->ends_with(']')) {
        rank.pci = word->substr(1, word->size() - 2);
      } else {
        name.emplace_back(*word);
      }
    }
    rank.name = Join(name, " ");
    run_.ranks.push_back(std::move(rank));
  }

  void ReadOutOfBounds(std::string_view text) {
    const auto words = SplitBlank(
        text.substr(text.find(':') == std::string_view::npos ? text.size() : text.find(':') + 1));
    const auto count = words.empty() ? Result<int64_t>(Fail(Code::kParse, "")) : ParseInt(words[0]);
    const bool stated = words.size() >= 2 && (words[1] == "OK" || words[1] == "FAILED");
    if (!count.ok() || *count < 0 || !stated) {
      Damage("the \"Out of bounds values\" line is cut", text);
      return;
    }
    run_.out_of_bounds = *count;
    run_.out_of_bounds_ok = words[1] == "OK" && *count == 0;
  }

  // A row, or a part of one: NCCL's log messages break rows in two.
  void ReadFields(std::string_view text) {
    const auto fields = SplitBlank(text);
    const bool starts_row =
        fields.size() >= 2 && ParseInt(fields[0]).ok() && ParseInt(fields[1]).ok();
    const bool continues = !pending_.empty() && (ParseDouble(fields[0]).ok() || fields[0] == "N/A");
    if (!starts_row && !continues) return;  // some other program's line
    if (!columns_) {
      Damage("a row before any line that names the columns", text);
      return;
    }
    if (!pending_.empty() && starts_row && fields.size() >= columns_->least()) {
      Damage("a row is cut", pending_line_);
      pending_.clear();
    }
    if (pending_.empty()) pending_line_.clear();
    if (!pending_line_.empty()) pending_line_ += "  ";
    pending_line_ += text;
    for (std::string_view field : fields) pending_.emplace_back(field);
    if (pending_.size() < columns_->least()) return;
    FinishRow();
  }

  void FinishRow() {
    const std::vector<std::string_view> fields(pending_.begin(), pending_.end());
    auto row = columns_->ReadRow(fields);
    if (row.ok()) {
      row->line = pending_line_;
      run_.rows.push_back(*std::move(row));
    } else {
      Damage(row.error().message, pending_line_);
    }
    pending_.clear();
  }

  void Damage(std::string_view what, std::string_view line) {
    run_.damage.push_back(line.empty()
                              ? std::string(what)
                              : fmt::format("{}: \"{}\"", what, Shorten(Printable(line), 120)));
  }

  CollectiveRun run_;
  std::optional<Columns> columns_;
  std::vector<std::string> pending_;
  std::string pending_line_;
};

}  // namespace

CollectiveRun ParseCollectiveText(std::string_view text) { return TextReader().Read(text); }

}  // namespace muster::nccl_tests
