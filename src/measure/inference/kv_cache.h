// Does the KV cache fit before a model is deployed (D10): bytes a token, tokens that a GPU holds,
// requests that run at once. Pure arithmetic over the model's shape and the GPU's memory.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace muster {

// What the model's config.json says.
struct ModelShape {
  int64_t layers = 0;
  int64_t kv_heads = 0;  // after grouping (GQA); equal to the heads without it
  int64_t head_dim = 0;
  int64_t latent_elements = 0;  // multi-head latent attention: elements a layer and token (latent
                                // and rotary part); 0 = ordinary attention
  int64_t max_positions = 0;    // 0 = not said
  int weight_bytes = 2;         // of an element, by the declared type
};
// The config.json of a Hugging Face model. kInvalid names the key that is missing or makes no
// sense; hybrid and state-space models (layers without a KV cache) are refused, not guessed.
Result<ModelShape> ParseModelConfig(std::string_view json, const std::string& name);

struct Deployment {
  double gpu_memory_bytes = 0;  // as nvidia-smi prints the total
  double memory_share = 0.9;    // --gpu-memory-utilization
  double weights_bytes = 0;     // of the whole model
  double overhead_bytes = 0;    // on each GPU: activations at their peak and what is not the model
  int tensor_parallel = 1, pipeline_parallel = 1;
  int kv_element_bytes = 2;     // 1 for an FP8 cache
  int64_t max_model_len = 0;    // tokens of one request
  int64_t usual_len = 0;        // prompt and answer together at the p95; 0 = max_model_len
  int64_t max_sequences = 256;  // --max-num-seqs
};

struct KvFit {
  double bytes_per_token = 0;                 // on one GPU
  double weights_bytes = 0, cache_bytes = 0;  // on one GPU
  int64_t tokens = 0;                         // that the cache holds, in whole blocks of 16
  double concurrency_at_max =
      0;  // requests of max_model_len at once; under 1 the server refuses to start
  double concurrency_at_usual = 0;  // requests of the usual length at once
  bool starts = false;              // one request of max_model_len fits
  bool no_preemption = false;       // max_sequences of the usual length fit
  int64_t longest_model_len = 0;    // the largest --max-model-len with which it starts
};
// A token takes 2 (K and V) x layers x KV heads x head size x element size, split over tensor and
// pipeline ranks; fewer KV heads than tensor ranks are copied; a latent cache is copied to every
// tensor rank. (vLLM: blocks of 16 tokens out of total memory x share less weights less the
// profiled peak; vllm-project/vllm issue 12330 shows the figures of one start.) kInvalid for a
// deployment that makes no sense: heads that do not split, nothing given.
Result<KvFit> FitKvCache(const ModelShape& model, const Deployment& deployment);

}  // namespace muster
