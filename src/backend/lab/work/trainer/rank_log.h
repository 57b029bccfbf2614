// What a rank prints: JSON lines, each flushed as it is written, so that a rank that is killed has
// said how far it came.
#pragma once

#include <string>
#include <string_view>

#include "backend/lab/work/trainer/checkpoint.h"
#include "backend/lab/work/trainer/options.h"

namespace muster::lab {

struct StepRecord {
  int64_t step = 0;
  double loss = 0, local_loss = 0, grad_norm = 0;
  Duration step_time{}, compute_time{};
  int tokens = 0;
  bool skipped = false;  // the update was left out: a gradient was not finite
};
struct EndRecord {
  int64_t steps = 0;
  double peak_flops = 0, mfu = 0, step_time_s = 0, tokens_per_s = 0, flops = 0;
  double loss = 0, grad_norm = 0;
  Duration wall{};
  uint64_t resident_bytes = 0, memory_bytes = 0;
};

// Numbers that are not finite are written as text ("nan", "inf"): JSON has no word for them.
std::string StartLine(const RankIdentity& identity, TimePoint at);
std::string ConfigLine(const ModelShape& shape, int tokens_per_step, std::string_view gemm);
std::string StepLine(const StepRecord& step);
std::string CheckpointLine(const std::string& folder, const ShardRecord& shard);
std::string CheckpointErrorLine(const std::string& folder, const std::string& file,
                                const Error& error);
std::string ManifestLine(const std::string& folder, const Status& written);
std::string ErrorLine(const Error& error);
std::string EndLine(const EndRecord& end);
// As torchtitan/components/metrics.py prints it: "step: 60  loss:  1.9876  grad_norm:  0.1234
// memory: ...".
std::string TitanLine(const EndRecord& end);

}  // namespace muster::lab
