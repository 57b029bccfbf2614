// Gate 7's figures from the logs of a gang: did all ranks start together, MFU by its formula, is
// the step time stable, does one node hold the others back, does the loss fall, is the checkpoint
// whole. Pure; CheckCheckpoint did the reading.
#pragma once

#include <string>
#include <vector>

#include "evidence/observation.h"
#include "measure/training/checkpoint_check.h"
#include "measure/training/rank_report.h"
#include "probes/probe.h"

namespace muster::training {

// The first steps page in memory and set up connections: "skip the first 10" of reference 4.3.
inline constexpr size_t kWarmUpSteps = 10;
// Fewer steps than this behind the warm-up give no median, and no p95 (100 or more on hardware).
inline constexpr size_t kMinSteps = 20;

struct TrainingRun {
  std::string gang;                // the subject's name
  std::vector<std::string> nodes;  // in rank order
  int ranks_per_node = 1;
  std::vector<RankReport> reports;  // of the ranks that left a log, in any order
  double flops_per_token = 0;       // of the site; 0 = as the job's own log says
  double peak_flops = 0;  // dense peak per rank for the job's dtype; 0 = as the job measured

  int ranks() const { return static_cast<int>(nodes.size()) * ranks_per_node; }
};

// Observes every train.* fact of catalogue/facts.yaml: of the gang, and of each node. `reading`
// says where the logs come from (probe "measure.training", the launch command, the logs' text,
// when).
//
// MFU = tokens/s x FLOPs per token / (ranks x dense peak per rank) (arXiv 2204.02311), from wall
// time after the warm-up. train.rank_lag: per rank the median compute time; of a node, its slowest
// rank; over the lower median of all ranks (with two nodes the mean of the two middle ones would
// hide half of the lag). A rank without a log, a cut log, a step that is not there, too few steps:
// Unobserved with the reason, never a figure.
Observations ObserveTraining(const TrainingRun& run, const CheckpointCheck& checkpoint,
                             const Reading& reading);

// Nearest-rank percentile: the smallest value such that at least `share` of all are not above it.
// Not empty.
double NearestRank(std::vector<double> values, double share);

}  // namespace muster::training
