// The published protocol of the openb experiments: pods of a list arrive in a drawn order until the
// GPUs asked for reach a multiple of those there are; none ever leaves; one that fits nowhere is
// dropped and counts as arrived. What is read off is GPU allocation against arrived load.
#pragma once

#include <vector>

#include "base/result.h"
#include "sched/packing/packer.h"

namespace muster::packing {

struct LoadStep {
  int load_pct = 0;  // GPUs asked for so far, of all GPUs
  double alloc_pct =
      0;  // GPUs allocated, of all GPUs; the last state before the load passed the step
  double frag_pct =
      0;  // FGD's fragmentation under the whole list's mix, of all GPUs; -1 = not taken
};

struct LoadRun {
  std::vector<LoadStep> steps;  // one for each whole percent passed
  size_t arrived = 0, placed = 0;
  double alloc_pct = 0, frag_pct = 0;  // at the end
};

// The list shuffled by the seed, then pods drawn from it until `load` x the GPUs of the nodes are
// asked for; a longer list is cut there. kInvalid when the pods of the list ask for no GPU.
Result<std::vector<Demand>> DrawPods(const std::vector<Demand>& list, int64_t gpu_milli,
                                     double load, uint64_t seed);

// Fragmentation is taken every `frag_every` percent.
LoadRun RunLoad(const std::vector<Residual>& nodes, size_t models, const std::vector<Demand>& pods,
                Policy policy, uint64_t seed, int frag_every = 10);

}  // namespace muster::packing
