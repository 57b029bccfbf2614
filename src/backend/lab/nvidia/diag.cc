// `dcgmi diag -r N [-j]` as DCGM 4.2 prints it, with its exit codes: 0, or 226 (DCGM_ST_NVVS_ERROR)
// with a whole document when a test failed.
#include <optional>

#include <fmt/format.h>

#include "backend/lab/nvidia/node_view.h"
#include "base/strings.h"

namespace muster::lab {
namespace {

constexpr std::string_view kDcgmVersion = "4.2.3";

struct Warning {
  int category = 0, id = 0, severity = 0;  // dcgm_errors.h
  std::string text;
};
struct Verdict {
  std::string_view status = "Pass";
  std::vector<Warning> warnings;
  std::string info;
};
struct TestKind {
  std::string_view category, name;
  int level;  // the lowest that runs it
};
// nvvs/src/NvidiaValidationSuite.cpp of 4.x; the vendor's field diagnostic (eud) is not installed
// in the lab.
constexpr TestKind kTests[] = {
    {"Deployment", "software", 1},    {"Hardware", "memory", 2},
    {"Hardware", "diagnostic", 3},    {"Hardware", "eud", 3},
    {"Integration", "pcie", 2},       {"Stress", "memory_bandwidth", 3},
    {"Stress", "targeted_stress", 3}, {"Stress", "targeted_power", 3},
    {"Hardware", "memtest", 4},       {"Hardware", "pulse_test", 4},
};

Verdict Failed(int category, int id, int severity, std::string text) {
  return {"Fail", {{category, id, severity, std::move(text)}}, {}};
}

std::optional<Verdict> Software(const GpuTruth& gpu) {
  if (!gpu.persistence)
    return Failed(8, 29, 5,
                  fmt::format("Persistence Mode: Persistence mode for GPU {} is disabled. Enable "
                              "persistence mode by running "
                              "\\\"nvidia-smi -i <gpuId> -pm 1 \\\" as root.",
                              gpu.index));
  if (gpu.remap_failed)
    return Failed(1, 83, 3,
                  fmt::format("Page Retirement/Row Remap: GPU {} had uncorrectable memory errors "
                              "and row remapping failed. Run a "
                              "field diagnostic on the GPU.",
                              gpu.index));
  if (gpu.remap_pending)
    return Failed(1, 84, 4,
                  fmt::format("Page Retirement/Row Remap: GPU {} has uncorrectable memory errors "
                              "and row remappings are pending. "
                              "Reset the GPU.",
                              gpu.index));
  return std::nullopt;
}

std::optional<Verdict> Hardware(std::string_view test, const GpuTruth& gpu) {
  if (test == "memory" && gpu.ecc_uncorrected_volatile > 0)
    return Failed(1, 25, 3,
                  fmt::format("Detected {} volatile double-bit ECC error(s) in GPU {}. Drain the "
                              "GPU and reset it or reboot the node.",
                              gpu.ecc_uncorrected_volatile, gpu.index));
  if (test == "diagnostic" && gpu.throttle_thermal)
    return Failed(
        3, 38, 4,
        fmt::format(
            "Temperature {:.0f} of GPU {} exceeded user-specified maximum allowed temperature 87.",
            gpu.temperature_celsius, gpu.index));
  if (test == "targeted_power" && gpu.throttle_power_brake)
    return Failed(2, 36, 4,
                  fmt::format("Detected clocks event due to HW power brake on GPU {}.", gpu.index));
  if (test == "pcie" && gpu.pcie_width < gpu.pcie_width_max)
    return Failed(4, 77, 4,
                  fmt::format("GPU {} is running at PCI link width {}X, which is below the minimum "
                              "allowed link width of {}.",
                              gpu.index, gpu.pcie_width, gpu.pcie_width_max));
  if (test == "pcie" && gpu.nvlinks_active < gpu.nvlinks)
    return Failed(
        5, 67, 4,
        fmt::format(
            "GPU {}'s NvLink link {} is currently down. Check DCGM and system logs for errors.",
            gpu.index, gpu.nvlinks_active));
  if (test == "targeted_stress" && gpu.diag_fails)
    return Failed(1, 92, 3,
                  fmt::format("A fault was detected on GPU {}: calculated 18127.4 gigaflops, which "
                              "is below the expected minimum.",
                              gpu.index));
  return std::nullopt;
}

Verdict Judge(std::string_view test, const GpuTruth& gpu) {
  if (gpu.lost)
    return test == "software" ? Failed(8, 21, 3,
                                       fmt::format("Unable to query GPU {}: GPU is lost. Reboot "
                                                   "the system to recover this GPU.",
                                                   gpu.index))
                              : Verdict{"Skip", {}, {}};
  if (test == "eud") return {"Skip", {}, "The EUD is not installed."};
  // No diagnostic plugin runs on a GPU in MIG mode.
  if (gpu.mig_enabled && test != "software")
    return {"Skip", {}, fmt::format("GPU {} has MIG mode enabled.", gpu.index)};
  if (auto verdict = test == "software" ? Software(gpu) : Hardware(test, gpu)) return *verdict;
  // NVIDIA/DCGM issue 284: the allocation error is reported, and the test passes all the same.
  if (test == "memory" && gpu.diag_hides_error)
    return {"Pass",
            {{1, 11, 4,
              fmt::format("Couldn't allocate at least 75.0% of GPU memory on GPU {}", gpu.index)}},
            {}};
  return {};
}

// The writer's style: one tab a level, a blank on both sides of the colon, brackets on lines of
// their own.
class JsonText {
 public:
  void Open(std::string_view key, char bracket) {
    Separate();
    if (!key.empty())
      fmt::format_to(std::back_inserter(out_), "{:\t<{}}\"{}\" :\n", "", depth_, key);
    fmt::format_to(std::back_inserter(out_), "{:\t<{}}{}", "", depth_, bracket);
    ++depth_;
    first_ = true;
  }
  void Close(char bracket) {
    --depth_;
    fmt::format_to(std::back_inserter(out_), "\n{:\t<{}}{}", "", depth_, bracket);
    first_ = false;
  }
  void Field(std::string_view key, std::string_view value, bool quoted = true) {
    Separate();
    const std::string_view quote = quoted ? "\"" : "";
    if (key.empty())
      fmt::format_to(std::back_inserter(out_), "{:\t<{}}{}{}{}", "", depth_, quote, value, quote);
    else
      fmt::format_to(std::back_inserter(out_), "{:\t<{}}\"{}\" : {}{}{}", "", depth_, key, quote,
                     value, quote);
  }
  void Field(std::string_view key, int value) { Field(key, fmt::to_string(value), false); }
  std::string Take() { return fmt::to_string(out_) + "\n"; }

