// dcgm-exporter's text, from the lab's truth. Rows are grouped by field in the order of the field's
// number, as the exporter's template prints its sorted map.
#include <fmt/format.h>

#include "backend/lab/state/truth.h"
#include "backend/lab/telemetry/exporter.h"

namespace muster::lab {

namespace {

constexpr double kBoostClockMhz = 1980, kIdleClockMhz = 345, kMemoryClockMhz = 2619;
constexpr double kReservedMib =
    551;  // what an H100 80GB keeps for itself, nvidia-smi -q "Reserved"

struct Moment {
  const GpuTruth& gpu;
  const NodeTruth& node;
};

std::string Whole(double value) { return fmt::format("{:.0f}", value); }
std::string Real(double value) { return fmt::format("{:.6f}", value); }
std::string Zero(const Moment&) { return "0"; }
std::string RealZero(const Moment&) { return Real(0); }

struct Field {
  std::string_view name, type, help;
  std::string (*value)(const Moment&);
};

constexpr Field kFields[] = {
    {"DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz).",
     [](const Moment& m) { return Whole(m.gpu.utilisation > 0 ? kBoostClockMhz : kIdleClockMhz); }},
    {"DCGM_FI_DEV_MEM_CLOCK", "gauge", "Memory clock frequency (in MHz).",
     [](const Moment&) { return Whole(kMemoryClockMhz); }},
    {"DCGM_FI_DEV_MEMORY_TEMP", "gauge", "Memory temperature (in C).",
     [](const Moment& m) { return Whole(m.gpu.memory_temperature_celsius); }},
    {"DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C).",
     [](const Moment& m) { return Whole(m.gpu.temperature_celsius); }},
    {"DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W).",
     [](const Moment& m) { return Real(m.gpu.power_watt); }},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter",
     "Total energy consumption since boot (in mJ).",
     [](const Moment& m) { return Whole(m.gpu.power_watt * Seconds(m.node.uptime) * 1000); }},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "Total number of PCIe retries.",
     [](const Moment& m) { return fmt::to_string(m.gpu.pcie_replays); }},
    {"DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %).",
     [](const Moment& m) { return Whole(m.gpu.utilisation * 100); }},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "Memory utilization (in %).",
     [](const Moment& m) { return Whole(m.gpu.utilisation * 60); }},
    {"DCGM_FI_DEV_ENC_UTIL", "gauge", "Encoder utilization (in %).", Zero},
    {"DCGM_FI_DEV_DEC_UTIL", "gauge", "Decoder utilization (in %).", Zero},
    {"DCGM_FI_DEV_XID_ERRORS", "gauge", "Value of the last XID error encountered.",
     [](const Moment& m) {
       return fmt::to_string(m.gpu.xids.empty() ? 0 : m.gpu.xids.back().code);
     }},
    {"DCGM_FI_DEV_FB_FREE", "gauge", "Framebuffer memory free (in MiB).",
     [](const Moment& m) {
       return Whole(m.gpu.memory_total_mib - m.gpu.memory_used_mib - kReservedMib);
     }},
    {"DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB).",
     [](const Moment& m) { return Whole(m.gpu.memory_used_mib); }},
    {"DCGM_FI_DEV_FB_RESERVED", "gauge", "Framebuffer memory reserved (in MiB).",
     [](const Moment&) { return Whole(kReservedMib); }},
    {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter",
     "Number of remapped rows for uncorrectable errors",
     [](const Moment& m) { return fmt::to_string(m.gpu.remapped_uncorrectable); }},
    {"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "counter",
     "Number of remapped rows for correctable errors",
     [](const Moment& m) { return fmt::to_string(m.gpu.remapped_correctable); }},
    {"DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "Whether remapping of rows has failed",
     [](const Moment& m) { return fmt::to_string(m.gpu.remap_failed ? 1 : 0); }},
    {"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "counter",
     "Total number of NVLink bandwidth counters for all lanes", Zero},
    {"DCGM_FI_DEV_VGPU_LICENSE_STATUS", "gauge", "vGPU License status", Zero},
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Ratio of time the graphics engine is active.",
     [](const Moment& m) { return Real(m.gpu.utilisation); }},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge",
     "Ratio of cycles the tensor (HMMA) pipe is active.",
     [](const Moment& m) { return Real(m.gpu.utilisation * 0.5); }},
    {"DCGM_FI_PROF_DRAM_ACTIVE", "gauge",
     "Ratio of cycles the device memory interface is active sending or receiving data.",
     [](const Moment& m) { return Real(m.gpu.utilisation * 0.6); }},
    {"DCGM_FI_PROF_PCIE_TX_BYTES", "gauge",
     "The rate of data transmitted over the PCIe bus - including both protocol headers and data "
     "payloads - in bytes per second.",
     RealZero},
    {"DCGM_FI_PROF_PCIE_RX_BYTES", "gauge",
     "The rate of data received over the PCIe bus - including both protocol headers and data "
     "payloads - in bytes per second.",
     RealZero},
};

}  // namespace

Result<std::string> ExporterPage(const LabState& state, const Node& node, TimePoint now) {
  const NodeTruth truth = NodeNow(state, node, now);
  if (!truth.reachable)
    return Fail(Code::kUnavailable, fmt::format("{} does not answer", node.name));
  if (!truth.exporter_answers) {
    return Fail(Code::kUnavailable, fmt::format("the exporter on {} does not answer", node.name));
  }
  std::vector<GpuTruth> gpus;
  std::vector<std::string> labels;
  for (const Gpu& gpu : node.gpus) {
    GpuTruth now_so = GpuNow(state, node, gpu.index, now);
    if (!now_so.present || now_so.lost) continue;
    labels.push_back(fmt::format(
        "{{gpu=\"{}\",UUID=\"{}\",pci_bus_id=\"{}\",device=\"nvidia{}\",modelName=\"{}\","
        "hostname=\"{}\",DCGM_FI_DRIVER_VERSION=\"{}\"}} ",
        now_so.index, now_so.uuid, now_so.pci_bus_id, now_so.index, now_so.model, node.name,
        truth.loaded_driver_version));
    gpus.push_back(std::move(now_so));
  }
  std::string page;
  page.reserve(gpus.size() * std::size(kFields) * 256);
  if (gpus.empty()) return page;
  for (const Field& field : kFields) {
    fmt::format_to(std::back_inserter(page), "# HELP {} {}\n# TYPE {} {}\n", field.name, field.help,
                   field.name, field.type);
    for (size_t i = 0; i < gpus.size(); ++i) {
      page += field.name;
      page += labels[i];
      page += field.value({gpus[i], truth});
      page += '\n';
    }
  }
  return page;
}

}  // namespace muster::lab
