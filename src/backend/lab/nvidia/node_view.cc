#include "backend/lab/nvidia/node_view.h"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::lab {

NodeView LookAt(const LabState& state, const Node& node, TimePoint now) {
  NodeView view{state, node, now, NodeNow(state, node, now), {}};
  for (const Gpu& gpu : node.gpus) view.gpus.push_back(GpuNow(state, node, gpu.index, now));
  return view;
}

size_t NodeView::Listed() const {
  return static_cast<size_t>(
      std::count_if(gpus.begin(), gpus.end(), [](const auto& gpu) { return gpu.present; }));
}

std::string CTime(TimePoint t) {
  const std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(t).time_since_epoch().count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &parts)};
}

std::string KernelAddress(std::string_view pci_bus_id, bool slot) {
  std::string text = ToLower(pci_bus_id);
  if (text.size() > 12) text = text.substr(text.size() - 12);
  return slot ? text.substr(0, text.find('.')) : text;
}

std::string ShortAddress(std::string_view pci_bus_id) {
  const std::string text = KernelAddress(pci_bus_id, false);
  return text.size() > 7 ? text.substr(text.size() - 7) : text;
}

// A GPU that left the bus while the driver runs keeps its index; NVML then fails to hand it out
// (driver 470 and later).
std::string LostLines(const NodeView& view) {
  std::string text;
  for (const GpuTruth& gpu : view.gpus) {
    if (gpu.present) continue;
    fmt::format_to(std::back_inserter(text),
                   "Unable to determine the device handle for GPU{}: {}: Unknown Error\n",
                   gpu.index, KernelAddress(gpu.pci_bus_id, false));
  }
  return text;
}

}  // namespace muster::lab
