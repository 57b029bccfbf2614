// The arguments of all_reduce_perf that change what it prints.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::lab {

struct SweepArgs {
  uint64_t min_bytes = 32ull << 20, max_bytes = 32ull << 20;  // the tool's own defaults
  uint64_t step = 2;
  bool by_factor = false;  // -f; without it -i (1 MiB) counts
  int gpus = 1;            // -g: GPUs of one process
  int iterations = 20, warmup = 1;
  bool check = true;  // -c
  // Every size of the sweep, at most 4096.
  std::vector<uint64_t> Sizes() const;
};

// "-b 8 -e 8G -f 2 -g 1 -c 1"; sizes take K, M, G and T. Options that change nothing here are
// passed over with their value; a value that is no number, or an option without one, is kInvalid.
Result<SweepArgs> ParseSweepArgs(std::span<const std::string> args);

}  // namespace muster::lab
