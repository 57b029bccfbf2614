// The forms of nvidia-smi for people and scripts: the table, -L, -q and --query-gpu. Widths as
// driver 570 prints them.
#include <algorithm>

#include <fmt/format.h>

#include "backend/lab/nvidia/node_view.h"
#include "base/strings.h"

namespace muster::lab {
namespace {

using Text = fmt::memory_buffer;

constexpr std::string_view kRule =
    "+-----------------------------------------+------------------------+----------------------+\n";
constexpr std::string_view kWide =
    "+-----------------------------------------------------------------------------------------+\n";

void TableGpu(Text& out, const GpuTruth& gpu) {
  if (gpu.lost) {
    fmt::format_to(std::back_inserter(out),
                   "| {:>3}  {:<28.28} {:>4}  |   {} Off |                 ERR! |\n", gpu.index,
                   gpu.model, "ERR!", gpu.pci_bus_id);
    fmt::format_to(std::back_inserter(out), "|{:<41}|{:^24}|{:>21} |\n",
                   "ERR! ERR! ERR!             ERR! / ERR!", "ERR!", "ERR!");
    fmt::format_to(std::back_inserter(out), "|{:<41}|{:<24}|{:>21} |\n", "", "", "ERR!");
  } else {
    fmt::format_to(std::back_inserter(out), "| {:>3}  {:<28.28} {:>4}  |   {} Off | {:>20} |\n",
                   gpu.index, gpu.model, gpu.persistence ? "On" : "Off", gpu.pci_bus_id,
                   gpu.ecc_uncorrected_volatile);
    fmt::format_to(std::back_inserter(out),
                   "| N/A  {:>3.0f}C    P0  {:>13.0f}W / {:>4.0f}W | {:>7.0f}MiB / {:>6.0f}MiB | "
                   "{:>6}%      Default |\n",
                   gpu.temperature_celsius, gpu.power_watt, gpu.power_limit_watt,
                   gpu.memory_used_mib, gpu.memory_total_mib,
                   static_cast<int>(gpu.utilisation * 100));
    fmt::format_to(std::back_inserter(out), "|{:<41}|{:<24}|{:>21} |\n", "", "",
                   gpu.mig_enabled ? "Enabled" : "Disabled");
  }
  fmt::format_to(std::back_inserter(out), "{}", kRule);
}

struct Column {
  std::string_view name, unit;
  std::string (*value)(const NodeView&, const GpuTruth&);
};
std::string YesOn(bool on) { return on ? "Enabled" : "Disabled"; }

constexpr Column kColumns[] = {
    {"index", "", [](const NodeView&, const GpuTruth& g) { return fmt::to_string(g.index); }},
    {"pci.bus_id", "", [](const NodeView&, const GpuTruth& g) { return g.pci_bus_id; }},
    {"gpu_bus_id", "", [](const NodeView&, const GpuTruth& g) { return g.pci_bus_id; }},
    {"count", "", [](const NodeView& v, const GpuTruth&) { return fmt::to_string(v.Listed()); }},
    {"name", "", [](const NodeView&, const GpuTruth& g) { return g.model; }},
    {"gpu_name", "", [](const NodeView&, const GpuTruth& g) { return g.model; }},
    {"uuid", "", [](const NodeView&, const GpuTruth& g) { return g.uuid; }},
    {"gpu_uuid", "", [](const NodeView&, const GpuTruth& g) { return g.uuid; }},
    {"serial", "", [](const NodeView&, const GpuTruth& g) { return g.serial; }},
    {"driver_version", "",
     [](const NodeView& v, const GpuTruth&) { return v.truth.driver_version; }},
    {"persistence_mode", "",
     [](const NodeView&, const GpuTruth& g) { return YesOn(g.persistence); }},
    {"mig.mode.current", "",
     [](const NodeView&, const GpuTruth& g) { return YesOn(g.mig_enabled); }},
    {"ecc.mode.current", "", [](const NodeView&, const GpuTruth&) { return YesOn(true); }},
    {"ecc.mode.pending", "", [](const NodeView&, const GpuTruth&) { return YesOn(true); }},
    {"pstate", "", [](const NodeView&, const GpuTruth&) { return std::string("P0"); }},
    {"temperature.gpu", "",
     [](const NodeView&, const GpuTruth& g) {
       return fmt::format("{:.0f}", g.temperature_celsius);
     }},
    {"temperature.memory", "",
     [](const NodeView&, const GpuTruth& g) {
       return fmt::format("{:.0f}", g.memory_temperature_celsius);
     }},
    {"power.draw", "W",
     [](const NodeView&, const GpuTruth& g) { return fmt::format("{:.2f}", g.power_watt); }},
    {"power.limit", "W",
     [](const NodeView&, const GpuTruth& g) { return fmt::format("{:.2f}", g.power_limit_watt); }},
    {"utilization.gpu", "%",
     [](const NodeView&, const GpuTruth& g) { return fmt::format("{:.0f}", g.utilisation * 100); }},
    {"utilization.memory", "%", [](const NodeView&, const GpuTruth&) { return std::string("0"); }},
    {"memory.total", "MiB",
     [](const NodeView&, const GpuTruth& g) { return fmt::format("{:.0f}", g.memory_total_mib); }},
    {"memory.used", "MiB",
     [](const NodeView&, const GpuTruth& g) { return fmt::format("{:.0f}", g.memory_used_mib); }},
    {"memory.free", "MiB",
     [](const NodeView&, const GpuTruth& g) {
       return fmt::format("{:.0f}", g.memory_total_mib - g.memory_used_mib - 551);
     }},
    {"ecc.errors.uncorrected.volatile.total", "",
     [](const NodeView&, const GpuTruth& g) { return fmt::to_string(g.ecc_uncorrected_volatile); }},
    {"ecc.errors.corrected.volatile.total", "",
     [](const NodeView&, const GpuTruth& g) { return fmt::to_string(g.ecc_corrected_volatile); }},
    {"ecc.errors.uncorrected.aggregate.total", "",
     [](const NodeView&, const GpuTruth& g) {
       return fmt::to_string(g.ecc_uncorrected_aggregate);
     }},
    {"pcie.link.gen.max", "",
     [](const NodeView&, const GpuTruth& g) { return fmt::to_string(g.pcie_gen); }},
    {"pcie.link.gen.current", "",
     [](const NodeView&, const GpuTruth& g) { return fmt::to_string(g.pcie_gen); }},
    {"pcie.link.width.max", "",
     [](const NodeView&, const GpuTruth& g) { return fmt::to_string(g.pcie_width_max); }},
    {"pcie.link.width.current", "",
     [](const NodeView&, const GpuTruth& g) { return fmt::to_string(g.pcie_width); }},
};

const Column* FindColumn(std::string_view name) {
  for (const Column& column : kColumns)
    if (column.name == name) return &column;
  return nullptr;
}

void QueryGpu(Text& out, const GpuTruth& gpu) {
  auto line = [&](int depth, std::string_view name, std::string_view value) {
    const int indent = depth * 4;
    fmt::format_to(std::back_inserter(out), "{:{}}{:<{}}: {}\n", "", indent, name, 50 - indent,
                   gpu.lost ? "GPU is lost" : value);
  };
  auto head = [&](int depth, std::string_view name) {
    fmt::format_to(std::back_inserter(out), "{:{}}{}\n", "", depth * 4, name);
  };
  fmt::format_to(std::back_inserter(out), "GPU {}\n", gpu.pci_bus_id);
  line(1, "Product Name", gpu.model);
  line(1, "Product Brand", "NVIDIA");
  line(1, "Persistence Mode", YesOn(gpu.persistence));
  head(1, "MIG Mode");
  line(2, "Current", YesOn(gpu.mig_enabled));
  line(2, "Pending", YesOn(gpu.mig_enabled));
  line(1, "Serial Number", gpu.serial);
  line(1, "GPU UUID", gpu.uuid);
  line(1, "Minor Number", fmt::to_string(gpu.index));
  head(1, "PCI");
  fmt::format_to(std::back_inserter(out), "        {:<42}: {}\n", "Bus Id", gpu.pci_bus_id);
  head(2, "GPU Link Info");
  head(3, "PCIe Generation");
  line(4, "Max", fmt::to_string(gpu.pcie_gen));
  line(4, "Current", fmt::to_string(gpu.pcie_gen));
  head(3, "Link Width");
  line(4, "Max", fmt::format("{}x", gpu.pcie_width_max));
  line(4, "Current", fmt::format("{}x", gpu.pcie_width));
  line(2, "Replays Since Reset", fmt::to_string(gpu.pcie_replays));
  line(1, "Performance State", "P0");
  head(1, "Clocks Event Reasons");
  line(2, "HW Slowdown",
       gpu.throttle_thermal || gpu.throttle_power_brake ? "Active" : "Not Active");
  line(3, "HW Thermal Slowdown", gpu.throttle_thermal ? "Active" : "Not Active");
  line(3, "HW Power Brake Slowdown", gpu.throttle_power_brake ? "Active" : "Not Active");
  line(2, "SW Thermal Slowdown", "Not Active");
  head(1, "ECC Errors");
  head(2, "Volatile");
  line(3, "DRAM Correctable", fmt::to_string(gpu.ecc_corrected_volatile));
  line(3, "DRAM Uncorrectable", fmt::to_string(gpu.ecc_uncorrected_volatile));
  head(2, "Aggregate");
  line(3, "DRAM Correctable", fmt::to_string(gpu.ecc_corrected_aggregate));
  line(3, "DRAM Uncorrectable", fmt::to_string(gpu.ecc_uncorrected_aggregate));
  head(1, "Remapped Rows");
  line(2, "Correctable Error", fmt::to_string(gpu.remapped_correctable));
  line(2, "Uncorrectable Error", fmt::to_string(gpu.remapped_uncorrectable));
  line(2, "Pending", gpu.remap_pending ? "Yes" : "No");
  line(2, "Remapping Failure Occurred", gpu.remap_failed ? "Yes" : "No");
  head(1, "Temperature");
  line(2, "GPU Current Temp", fmt::format("{:.0f} C", gpu.temperature_celsius));
  line(2, "Memory Current Temp", fmt::format("{:.0f} C", gpu.memory_temperature_celsius));
  head(1, "GPU Power Readings");
  line(2, "Average Power Draw", fmt::format("{:.2f} W", gpu.power_watt));
  line(2, "Current Power Limit", fmt::format("{:.2f} W", gpu.power_limit_watt));
  head(1, "Fabric");
  line(2, "State", gpu.fabric_state);
  line(2, "Status", gpu.fabric_status);
  line(1, "Processes", "None");
  fmt::format_to(std::back_inserter(out), "\n");
}

}  // namespace

CommandResult SmiTable(const NodeView& view) {
  Text out;
  fmt::format_to(std::back_inserter(out), "{}{}       \n{}", LostLines(view),
                 CTime(view.NodeTime()), kWide);
  fmt::format_to(std::back_inserter(out),
                 "| NVIDIA-SMI {:<22} Driver Version: {:<14} CUDA Version: {:<8} |\n",
                 view.truth.driver_version, view.truth.driver_version, view.truth.cuda_version);
  fmt::format_to(
      std::back_inserter(out),
      R"(|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
)");
  for (const GpuTruth& gpu : view.gpus)
    if (gpu.present) TableGpu(out, gpu);
  fmt::format_to(std::back_inserter(out), "{:89}\n{}", "", kWide);
  fmt::format_to(
      std::back_inserter(out),
      R"(| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|  No running processes found                                                             |
{})",
      kWide);
  return Printed(fmt::to_string(out));
}

