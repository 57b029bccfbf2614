// What a rank is told: its arguments, its identity from the environment, and the faults that the
// lab's state puts on it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "backend/lab/state/lab_state.h"
#include "base/result.h"
#include "base/time.h"

namespace muster::lab {

struct TrainOptions {
  int steps = 60;
  uint64_t seed = 1;
  int batch = 512;         // tokens a rank and step
  std::string checkpoint;  // folder; empty = none is written
  std::string resume;      // folder; empty = from the seed
  Duration rendezvous_timeout = std::chrono::seconds(15);
};
// kInvalid with what was expected.
Result<TrainOptions> ParseTrainOptions(std::span<const std::string> args);

// Splits "--key value --key value"; kInvalid for anything else or a key that is not known. For the
// hidden verbs of the lab.
Status ParsePairs(
    std::span<const std::string> args,
    const std::function<Result<bool>(std::string_view key, const std::string& value)>& take);

struct RankIdentity {
  int rank = 0, world = 1, local_rank = 0;
  std::string node = "localhost", master_addr = "127.0.0.1", lab;
  int master_port = 29500;
};
using Environment = std::function<std::optional<std::string>(const char* name)>;
// RANK and WORLD_SIZE must be there; the others have the defaults above.
Result<RankIdentity> ReadIdentity(const Environment& environment);
// This process's own.
std::optional<std::string> FromProcess(const char* name);

struct RankFaults {
  double straggler_factor = 1;  // compute takes this many times the work
  double slow_factor = 1;       // tokens come this many times slower: input that is starved
  int nan_at = 0;  // from this step on the loss is not a number, for `nan_steps`; 0 = never
  int nan_steps = 0;
  bool disk_full = false;
};
RankFaults FaultsOf(const LabState& state, const std::string& node, int steps);

// A fault's figure: its own, the table's default, or `otherwise`.
double FigureOf(const Fault& fault, const std::string& name, double otherwise);

}  // namespace muster::lab
