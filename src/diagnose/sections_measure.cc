// Pages of metrics in the Prometheus text form.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/kernel_lines.h"
#include "diagnose/section.h"
#include "probes/dcgm_exporter/exposition.h"

namespace muster::diagnose {

namespace {

// Metrics whose value alone says something; rates need two pages.
struct MetricRule {
  std::string_view name, fact;
};
constexpr std::array kMetrics = {
    MetricRule{"DCGM_FI_DEV_XID_ERRORS", "metric.xid"},
    MetricRule{"DCGM_FI_DEV_ROW_REMAP_FAILURE", "gpu.remap_failed"},
    MetricRule{"DCGM_FI_DEV_ROW_REMAP_PENDING", "gpu.remap_pending"},
    MetricRule{"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "gpu.ecc_uncorrected"},
    MetricRule{"DCGM_FI_DEV_GPU_TEMP", "gpu.temperature"},
    MetricRule{"DCGM_FI_DEV_GPU_UTIL", "metric.gpu_util"},
    MetricRule{"DCGM_FI_PROF_SM_ACTIVE", "metric.sm_active"},
    MetricRule{"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "metric.tensor_active"},
    MetricRule{"DCGM_FI_DEV_POWER_USAGE", "metric.power"},
    MetricRule{"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "metric.throttle"},
    MetricRule{"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "metric.throttle"},
    MetricRule{"DCGM_FI_DEV_FABRIC_MANAGER_STATUS", "metric.fabric_status"},
    MetricRule{"vllm:num_preemptions_total", "vllm.preemptions"},
    MetricRule{"vllm:gpu_cache_usage_perc", "vllm.kv_cache"},
    MetricRule{"vllm:kv_cache_usage_perc", "vllm.kv_cache"},
    MetricRule{"vllm:num_requests_waiting", "vllm.waiting"},
    MetricRule{"vllm:num_requests_running", "vllm.running"},
    MetricRule{"up", "metric.up"},
};

// DCGM's field names are DCGM_FI_ and one of a few families; newer versions add names, not
// families.
bool KnownFamily(std::string_view name) {
  if (!name.starts_with("DCGM_")) return true;
  static constexpr std::string_view kFamilies[] = {
      "DCGM_FI_DEV_",  "DCGM_FI_PROF_",   "DCGM_FI_DRIVER_", "DCGM_FI_CUDA_",
      "DCGM_FI_NVML_", "DCGM_FI_PROCESS", "DCGM_FI_SYSTEM_", "DCGM_FI_GPU_",
      "DCGM_FI_BIND_", "DCGM_FI_IMEX_",   "DCGM_FI_INFO_",   "DCGM_EXP_"};
  return std::any_of(std::begin(kFamilies), std::end(kFamilies),
                     [&](std::string_view family) { return name.starts_with(family); });
}

// An Xid that an exporter tells: the newest code since it started is a value
// (DCGM_FI_DEV_XID_ERRORS), codes that it counted are labels (DCGM_EXP_XID_ERRORS_COUNT, _TOTAL).
// The newest one may be of a job long gone: of a program's own fault it is a question, not a cause.
void AddXid(const dcgm_exporter::Sample& sample, Fact fact, FactStore& facts) {
  if (!(sample.value > 0)) return;
  const auto* label = sample.Find("xid");
  fact.Set("code", label != nullptr ? label->Value() : fmt::format("{:.0f}", sample.value));
  ClassifyXid(fact);
  if (label != nullptr || fact.Get("class") != "application") fact.id = "xid";
  facts.Add(std::move(fact));
}

void ReadMetrics(const Section& s, FactStore& facts) {
  struct Gpu {
    double util = -1, sm = -1, tensor = -1, power = -1;
    Place at;
    std::string line;
  };
  std::map<std::string, Gpu> gpus;
  const auto page = dcgm_exporter::ParseExposition(
      s.text, dcgm_exporter::Dialect::kText004, [&](const dcgm_exporter::Sample& sample) {
        const size_t offset = static_cast<size_t>(sample.line.data() - s.text.data());
        const auto* uuid = sample.Find("UUID");
        const bool of_dcgm = uuid != nullptr && uuid->Value().starts_with("GPU-");
        if (!KnownFamily(sample.name) || (of_dcgm && !sample.name.starts_with("DCGM_")))
          AddDamage(s, facts, "no metric is called " + Printable(sample.name));
        for (const MetricRule& rule : kMetrics) {
          const bool counts_xids = rule.fact == "metric.xid" && sample.Find("xid") != nullptr &&
                                   sample.name.find("XID_ERRORS") != std::string_view::npos;
          if (sample.name != rule.name && !counts_xids) continue;
          const auto label = [&](std::string_view a, std::string_view b) {
            const auto* found = sample.Find(a);
            if (found == nullptr) found = sample.Find(b);
            return found == nullptr ? std::string() : found->Value();
          };
          const std::string gpu = label("gpu", "GPU"), host = label("Hostname", "hostname");
          if (std::isnan(sample.value) || sample.value >= 9.2e18) {
            facts.Add(s.Make("metric.blank", {{"name", std::string(rule.name)}, {"gpu", gpu}},
                             s.At(offset), sample.line));
            return;
          }
          Gpu& g = gpus[host + "/" + gpu];
          if (rule.fact == "metric.gpu_util") {
            g.util = sample.value;
            g.at = s.At(offset);
            g.line = sample.line;
          }
          if (rule.fact == "metric.sm_active") g.sm = sample.value;
          if (rule.fact == "metric.tensor_active") g.tensor = sample.value;
          if (rule.fact == "metric.power") g.power = sample.value;
          std::string value = fmt::format("{}", sample.value);
          if (rule.fact == "gpu.remap_failed" || rule.fact == "gpu.remap_pending")
            value = sample.value != 0 ? "true" : "false";
          Attributes attrs = {{"gpu", gpu},
                              {"value", value},
                              {"host", host},
                              {"instance", label("instance", "instance")}};
          if (rule.fact == "metric.xid") {
            AddXid(sample, s.Make("metric.xid", std::move(attrs), s.At(offset), sample.line),
                   facts);
            return;
          }
          facts.Add(s.Make(std::string(rule.fact), std::move(attrs), s.At(offset), sample.line));
          if (rule.fact == "metric.throttle") {
            const auto bits = static_cast<uint64_t>(sample.value < 0 ? 0 : sample.value);
            if ((bits & 0x60) != 0)
              facts.Add(s.Make("gpu.throttle_thermal",
                               {{"gpu", gpu}, {"host", host}, {"value", "true"}}, s.At(offset),
                               sample.line));
            if ((bits & 0x80) != 0)
              facts.Add(s.Make("gpu.throttle_power_brake",
                               {{"gpu", gpu}, {"host", host}, {"value", "true"}}, s.At(offset),
                               sample.line));
          }
          return;
        }
      });
  for (const auto& [name, g] : gpus) {
    if (g.util < 0) continue;
    const Attributes attrs = {{"subject", name},
                              {"util", fmt::format("{}", g.util)},
                              {"sm", fmt::format("{}", g.sm)},
                              {"tensor", fmt::format("{}", g.tensor)}};
    // Kernels of a collective spin: utilisation 100 with no tensor work and little power.
    if (g.util >= 99 && g.tensor >= 0 && g.tensor < 0.01 && g.power >= 0 && g.power < 250)
      facts.Add(s.Make("metric.spinning", attrs, g.at, g.line));
    else if (g.util > 0 && g.sm >= 0 && g.sm < 0.2)
      facts.Add(s.Make("metric.starved", attrs, g.at, g.line));
  }
  if (page.samples == 0) AddDamage(s, facts, "the page of metrics holds no sample");
  if (page.bad_lines > 0) AddDamage(s, facts, "a line of the metrics cannot be read");
  if (page.truncated) AddDamage(s, facts, "the page of metrics is cut");
}

bool MetricLine(std::string_view line) {
  // What is left of a sample's line belongs to the page too: it is reported as one that cannot be
  // read.
  if (line.starts_with("DCG") || line.starts_with("vllm:") ||
      (Contains(line, "=\"") && Contains(line, "\"} ")))
    return true;
  if (line.starts_with("# HELP ") || line.starts_with("# TYPE ") || line.starts_with("# EOF"))
    return true;
  size_t i = 0;
  while (i < line.size() &&
         (std::isalnum(static_cast<unsigned char>(line[i])) || line[i] == '_' || line[i] == ':'))
    ++i;
  return i > 1 && i < line.size() && (line[i] == '{' || line[i] == ' ') &&
         (line[0] < '0' || line[0] > '9');
}

constexpr std::array kMeasure = {
    SectionKind{"metrics", "# help ", [](std::string_view l) { return l.starts_with("# HELP"); },
                MetricLine, ReadMetrics},
    SectionKind{"metrics", "dcgm_fi_",
                [](std::string_view l) { return l.starts_with("DCGM_FI_") && Contains(l, "{"); },
                MetricLine, ReadMetrics},
    SectionKind{"metrics", "dcgm_exp_",
                [](std::string_view l) { return l.starts_with("DCGM_EXP_") && Contains(l, "{"); },
                MetricLine, ReadMetrics},
    SectionKind{"metrics", "vllm:", [](std::string_view l) { return l.starts_with("vllm:"); },
                MetricLine, ReadMetrics},
};

}  // namespace

std::span<const SectionKind> MeasureSections() { return kMeasure; }

}  // namespace muster::diagnose