CommandResult SmiList(const NodeView& view) {
  std::string out = LostLines(view);
  for (const GpuTruth& gpu : view.gpus) {
    if (!gpu.present) continue;
    if (gpu.lost)
      fmt::format_to(std::back_inserter(out),
                     "Unable to determine the device handle for gpu {}: GPU is lost.  Reboot the "
                     "system to recover this GPU\n",
                     KernelAddress(gpu.pci_bus_id, false));
    else
      fmt::format_to(std::back_inserter(out), "GPU {}: {} (UUID: {})\n", gpu.index, gpu.model,
                     gpu.uuid);
  }
  return Printed(std::move(out));
}

CommandResult SmiText(const NodeView& view) {
  Text out;
  fmt::format_to(std::back_inserter(out), "{}\n==============NVSMI LOG==============\n\n",
                 LostLines(view));
  fmt::format_to(std::back_inserter(out), "{:<50}: {}\n{:<50}: {}\n{:<50}: {}\n\n{:<50}: {}\n",
                 "Timestamp", CTime(view.NodeTime()), "Driver Version", view.truth.driver_version,
                 "CUDA Version", view.truth.cuda_version, "Attached GPUs", view.gpus.size());
  for (const GpuTruth& gpu : view.gpus)
    if (gpu.present) QueryGpu(out, gpu);
  return Printed(fmt::to_string(out));
}

