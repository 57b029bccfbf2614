// The KV sheet of a deploy: the model's files and the GPU table into the arithmetic of
// measure/inference/kv_cache, with what was assumed said.
#pragma once

#include <string>
#include <vector>

#include "measure/inference/kv_cache.h"
#include "world/files.h"

namespace muster {

struct KvFitRequest {
  std::string config_file;  // config.json
  std::string index_file;   // model.safetensors.index.json: its total_size is the weights
  std::string weights;      // or "141 GB", "14.96 GiB"
  std::string gpu;          // a model of the GPU table
  std::string memory;       // or the total that nvidia-smi prints: "81559 MiB"
  std::string overhead;     // "" = assumed
  Deployment deployment;    // ranks, lengths, share
};
struct KvFitSheet {
  ModelShape model;
  Deployment deployment;
  KvFit fit;
  std::vector<std::string> assumed;  // what was not given, and what was taken instead
};
// kInvalid names what is missing or wrong; kNotFound a file or GPU that is not there.
Result<KvFitSheet> FitDeploy(Files& files, KvFitRequest request);

}  // namespace muster
