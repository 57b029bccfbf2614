// Which rank stopped a job, and in which collective: from the watchdogs' lines and the flight
// recorders' dumps of all ranks. Sequence numbers compare only inside a process group. The rank
// that prints a time-out is usually a victim: the one with the lowest sequence number, or with no
// line at all, is where to look.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/fact.h"

namespace muster::diagnose {

// One collective as one rank's flight recorder has it.
struct Recorded {
  int64_t sequence = 0;
  std::string group;  // "0" or "default_pg"
  std::string op;     // "nccl:all_reduce"
  std::string sizes;  // "[[1024]]"
  std::string state;  // "scheduled", "started", "completed"
  int64_t created_ns = 0, completed_ns = 0;
};

struct RankDump {
  int rank = -1;
  std::vector<Recorded> entries;
  std::map<std::string, int64_t> last_enqueued, last_completed;  // by group
  std::map<std::string, std::vector<int>> members;               // of a group
  Place at;
};

class HangTable {
 public:
  void AddDump(RankDump dump);
  // A watchdog's line: time-out of a collective, or "last enqueued NCCL work".
  void AddTimeout(int rank, std::string_view group, int64_t sequence, std::string_view op,
                  std::string_view numel, const Fact& line);
  void AddProgress(int rank, std::string_view group, int64_t enqueued, int64_t completed,
                   const Fact& line);
  bool empty() const { return dumps_.empty() && timeouts_.empty() && progress_.empty(); }

  // "hang.behind" (rank, sequence, op), "hang.apart", "hang.mismatch", "hang.silent",
  // "hang.all_entered", "hang.slow_rank": what the table says. `world` is the number of ranks where
  // a log says it.
  void AddFacts(FactStore& facts, std::optional<int> world) const;

 private:
  struct Timeout {
    int64_t sequence = 0;
    std::string op, numel;
    Place at;
    std::string text;
  };
  struct Progress {
    int64_t enqueued = 0, completed = 0;
    Place at;
    std::string text;
  };
  void FromDumps(FactStore& facts) const;
  void FromWatchdogs(FactStore& facts, std::optional<int> world) const;
  void SlowRank(FactStore& facts) const;
  static void Apart(FactStore& facts, const std::map<int, Timeout>& by_rank, int64_t least,
                    int64_t most);
  std::map<int, RankDump> dumps_;
  std::map<std::string, std::map<int, Timeout>> timeouts_;   // group -> rank
  std::map<std::string, std::map<int, Progress>> progress_;  // group -> rank
};

}  // namespace muster::diagnose
