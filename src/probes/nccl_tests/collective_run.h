// What a run of nccl-tests (all_reduce_perf, all_gather_perf, alltoall_perf, ...) says, whichever
// version printed it. Columns are found by their names, numbers are checked against each other, and
// a run that did not reach its closing lines is never complete: a bandwidth taken from half a run
// is how a broken fabric passes.
//
// Captures exist of the v2.8-era layout (`error` column, no `root`); the layouts of 2.13 to 2.19
// (`#wrong`, `root`, Group, version lines) and its JSON are covered by texts built after
// src/util.cu of nccl-tests 2.17 and 2.19.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "evidence/observation.h"
#include "probes/probe.h"

namespace muster::nccl_tests {

// One half of a row: out of place, or in place.
struct Timing {
  double time_us = 0;
  double algbw = 0, busbw = 0;  // 10^9 B/s
  std::optional<double> wrong;  // nothing for N/A: the run did not check
};

struct CollectiveRow {
  uint64_t bytes = 0, count = 0;
  std::string type, redop, root;  // empty where the column is blank (alltoall prints no redop)
  std::optional<Timing> out_of_place, in_place;
  std::string line;  // as printed, for the evidence
  // The mean of the halves that were measured, 10^9 B/s.
  double Busbw() const;
};

struct RankLine {
  int rank = 0, group = 0;
  int64_t pid = 0;
  std::string host;
  int device = 0;
  std::string pci, name;
};

// -b, -e and -f (or -i) as the run itself states them.
struct SweepRange {
  uint64_t min_bytes = 0, max_bytes = 0, step = 0;
  bool by_factor = true;
  bool validated = false;  // -c 1
};

struct CollectiveRun {
  std::string collective;     // "all_reduce", or empty where the version does not say
  std::string tests_version;  // "2.17.4", or empty
  std::string nccl_version;   // "2.26.2+cuda12.8" or "22602", or empty
  std::optional<SweepRange> sweep;
  std::vector<RankLine> ranks;
  std::vector<CollectiveRow> rows;
  std::optional<int64_t> out_of_bounds;  // the closing line
  bool out_of_bounds_ok = false;
  std::optional<double> average_busbw;  // the closing line; never a figure to gate on
  std::vector<std::string> failures;    // what the tool or its launcher complained of
  std::vector<std::string> damage;      // why the text cannot be taken whole

  // The run reached its end, every line of it could be read, and no row of its sweep is missing.
  bool complete() const { return damage.empty() && failures.empty(); }
};

// Any bytes. Lines of other programs (NCCL's own log, mpirun's tags) between and inside the rows
// are passed over.
CollectiveRun ParseCollectiveText(std::string_view text);
// The file of `-J`: versions 1 and 2. A crash leaves it unclosed; that is an Error (kParse), never
// a shorter run.
Result<CollectiveRun> ParseCollectiveJson(std::string_view text);
// Either of the two, told apart by the first character.
CollectiveRun ParseCollective(std::string_view text);

// Only rows of this size and more say what the fabric can carry: below it the latency of the ring
// is in the figure.
inline constexpr uint64_t kPlateauBytes = uint64_t{1} << 30;
// Rows of at least `from` bytes.
std::vector<const CollectiveRow*> RowsFrom(const CollectiveRun& run, uint64_t from);
// Median bus bandwidth (10^9 B/s) of the rows of 1 GiB and more; kInvalid with the reason when the
// run is not complete, has no such row, or ran on one rank (whose bus bandwidth is 0 by
// definition).
Result<double> Plateau(const CollectiveRun& run);

// collective.plateau, collective.rows and collective.wrong of `scope`. Wrong results are told even
// from a broken run.
void AddObservations(const CollectiveRun& run, const Subject& scope, ObservationBuilder& out);

}  // namespace muster::nccl_tests
