#include "probes/nccl_tests/sweep_check.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::nccl_tests {
namespace {

// Rows under 1 MiB print bandwidths of too few digits to compare, and sizes that are rounded down
// to whole elements per rank.
constexpr uint64_t kComparable = uint64_t{1} << 20;
// Sizes are rounded to multiples of ranks and of the type: far less than this at 1 MiB.
constexpr double kSizeTolerance = 0.02;
// Beyond rounding: bandwidth and time are averaged apart in some modes of the tool.
constexpr double kSlack = 0.005;

void CheckFactor(CollectiveRun& run) {
  std::vector<double> factors;
  const auto each = [&run](auto&& visit) {
    for (const CollectiveRow& row : run.rows) {
      if (row.bytes < kComparable) continue;
      for (const auto& half : {row.out_of_place, row.in_place}) {
        if (half && half->algbw >= 1) visit(row, *half);
      }
    }
  };
  each([&](const CollectiveRow&, const Timing& half) {
    factors.push_back(half.busbw / half.algbw);
  });
  if (factors.empty()) return;
  auto middle = factors.begin() + static_cast<ptrdiff_t>(factors.size() / 2);
  std::nth_element(factors.begin(), middle, factors.end());
  const double factor = *middle;
  each([&](const CollectiveRow& row, const Timing& half) {
    // Both are printed with two decimals.
    if (std::abs(half.busbw - factor * half.algbw) > 0.03 + kSlack * half.busbw) {
      run.damage.push_back(fmt::format("row of {} B: busbw {} is not {:.3f} x algbw {}", row.bytes,
                                       half.busbw, factor, half.algbw));
    }
  });
}

void CheckSizes(CollectiveRun& run) {
  if (!run.sweep) return;
  const SweepRange& sweep = *run.sweep;
  if (sweep.max_bytes < sweep.min_bytes || sweep.max_bytes > uint64_t{1} << 50) {
    run.damage.push_back("the stated range of sizes makes no sense");
    return;
  }
  std::vector<uint64_t> seen;
  for (const CollectiveRow& row : run.rows) seen.push_back(row.bytes);
  std::sort(seen.begin(), seen.end());
  int checked = 0;
  for (uint64_t size = std::max<uint64_t>(sweep.min_bytes, 1);
       size <= sweep.max_bytes && checked < 100000; ++checked) {
    if (size >= kComparable) {
      const auto low = static_cast<uint64_t>(static_cast<double>(size) * (1 - kSizeTolerance));
      const auto at = std::lower_bound(seen.begin(), seen.end(), low);
      if (at == seen.end() ||
          static_cast<double>(*at) > static_cast<double>(size) * (1 + kSizeTolerance)) {
        run.damage.push_back(fmt::format("the row of {} B is missing", size));
        return;
      }
    }
    const uint64_t next = sweep.by_factor ? size * sweep.step : size + sweep.step;
    if (next <= size) break;
    size = next;
  }
}

void CheckRanks(CollectiveRun& run) {
  std::vector<int> ranks;
  for (const RankLine& rank : run.ranks) ranks.push_back(rank.rank);
  std::sort(ranks.begin(), ranks.end());
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == static_cast<int>(i)) continue;
    const bool copies = ranks.back() == 0;
    run.damage.push_back(
        copies ? fmt::format("{} copies of rank 0: nccl-tests was built without MPI", ranks.size())
               : fmt::format("the device list does not name every rank once (rank {})", i));
    return;
  }
}

}  // namespace

Result<Printed> ReadPrinted(std::string_view text) {
  TRY(const double value, ParseDouble(text));
  if (value < 0) return Fail(Code::kParse, fmt::format("\"{}\" is negative", Shorten(text, 40)));
  std::string_view mantissa = text.substr(0, text.find_first_of("eE"));
  double unit = 1;
  if (const size_t dot = mantissa.find('.'); dot != std::string_view::npos) {
    unit = std::pow(10.0, -static_cast<double>(mantissa.size() - dot - 1));
  }
  if (mantissa.size() != text.size()) {
    const auto exponent = ParseDouble(text.substr(mantissa.size() + 1));
    if (!exponent.ok() || std::abs(*exponent) > 300)
      return Fail(Code::kParse, "exponent out of range");
    unit *= std::pow(10.0, *exponent);
  }
  return Printed{value, unit / 2};
}

bool Agrees(uint64_t bytes, const Printed& time_us, const Printed& algbw) {
  if (bytes == 0) return true;
  if (time_us.value <= time_us.half_unit) return algbw.value <= 2 * algbw.half_unit;
  const double expected = static_cast<double>(bytes) / time_us.value / 1e3;
  const double rounding =
      algbw.half_unit + expected * time_us.half_unit / (time_us.value - time_us.half_unit);
  return std::abs(expected - algbw.value) <= rounding * 1.01 + kSlack * expected;
}

void CheckWhole(CollectiveRun& run) {
  if (run.rows.empty()) run.damage.push_back("no result row");
  if (!run.out_of_bounds) run.damage.push_back("truncated: no \"Out of bounds values\" line");
  if (!run.sweep)
    run.damage.push_back("cut at the front: the run does not state its range of sizes");
  if (!run.average_busbw) run.damage.push_back("truncated: no \"Avg bus bandwidth\" line");
  CheckRanks(run);
  CheckFactor(run);
  CheckSizes(run);
}

}  // namespace muster::nccl_tests
