#include "app/gpu_specs.h"

#include "catalogue/embedded.h"
#include "yaml/yaml.h"

namespace muster {

namespace {

std::vector<GpuSpec> ReadSpecs() {
  std::vector<GpuSpec> specs;
  const auto text = FindEmbedded("gpus.yaml");
  if (!text) return specs;
  const auto root = ParseYaml(*text, "gpus.yaml");
  if (!root.ok()) return specs;
  YamlFindings findings;
  YamlReader file(*root, "gpus.yaml", findings);
  for (const YamlNode& item : file.Items("gpus")) {
    YamlReader entry(item, "gpus.yaml", findings);
    GpuSpec spec;
    spec.match = entry.Text("match");
    const auto figure = [&](const char* key, Unit unit) {
      const auto quantity = entry.QuantityIfAny(key, unit);
      return quantity ? quantity->value : 0.0;
    };
    spec.nvlink_gbyte_per_s = figure("nvlink", Unit::kGBytePerSec);
    spec.node_allreduce_gbyte_per_s = figure("node_allreduce", Unit::kGBytePerSec);
    spec.bf16_flops = figure("bf16", Unit::kFlops);
    spec.memory_bytes = figure("memory", Unit::kBytes);
    spec.source = entry.Text("source");
    if (findings.empty()) specs.push_back(std::move(spec));
    findings.clear();
  }
  return specs;
}

}  // namespace

const std::vector<GpuSpec>& GpuSpecs() {
  static const std::vector<GpuSpec> specs = ReadSpecs();
  return specs;
}

}  // namespace muster