 private:
  void Separate() {
    if (depth_ > 0) fmt::format_to(std::back_inserter(out_), "{}", first_ ? "\n" : ",\n");
    first_ = false;
  }
  fmt::memory_buffer out_;
  int depth_ = 0;
  bool first_ = true;
};

void WriteResult(JsonText& json, const GpuTruth& gpu, const Verdict& verdict) {
  json.Open("", '{');
  json.Field("entity_group", "GPU");
  json.Field("entity_group_id", 1);
  json.Field("entity_id", gpu.index);
  if (!verdict.info.empty()) {
    json.Open("info", '[');
    json.Field("", verdict.info);
    json.Close(']');
  }
  json.Field("status", verdict.status);
  if (!verdict.warnings.empty()) {
    json.Open("warnings", '[');
    for (const Warning& warning : verdict.warnings) {
      json.Open("", '{');
      json.Field("error_category", warning.category);
      json.Field("error_id", warning.id);
      json.Field("error_severity", warning.severity);
      json.Field("warning", warning.text);
      json.Close('}');
    }
    json.Close(']');
  }
  json.Close('}');
}

std::string_view Summary(std::span<const std::pair<const GpuTruth*, Verdict>> verdicts) {
  std::string_view summary = "Skip";
  for (const auto& [gpu, verdict] : verdicts) {
    if (verdict.status == "Fail") return "Fail";
    if (verdict.status == "Pass") summary = "Pass";
  }
  return summary;
}

struct Run {
  std::vector<std::pair<TestKind, std::vector<std::pair<const GpuTruth*, Verdict>>>> tests;
  bool failed = false;
};

Run RunTests(const NodeView& view, int level) {
  Run run;
  for (const TestKind& test : kTests) {
    if (test.level > level) continue;
    auto& [kind, verdicts] =
        run.tests.emplace_back(test, std::vector<std::pair<const GpuTruth*, Verdict>>{});
    for (const GpuTruth& gpu : view.gpus)
      if (gpu.present) verdicts.emplace_back(&gpu, Judge(test.name, gpu));
    run.failed = run.failed || Summary(verdicts) == "Fail";
  }
  return run;
}

std::string AsJson(const NodeView& view, const Run& run) {
  JsonText json;
  json.Open("", '{');
  json.Open("DCGM Diagnostic", '{');
  json.Open("test_categories", '[');
  for (std::string_view category : {"Deployment", "Hardware", "Integration", "Stress"}) {
    bool any = false;
    for (const auto& [test, verdicts] : run.tests) {
      if (test.category != category) continue;
      if (!any) {
        json.Open("", '{');
        json.Field("category", category);
        json.Open("tests", '[');
        any = true;
      }
      json.Open("", '{');
      json.Field("name", test.name);
      json.Open("results", '[');
      for (const auto& [gpu, verdict] : verdicts) WriteResult(json, *gpu, verdict);
      json.Close(']');
      json.Open("test_summary", '{');
      json.Field("status", Summary(verdicts));
      json.Close('}');
      json.Close('}');
    }
    if (any) {
      json.Close(']');
      json.Close('}');
    }
  }
  json.Close(']');
  json.Close('}');
  json.Open("entity_groups", '[');
  json.Open("", '{');
  json.Open("entities", '[');
  for (const GpuTruth& gpu : view.gpus) {
    if (!gpu.present) continue;
    json.Open("", '{');
    json.Field("device_id", "2330");
    json.Field("entity_id", gpu.index);
    json.Field("serial_num",
               gpu.lost ? std::string_view("<<<NOT_SUPPORTED>>>") : std::string_view(gpu.serial));
    json.Close('}');
  }
  json.Close(']');
  json.Field("entity_group", "GPU");
  json.Field("entity_group_id", 1);
  json.Close('}');
  json.Close(']');
  json.Open("metadata", '{');
  json.Field("Driver Version Detected", view.truth.driver_version);
  json.Field("version", kDcgmVersion);
  json.Close('}');
  json.Close('}');
  return json.Take();
}

std::string AsText(const NodeView& view, const Run& run) {
  std::string out = "Successfully ran diagnostic for group.\n";
  constexpr std::string_view kRule =
      "+---------------------------+------------------------------------------------+\n";
  auto row = [&](std::string_view left, std::string_view right) {
    for (size_t at = 0; at == 0 || at < right.size(); at += 46)
      fmt::format_to(std::back_inserter(out), "| {:<25} | {:<46} |\n", at == 0 ? left : "",
                     right.substr(at, 46));
  };
  out += kRule;
  row("Diagnostic", "Result");
  out += "+===========================+================================================+\n";
  out += "|-----  Metadata  ----------+------------------------------------------------|\n";
  row("DCGM Version", kDcgmVersion);
  row("Driver Version Detected", view.truth.driver_version);
  std::string_view category;
  for (const auto& [test, verdicts] : run.tests) {
    if (test.category != category) {
      category = test.category;
      fmt::format_to(std::back_inserter(out),
                     "|-----  {:-<20}+------------------------------------------------|\n",
                     fmt::format("{}  ", category));
    }
    row(test.name, Summary(verdicts));
    for (const auto& [gpu, verdict] : verdicts) {
      row("", fmt::format("GPU{}: {}", gpu->index, verdict.status));
      for (const Warning& warning : verdict.warnings)
        row(fmt::format("Warning: GPU{}", gpu->index), warning.text);
    }
  }
  return out + std::string(kRule);
}

}  // namespace

CommandResult RunDcgmi(const ToolCall& call) {
  const auto args = call.args;
  if (!args.empty() && (args[0] == "--version" || args[0] == "-v"))
    return Printed(fmt::format("\ndcgmi  version: {}\n\n", kDcgmVersion));
  if (args.empty() || args[0] != "diag")
    return Complained(
        "PARSE ERROR: Argument: dcgmi: the lab plays `dcgmi diag -r LEVEL [-j]` only\n", 1);
  int level = 0;
  bool json = false;
  for (size_t i = 1; i < args.size(); ++i) {
    if (args[i] == "-j" || args[i] == "--json") json = true;
    if ((args[i] == "-r" || args[i] == "--run") && i + 1 < args.size()) {
      const auto read = ParseInt(args[i + 1]);
      level = read.ok() && *read >= 1 && *read <= 4 ? static_cast<int>(*read) : 0;
    }
  }
  if (level == 0)
    return Complained(
        "PARSE ERROR: Argument: -r (--run)\n             expected a level from 1 to 4\n", 1);
  const NodeView view = LookAt(call.state, *call.node, call.now);
  if (view.Listed() == 0 || !view.truth.module_built) {
    JsonText none;
    none.Open("", '{');
    none.Field("runtime_error", "No GPUs are available for the diagnostic.");
    none.Close('}');
    return Printed(
        json ? none.Take() : std::string("Error: No GPUs are available for the diagnostic.\n"),
        226);
  }
  const Run run = RunTests(view, level);
  return Printed(json ? AsJson(view, run) : AsText(view, run), run.failed ? 226 : 0);
}

}  // namespace muster::lab
