// The logs of trainers that people use: TorchTitan, Megatron-LM (and Megatron-DeepSpeed, Primus),
// nanotron, nanoGPT. They give steps as plain values; a field that a line does not have stays
// empty. Formats: reference of each parser in train_log.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::train_log {

enum class Framework { kUnknown, kTorchTitan, kMegatron, kNanotron, kNanoGpt };
std::string_view ToString(Framework framework);

struct Step {
  int64_t step = 0;
  std::optional<double> loss;              // may be NaN or infinite, as printed
  std::optional<double> step_time_s;       // wall time of the step
  std::optional<double> tokens_per_s_gpu;  // per device
  std::optional<double> tflops_gpu;        // model TFLOP/s per device from wall time
  // Megatron 26.5 and later print the time in kernels too ("compute per GPU"): never to be taken
  // for throughput.
  std::optional<double> kernel_tflops_gpu;
  std::optional<double>
      mfu;  // ratio, as the trainer says it; nanoGPT's is against an A100 whatever runs
  std::optional<int64_t> nan_iterations;   // Megatron's own count
  std::optional<int64_t> consumed_tokens;  // in all, where printed
  std::string line;                        // the line itself, without colours
};

struct TrainLog {
  Framework framework = Framework::kUnknown;  // of the first step line
  std::vector<Step> steps;                    // as printed, in order
  bool cut = false;  // the text ends in the middle of a step line, which is left out
  int unread = 0;    // lines that begin like a step line and are not
};

// Never throws, whatever the bytes. A last line without its end of line may be cut and is never
// used.
TrainLog ParseTrainLog(std::string_view text);

// Escape sequences (CSI and OSC) taken out: TorchTitan colours single fields.
std::string StripAnsi(std::string_view text);
// "1,444" is 1444; "11.5K" is 11500 (K, M, G or B, T); "nan" and "inf" as they are. Nothing for
// anything else.
std::optional<double> ParseFigure(std::string_view text);

}  // namespace muster::train_log