CommandResult SmiCsv(const NodeView& view, std::string_view columns, std::string_view format) {
  std::vector<const Column*> chosen;
  for (auto name : Split(columns, ',')) {
    const Column* column = FindColumn(Trim(name));
    if (column == nullptr)
      return Printed(fmt::format("Field \"{}\" is not a valid field to query.\n\n", Trim(name)), 2);
    chosen.push_back(column);
  }
  const auto options = Split(format, ',');
  const bool header = std::find(options.begin(), options.end(), "noheader") == options.end();
  const bool units = std::find(options.begin(), options.end(), "nounits") == options.end();
  std::string out = LostLines(view);
  auto row = [&](auto cell) {
    for (size_t i = 0; i < chosen.size(); ++i) out += (i == 0 ? "" : ", ") + cell(*chosen[i]);
    out += "\n";
  };
  if (header)
    row([&](const Column& c) {
      return c.unit.empty() ? std::string(c.name) : fmt::format("{} [{}]", c.name, c.unit);
    });
  for (const GpuTruth& gpu : view.gpus) {
    if (!gpu.present) continue;
    row([&](const Column& c) {
      // Where it sits the driver remembers; everything else has to be asked of the GPU.
      if (gpu.lost && c.name != "index" && c.name != "pci.bus_id" && c.name != "gpu_bus_id" &&
          c.name != "count" && c.name != "driver_version")
        return std::string("[GPU is lost]");
      const std::string value = c.value(view, gpu);
      return units && !c.unit.empty() ? fmt::format("{} {}", value, c.unit) : value;
    });
  }
  return Printed(std::move(out));
}

}  // namespace muster::lab
