// What one rank of a training gang said: the JSON lines that Muster's own trainer prints
// (backend/lab/work/train_rank.h), read back. What a log does not say, or says half, stays said to
// be so; nothing is filled in. A job of one's own may print them too; for one that does not, see
// logged_training.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::training {

struct StepReport {
  int64_t step = 0;
  double loss = 0;        // of the gang; may be NaN or infinite
  double local_loss = 0;  // of this rank before the sum; may be NaN or infinite
  double step_time_s = 0, compute_time_s = 0;
  double tokens = 0;
  std::string line;
};

struct ShardReport {
  std::string folder, file;
  bool written = false;
  uint64_t bytes = 0;
  std::string sha256;  // when written
  std::string error;   // when not
};

struct RankReport {
  int rank = 0;
  std::string node;
  int exit_code = 0;
  std::optional<double> started_unix_s;  // its "start" line
  std::optional<double> flops_per_token, peak_flops;
  bool smoke = false;  // a smoke job: its MFU is no baseline of any model
  std::vector<StepReport> steps;
  std::optional<ShardReport> shard;
  std::optional<bool> manifest_written;  // rank 0 only
  std::vector<std::string> errors;
  bool ended = false;  // its "end" line: the log is whole
  std::string damage;  // not empty: the first line that is not what it should be

  bool whole() const { return ended && damage.empty(); }
};

// Never throws. Lines that are not JSON objects with an "event" are other people's and are skipped;
// a line that begins as one of ours and does not hold is `damage`.
RankReport ParseRankLog(int rank, std::string node, int exit_code, std::string_view text);

// The ranks that a rendezvous named as missing ("... missing rank 3, 5"), from a rank's errors.
std::vector<int> NamedMissing(const RankReport& report);

}  // namespace muster::training
