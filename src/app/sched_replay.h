// muster sched replay: a published trace through a packing policy, by the protocol of its published
// results, so that the figures can be compared.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sched/packing/load.h"
#include "world/files.h"

namespace muster {

struct ReplayRequest {
  std::string nodes_path, pods_path;  // openb lists
  packing::Policy policy = packing::Policy::kMuster;
  double load = 1.3;  // GPUs asked for in the end, of all GPUs
  uint64_t seed = 42;
  int seeds = 1;  // seed, seed + 1, ...
};

struct ReplayReport {
  size_t nodes = 0, nodes_without_gpus = 0, pods_in_list = 0;
  int64_t gpus = 0;
  std::vector<packing::LoadRun> runs;  // by seed
  // Means over the runs; every fifth percent and the last.
  struct Step {
    int load_pct = 0;
    double alloc_pct = 0, frag_pct = -1;  // -1 = not taken there
  };
  std::vector<Step> steps;
  double alloc_pct = 0, frag_pct = 0;  // at the end
};

// Errors name the file, and line and column where they have one.
Result<ReplayReport> ReplayOpenb(Files& files, const ReplayRequest& request);

}  // namespace muster
