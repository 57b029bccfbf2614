#include "app/kv_fit.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/gpu_specs.h"
#include "base/unit.h"

namespace muster {

namespace {

constexpr double kGibibyte = 1024.0 * 1024 * 1024;
// What a driver leaves of the nominal memory (read as GiB): 81559 MiB of an H100's 80, 143771 of an
// H200's 141, 46068 of an L40S's 48 with ECC. The lowest of them, so that no deploy is promised
// that does not start.
constexpr double kUsableShare = 0.935;
// Peak of activations and of what is not the model, on each GPU, where nobody measured it. vLLM
// prints both at its start.
constexpr double kAssumedOverhead = 4 * kGibibyte;

Result<double> Bytes(const std::string& text, const char* option) {
  auto quantity = ParseQuantity(text);
  if (!quantity.ok() || quantity->unit != Unit::kBytes || quantity->value <= 0)
    return Fail(Code::kInvalid,
                fmt::format("{} {}: expected a size such as \"80 GiB\"", option, text));
  return quantity->value;
}

Result<double> TotalOfIndex(Files& files, const std::string& path) {
  TRY(const std::string text, files.Read(path));
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("metadata") || !json["metadata"].is_object() ||
      !json["metadata"].contains("total_size") || !json["metadata"]["total_size"].is_number())
    return Fail(Code::kInvalid,
                fmt::format("{}: metadata.total_size: expected the bytes of all weights", path));
  return json["metadata"]["total_size"].get<double>();
}

}  // namespace

Result<KvFitSheet> FitDeploy(Files& files, KvFitRequest request) {
  KvFitSheet sheet;
  TRY(const std::string config, files.Read(request.config_file));
  TRY(sheet.model, ParseModelConfig(config, request.config_file));
  Deployment& d = request.deployment;
  if (!request.weights.empty()) {
    TRY(d.weights_bytes, Bytes(request.weights, "--weights"));
  } else if (!request.index_file.empty()) {
    TRY(d.weights_bytes, TotalOfIndex(files, request.index_file));
  } else {
    return Fail(Code::kInvalid, "the size of the weights is missing: --weights or --index");
  }
  if (!request.memory.empty()) {
    TRY(d.gpu_memory_bytes, Bytes(request.memory, "--memory"));
  } else if (!request.gpu.empty()) {
    const GpuSpec* spec = FindGpuSpec(GpuSpecs(), request.gpu);
    if (spec == nullptr || spec->memory_bytes <= 0)
      return Fail(Code::kNotFound,
                  fmt::format("--gpu {}: the GPU table does not have its memory; give --memory as "
                              "nvidia-smi prints it",
                              request.gpu));
    d.gpu_memory_bytes = spec->memory_bytes / 1e9 * kGibibyte * kUsableShare;
    sheet.assumed.push_back(
        fmt::format("GPU memory {:.1f} GiB: the least that drivers leave of a nominal {:.0f} GB; "
                    "--memory gives the exact figure",
                    d.gpu_memory_bytes / kGibibyte, spec->memory_bytes / 1e9));
  } else {
    return Fail(Code::kInvalid, "the GPU is missing: --gpu MODEL or --memory SIZE");
  }
  if (!request.overhead.empty()) {
    TRY(d.overhead_bytes, Bytes(request.overhead, "--overhead"));
  } else {
    d.overhead_bytes = kAssumedOverhead;
    sheet.assumed.push_back(
        "4 GiB on each GPU for activations and the runtime; the server prints the true figures "
        "when "
        "it starts, --overhead takes them");
  }
  if (d.max_model_len == 0) {
    d.max_model_len = sheet.model.max_positions;
    if (d.max_model_len == 0)
      return Fail(Code::kInvalid, "the model names no longest length: give --max-model-len");
    sheet.assumed.push_back(fmt::format("--max-model-len {}: the model's own", d.max_model_len));
  }
  if (sheet.model.max_positions > 0 && d.max_model_len > sheet.model.max_positions)
    return Fail(Code::kInvalid, fmt::format("--max-model-len {}: the model goes to {}",
                                            d.max_model_len, sheet.model.max_positions));
  if (d.usual_len > d.max_model_len)
    return Fail(Code::kInvalid, "--usual-len is longer than --max-model-len");
  if (d.usual_len == 0)
    sheet.assumed.push_back("every request as long as --max-model-len; --usual-len takes the p95");
  TRY(sheet.fit, FitKvCache(sheet.model, d));
  sheet.deployment = d;
  return sheet;
}

}  // namespace muster
