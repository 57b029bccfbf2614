#include "measure/inference/kv_cache.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace muster {

namespace {

constexpr int64_t kBlockTokens = 16;

std::optional<int64_t> Count(const nlohmann::json& config, const char* key) {
  const auto it = config.find(key);
  if (it == config.end() || !it->is_number_integer()) return std::nullopt;
  const int64_t value = it->get<int64_t>();
  return value > 0 && value < (int64_t{1} << 40) ? std::optional(value) : std::nullopt;
}

int BytesOf(const std::string& type) {
  if (type == "float32" || type == "torch.float32") return 4;
  if (type.find("8") != std::string::npos && type.find("float8") != std::string::npos) return 1;
  return 2;
}

}  // namespace

Result<ModelShape> ParseModelConfig(std::string_view text, const std::string& name) {
  const nlohmann::json root = nlohmann::json::parse(text, nullptr, false);
  const auto fail = [&](const std::string& what) {
    return Fail(Code::kInvalid, fmt::format("{}: {}", name, what));
  };
  if (!root.is_object()) return fail("no JSON object; expected the config.json of a model");
  // Models with a vision part keep the language model's shape in text_config.
  const nlohmann::json& config =
      root.contains("text_config") && root["text_config"].is_object() ? root["text_config"] : root;
  for (const char* key : {"mamba_d_state", "ssm_state_size", "state_size", "layers_block_type",
                          "attn_layer_period", "linear_num_key_heads"}) {
    if (config.contains(key))
      return fail(
          fmt::format("{}: not every layer of this model keeps a KV cache; it is not judged", key));
  }
  ModelShape shape;
  const auto layers = Count(config, "num_hidden_layers");
  if (!layers) return fail("num_hidden_layers: expected a positive number");
  shape.layers = *layers;
  shape.max_positions = Count(config, "max_position_embeddings").value_or(0);
  for (const char* key : {"torch_dtype", "dtype"}) {
    if (config.contains(key) && config[key].is_string())
      shape.weight_bytes = BytesOf(config[key].get<std::string>());
  }
  if (const auto latent = Count(config, "kv_lora_rank")) {
    shape.latent_elements = *latent + Count(config, "qk_rope_head_dim").value_or(0);
    return shape;
  }
  const auto heads = Count(config, "num_attention_heads");
  if (!heads) return fail("num_attention_heads: expected a positive number");
  shape.kv_heads = Count(config, "num_key_value_heads").value_or(*heads);
  if (const auto size = Count(config, "head_dim")) {
    shape.head_dim = *size;
  } else {
    const auto hidden = Count(config, "hidden_size");
    if (!hidden || *hidden % *heads != 0)
      return fail("hidden_size: expected a multiple of num_attention_heads, or head_dim");
    shape.head_dim = *hidden / *heads;
  }
  return shape;
}

Result<KvFit> FitKvCache(const ModelShape& model, const Deployment& d) {
  const auto fail = [](std::string what) { return Fail(Code::kInvalid, std::move(what)); };
  if (d.gpu_memory_bytes <= 0) return fail("the GPU's memory is not given");
  if (d.weights_bytes <= 0) return fail("the size of the weights is not given");
  if (d.memory_share <= 0 || d.memory_share > 1)
    return fail("the share of memory: expected more than 0 and at most 1");
  if (d.tensor_parallel < 1 || d.pipeline_parallel < 1)
    return fail("tensor and pipeline ranks: expected 1 or more");
  if (d.max_model_len < 1 || d.max_sequences < 1)
    return fail("the model length and the number of sequences: expected 1 or more");
  if (model.latent_elements == 0 && model.kv_heads % d.tensor_parallel != 0 &&
      d.tensor_parallel % model.kv_heads != 0)
    return fail(fmt::format("{} KV heads cannot be split over {} tensor ranks", model.kv_heads,
                            d.tensor_parallel));
  KvFit fit;
  // The first stages of a pipeline hold one layer more where it does not divide.
  const double layers = std::ceil(static_cast<double>(model.layers) / d.pipeline_parallel);
  const int64_t heads = std::max<int64_t>(1, model.kv_heads / d.tensor_parallel);
  const double elements = model.latent_elements > 0
                              ? static_cast<double>(model.latent_elements)
                              : 2.0 * static_cast<double>(heads * model.head_dim);
  fit.bytes_per_token = layers * elements * d.kv_element_bytes;
  fit.weights_bytes = d.weights_bytes / d.tensor_parallel / d.pipeline_parallel;
  fit.cache_bytes = d.gpu_memory_bytes * d.memory_share - fit.weights_bytes - d.overhead_bytes;
  const double blocks =
      std::floor(std::max(0.0, fit.cache_bytes) / (fit.bytes_per_token * kBlockTokens));
  fit.tokens = static_cast<int64_t>(blocks) * kBlockTokens;
  const auto at = [&](int64_t length) {
    const int64_t rounded = (length + kBlockTokens - 1) / kBlockTokens * kBlockTokens;
    return static_cast<double>(fit.tokens) / static_cast<double>(rounded);
  };
  fit.concurrency_at_max = at(d.max_model_len);
  fit.concurrency_at_usual = at(d.usual_len > 0 ? d.usual_len : d.max_model_len);
  fit.starts = fit.concurrency_at_max >= 1;
  fit.no_preemption = fit.concurrency_at_usual >= static_cast<double>(d.max_sequences);
  fit.longest_model_len = fit.tokens;
  if (model.max_positions > 0)
    fit.longest_model_len = std::min(fit.longest_model_len, model.max_positions);
  return fit;
}

}  // namespace muster
