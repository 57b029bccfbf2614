// Gate 7's figures where the job is somebody's own (TorchTitan, Megatron, nanotron, nanoGPT): one
// log of steps for the whole gang, as probes/train_log reads it, and the exit code of each rank.
// What such a log does not say (which rank was slow, where the checkpoint is) is Unobserved; a job
// that prints the JSON lines of rank_report.h is seen rank by rank.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evidence/observation.h"
#include "probes/probe.h"

namespace muster::training {

// One step as a trainer printed it; the fields of train_log::Step that are measured with.
struct LoggedStep {
  int64_t step = 0;
  std::optional<double> loss;              // may be NaN or infinite
  std::optional<double> step_time_s;       // wall time
  std::optional<double> tokens_per_s_gpu;  // per device
  std::optional<double> tflops_gpu;        // model TFLOP/s per device, from wall time
  std::optional<double>
      mfu;  // ratio as the trainer says it; leave nanoGPT's out (its peak is an A100's)
  std::optional<int64_t> nan_iterations;
  std::string line;
};

struct LoggedRun {
  std::string gang;
  std::vector<std::string> nodes;  // in rank order
  int ranks_per_node = 1;
  std::vector<int> exit_codes;    // of each rank, in rank order; shorter when some never ran
  std::vector<LoggedStep> steps;  // from the rank whose log has them
  bool cut = false;               // the log ends in the middle of a step line
  double flops_per_token = 0;     // of the site; 0 = not given
  double peak_flops = 0;          // dense peak per device; 0 = not given
};

// Observes the train.* facts. MFU, in this order: model TFLOP/s per device over the given peak;
// tokens/s per device x FLOPs per token over the given peak; what the trainer itself says. A step
// time that is not printed (TorchTitan) is unknown, and its spread is that of the tokens per
// second. In a synchronous gang no rank can step alone: ranks that ended well beside a log with
// steps have started.
Observations ObserveLoggedTraining(const LoggedRun& run, const Reading& reading);

}  // namespace muster::training
