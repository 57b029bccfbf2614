// p2pBandwidthLatencyTest of the CUDA samples: copies between two GPUs with and without
// peer-to-peer access. P2P goes the shorter way; where it is slower, something sends it elsewhere.
#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/section.h"

namespace muster::diagnose {

namespace {

// Half of the bandwidth, or ten times the time and more than a bounce through the host takes: less
// than that is a difference of paths.
constexpr double kSlower = 0.5, kLater = 10, kBounce_us = 100;

struct Matrix {
  std::vector<std::vector<double>> cells;  // GB/s or us; rows are the GPU that copies
  std::vector<std::string_view> lines;
};

// "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)" -> "Unidirectional Bandwidth".
std::string KindOf(std::string_view title) {
  const size_t mode = title.find("P2P=");
  const std::string_view what = Contains(title, "Latency") ? "Latency" : "Bandwidth";
  return fmt::format("{}{}", title.substr(0, mode), what);
}

bool IsTitle(std::string_view line) {
  return Contains(line, "P2P=Disabled") || Contains(line, "P2P=Enabled");
}

// "     1  12.99 673.20  22.20"
bool ReadCells(std::string_view line, size_t row, Matrix& matrix) {
  const auto words = SplitBlank(line);
  if (words.size() < 3 || words[0] != std::to_string(row)) return false;
  std::vector<double> cells;
  for (size_t i = 1; i < words.size(); ++i) {
    const auto cell = ParseDouble(words[i]);
    if (!cell.ok()) return false;
    cells.push_back(*cell);
  }
  matrix.cells.push_back(std::move(cells));
  matrix.lines.push_back(line);
  return true;
}

bool Square(const Matrix& matrix) {
  return std::all_of(matrix.cells.begin(), matrix.cells.end(),
                     [&](const auto& row) { return row.size() == matrix.cells.size(); });
}

void Compare(const Section& s, const std::string& kind, const Matrix& without, const Matrix& with,
             FactStore& facts) {
  const bool latency = kind.ends_with("Latency");
  for (size_t a = 0; a < with.cells.size(); ++a)
    for (size_t b = 0; b < with.cells.size(); ++b) {
      const double p2p = with.cells[a][b], host = without.cells[a][b];
      const bool worse = latency ? p2p > kLater * host && p2p > kBounce_us : p2p < kSlower * host;
      if (a == b || !worse) continue;
      facts.Add(s.Make("bandwidth.p2p_slower",
                       {{"gpu", std::to_string(a)},
                        {"peer", std::to_string(b)},
                        {"value", fmt::format("{:.1f} {}", p2p, latency ? "us" : "GB/s")},
                        {"usual", fmt::format("{:.1f}", host)}},
                       s.Where(with.lines[a]), with.lines[a]));
      return;  // one of a matrix shows it
    }
}

// The matrices of one kind: "P2P=Disabled" and "P2P=Enabled".
struct Pair {
  Matrix without, with;
  bool Whole() const {
    return with.cells.size() >= 2 && with.cells.size() == without.cells.size() && Square(with) &&
           Square(without);
  }
};

// False where figures stand outside of a matrix, or one is not whole.
bool ReadPairs(std::string_view text, std::map<std::string, Pair>& pairs) {
  Matrix* open = nullptr;
  Matrix of_cpus;  // stands below the one of GPUs, and is not compared
  bool whole = true;
  for (const std::string_view line : Lines(text)) {
    if (IsTitle(line)) {
      Pair& pair = pairs[KindOf(line)];
      open = Contains(line, "P2P=Enabled") ? &pair.with : &pair.without;
      whole = whole && open->cells.empty();
    } else if (StartsWith(Trim(line), "CPU ")) {
      whole = whole && Square(of_cpus);
      of_cpus = {};
      open = &of_cpus;
    } else if (open == nullptr || !ReadCells(line, open->cells.size(), *open)) {
      const auto words = SplitBlank(line);
      const bool row = words.size() > 2 && ParseDouble(words[0]).ok() && ParseDouble(words[1]).ok();
      const bool connects = !words.empty() && !Contains(line, ".");  // the matrix of 0 and 1 above
      whole = whole && (!row || (connects && pairs.empty()));
    }
  }
  return whole && Square(of_cpus) && std::all_of(pairs.begin(), pairs.end(), [](const auto& pair) {
           return pair.second.Whole();
         });
}

void ReadPeerTest(const Section& s, FactStore& facts) {
  std::map<std::string, Pair> pairs;
  if (!ReadPairs(s.text, pairs) || pairs.empty() || s.cut)
    AddDamage(s, facts, "p2pBandwidthLatencyTest: its matrices are not whole, or not in pairs");
  for (const auto& [kind, pair] : pairs)
    if (pair.Whole()) Compare(s, kind, pair.without, pair.with, facts);
}

bool PeerTestLine(std::string_view line) {
  static constexpr std::string_view kWords[] = {"Device", "P2P",        "Peer-to-Peer", "D\\D",
                                                "NOTE",   "So you can", "GPU",          "CPU"};
  if (Trim(line).empty()) return true;
  return ParseDouble(SplitBlank(line).front()).ok() ||
         std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view word) { return Contains(line, word); });
}

constexpr std::array kPeerTest = {
    SectionKind{"p2pBandwidthLatencyTest", "gpu bandwidth latency test",
                [](std::string_view l) { return l.starts_with("[P2P "); }, PeerTestLine,
                ReadPeerTest},
    SectionKind{"p2pBandwidthLatencyTest", "p2p=disabled", IsTitle, PeerTestLine, ReadPeerTest},
    SectionKind{"p2pBandwidthLatencyTest", "p2p=enabled", IsTitle, PeerTestLine, ReadPeerTest},
};

}  // namespace

std::span<const SectionKind> PeerTestSections() { return kPeerTest; }

}  // namespace muster::diagnose
