// What copies reach: the matrices of nvbandwidth (text and JSON). A GPU is judged against the
// others of the same matrix, by its best path: pairs differ by design, GPUs of one machine do not.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/bandwidth.h"

namespace muster::diagnose {

namespace {

// Both bounds leave room for paths that differ by design (a second socket, one bridge fewer).
constexpr double kLowHost = 0.7, kLowPeer = 0.6;
constexpr size_t kFewest = 4;

double Middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

bool IsCell(std::string_view word) { return word == "N/A" || ParseDouble(word).ok(); }

// Figures, or what is left of them after damage.
bool LooksLikeRow(std::string_view line) {
  const auto words = SplitBlank(line);
  return !words.empty() && std::all_of(words.begin(), words.end(), [](std::string_view word) {
    return word == "N/A" || (word[0] >= '0' && word[0] <= '9');
  });
}

// One matrix: its title, the numbers of the columns, a row for each CPU or GPU, an empty line, and
// the sum of all cells, which tells whether any is missing.
class MatrixReader {
 public:
  bool open() const { return open_; }
  void Begin(std::string_view title) {
    *this = {};
    open_ = true;
    matrix_.title = Trim(title);
    matrix_.host = Contains(title, "CPU(row)");
  }
  void Line(std::string_view line) {
    const auto words = SplitBlank(line);
    if (columns_ == 0) {
      columns_ = words.size();
      for (size_t c = 0; c < words.size(); ++c) whole_ = whole_ && words[c] == std::to_string(c);
      return;
    }
    whole_ = whole_ && words.size() == columns_ + 1 &&
             words[0] == std::to_string(matrix_.rows.size()) &&
             std::all_of(words.begin(), words.end(), IsCell);
    auto& row = matrix_.rows.emplace_back();
    for (size_t i = 1; i < words.size(); ++i) {
      row.push_back(ParseDouble(words[i]).value_or(-1));
      sum_ += std::max(0.0, row.back());
    }
  }
  // "SUM host_to_device_memcpy_ce 440.91"
  void Sum(std::string_view line) {
    const auto words = SplitBlank(line);
    const auto said = ParseDouble(words.back());
    constexpr double kRounding = 0.01;
    closed_ = said.ok() && std::abs(*said - sum_) <=
                               kRounding * static_cast<double>(1 + columns_ * matrix_.rows.size());
  }
  void Close(const Section& s, FactStore& facts) {
    if (!open_) return;
    open_ = false;
    if (!whole_ || !closed_ || matrix_.rows.empty())
      AddDamage(s, facts, "nvbandwidth: a matrix is not whole: its rows and its sum do not fit");
    JudgeMatrix(s, matrix_, facts);
  }

 private:
  BandwidthMatrix matrix_;
  size_t columns_ = 0;
  double sum_ = 0;
  bool open_ = false, whole_ = true, closed_ = false;
};

void ReadMatrices(const Section& s, FactStore& facts) {
  MatrixReader matrix;
  size_t matrices = 0;
  bool stray = false;
  for (const std::string_view line : Split(s.text, '\n')) {
    if (Contains(line, "(row)") && Contains(line, "(column) bandwidth")) {
      matrix.Close(s, facts);
      matrix.Begin(line);
      ++matrices;
    } else if (line.starts_with("SUM ")) {
      if (matrix.open()) matrix.Sum(line);
      matrix.Close(s, facts);
    } else if (line.starts_with("Running ")) {
      matrix.Close(s, facts);
    } else if (LooksLikeRow(line)) {
      if (matrix.open())
        matrix.Line(line);
      else
        stray = true;
    }
  }
  matrix.Close(s, facts);
  if (stray) AddDamage(s, facts, "nvbandwidth: figures stand outside of a matrix");
  if (matrices == 0 || s.cut) AddDamage(s, facts, "nvbandwidth: the output is cut");
}

bool BandwidthLine(std::string_view line) {
  static constexpr std::string_view kLines[] = {
      "nvbandwidth ", "Built from ", "MPI version", "CUDA ", "Driver Version", "Device ",
      "Process ",     "Running ",    "memcpy ",     "SUM ",  "Waived",         "NOTE: ",
      "Performance ", "MIN ",        "MAX ",        "AVG ",  "device local ",  "memory latency ",
      "multinode ",   "all to ",     "Not Found"};
  if (line.empty() || LooksLikeRow(line)) return true;
  // The host's name stands alone above its devices.
  if (line.find(' ') == std::string_view::npos && line.size() < 64) return true;
  return std::any_of(std::begin(kLines), std::end(kLines),
                     [&](std::string_view begin) { return line.starts_with(begin); });
}

constexpr std::array kBandwidth = {
    SectionKind{"nvbandwidth", "nvbandwidth version",
                [](std::string_view l) { return l.starts_with("nvbandwidth Version"); },
                BandwidthLine, ReadMatrices},
    SectionKind{"nvbandwidth", "_memcpy_",
                [](std::string_view l) { return l.starts_with("Running ") && l.ends_with('.'); },
                BandwidthLine, ReadMatrices},
    SectionKind{"nvbandwidth", "(row) ",
                [](std::string_view l) {
                  return l.starts_with("memcpy ") && Contains(l, "(column) bandwidth");
                },
                BandwidthLine, ReadMatrices},
};

}  // namespace

void JudgeMatrix(const Section& s, const BandwidthMatrix& matrix, FactStore& facts) {
  size_t columns = 0;
  for (const auto& row : matrix.rows) columns = std::max(columns, row.size());
  std::vector<double> best(columns, -1);
  for (size_t r = 0; r < matrix.rows.size(); ++r) {
    const auto& row = matrix.rows[r];
    if (row.size() != columns) {
      AddDamage(s, facts, "nvbandwidth: rows of a matrix differ in length");
      return;
    }
    for (size_t c = 0; c < row.size(); ++c) {
      if (row[c] < 0) continue;
      best[c] = std::max(best[c], row[c]);
      if (!matrix.host && r < columns) best[r] = std::max(best[r], row[c]);
    }
  }
  std::vector<double> known;
  std::copy_if(best.begin(), best.end(), std::back_inserter(known),
               [](double value) { return value >= 0; });
  if (known.size() < kFewest) return;
  const double usual = Middle(known);
  for (size_t gpu = 0; gpu < best.size(); ++gpu) {
    if (best[gpu] < 0 || best[gpu] >= (matrix.host ? kLowHost : kLowPeer) * usual) continue;
    const std::string text =
        fmt::format("{}: the best path of GPU {} gives {:.1f} GB/s, of most GPUs {:.1f}",
                    matrix.title, gpu, best[gpu], usual);
    facts.Add(s.Make(matrix.host ? "bandwidth.host_low" : "bandwidth.peer_low",
                     {{"gpu", std::to_string(gpu)},
                      {"value", fmt::format("{:.1f}", best[gpu])},
                      {"usual", fmt::format("{:.1f}", usual)}},
                     s.Where(matrix.title), text));
  }
}

std::span<const SectionKind> BandwidthSections() { return kBandwidth; }

}  // namespace muster::diagnose
