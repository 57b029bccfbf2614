// `nvidia-smi topo -m` and `nvidia-smi nvlink -s`. GPUs and adapters pair up inside their NUMA
// domain, as on a board where each pair shares a PCIe switch.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "backend/lab/nvidia/node_view.h"
#include "base/strings.h"

namespace muster::lab {
namespace {

constexpr int kCoresPerDomain = 56;  // and as many hyper-threads, numbered after all cores

struct Device {
  std::string name;
  bool is_gpu = false;
  int numa = 0;
  int place = 0;  // among those of its kind in its domain
  const GpuTruth* gpu = nullptr;
};

std::vector<Device> Devices(const NodeView& view, std::vector<std::string>& adapters) {
  std::vector<Device> devices;
  std::map<std::pair<bool, int>, int> places;
  for (const GpuTruth& gpu : view.gpus)
    if (gpu.present && !gpu.lost)
      devices.push_back(
          {fmt::format("GPU{}", gpu.index), true, gpu.numa, places[{true, gpu.numa}]++, &gpu});
  for (const Nic& nic : view.node.nics) {
    const int place = places[{false, nic.numa}]++;
    if (!HcaNow(view.state, view.node, nic, view.now).present) continue;
    devices.push_back({fmt::format("NIC{}", adapters.size()), false, nic.numa, place, nullptr});
    adapters.push_back(nic.device);
  }
  return devices;
}

std::string Path(const Device& a, const Device& b) {
  if (a.name == b.name) return " X ";
  if (a.is_gpu && b.is_gpu) {
    const int links = std::min(a.gpu->nvlinks_active, b.gpu->nvlinks_active);
    if (links > 0) return fmt::format("NV{}", links);
  }
  if (a.numa != b.numa) return "SYS";
  return a.is_gpu != b.is_gpu && a.place == b.place ? "PIX" : "NODE";
}

}  // namespace

CommandResult SmiTopo(const NodeView& view) {
  std::vector<std::string> adapters;
  const auto devices = Devices(view, adapters);
  // The tool underlines its header even into a pipe.
  std::string out = LostLines(view) + "\t\x1b[4m";
  for (const Device& device : devices) out += device.name + "\t";
  out += "CPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n";
  for (const Device& row : devices) {
    out += row.name;
    for (const Device& column : devices) out += "\t" + Path(row, column);
    if (row.is_gpu) {
      const int first = row.numa * kCoresPerDomain, all = view.node.numa_domains * kCoresPerDomain;
      fmt::format_to(std::back_inserter(out), "\t{}-{},{}-{}\t{}\t\tN/A", first,
                     first + kCoresPerDomain - 1, all + first, all + first + kCoresPerDomain - 1,
                     row.numa);
    } else {
      out += "\t\t\t\t";
    }
    out += "\n";
  }
  out += R"(
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks

)";
  if (!adapters.empty()) {
    out += "NIC Legend:\n\n";
    for (size_t i = 0; i < adapters.size(); ++i)
      fmt::format_to(std::back_inserter(out), "  NIC{}: {}\n", i, adapters[i]);
    out += "\n";
  }
  return Printed(std::move(out));
}

CommandResult SmiNvlink(const NodeView& view) {
  std::string out = LostLines(view);
  for (const GpuTruth& gpu : view.gpus) {
    if (!gpu.present) continue;
    if (gpu.lost) {
      fmt::format_to(std::back_inserter(out),
                     "Unable to determine the device handle for GPU{}: {}: GPU is lost\n",
                     gpu.index, KernelAddress(gpu.pci_bus_id, false));
      continue;
    }
    fmt::format_to(std::back_inserter(out), "GPU {}: {} (UUID: {})\n", gpu.index, gpu.model,
                   gpu.uuid);
    if (gpu.nvlinks > 0 && gpu.nvlinks_active == 0)
      out += "NVML: Unable to retrieve NVLink information as all links are inActive\n";
    else
      for (int link = 0; link < gpu.nvlinks; ++link)
        // The last ones are down; which of them is nothing that a gate asks.
        if (link < gpu.nvlinks_active)
          fmt::format_to(std::back_inserter(out), "\t Link {}: {:g} GB/s\n", link,
                         gpu.nvlink_gbyte_per_s);
        else
          fmt::format_to(std::back_inserter(out), "\t Link {}: <inactive>\n", link);
  }
  return Printed(std::move(out));
}

}  // namespace muster::lab
