// The kernel log of a lab node since its boot, as dmesg and journalctl show it.
#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "backend/lab/nvidia/node_view.h"
#include "base/strings.h"

namespace muster::lab {
namespace {

struct KernelLine {
  Duration since_boot{};
  std::string text;
};

void AddBoot(const NodeView& view, std::vector<KernelLine>& log) {
  auto add = [&](double seconds, std::string text) {
    log.push_back({FromSeconds(seconds), std::move(text)});
  };
  add(0, fmt::format("Linux version {} (buildd@lcy02-amd64-075) (x86_64-linux-gnu-gcc-13) "
                     "#88-Ubuntu SMP PREEMPT_DYNAMIC",
                     view.truth.kernel));
  add(0, fmt::format("Command line: BOOT_IMAGE=/boot/vmlinuz-{} root=UUID={} ro iommu=pt",
                     view.truth.kernel, view.truth.boot_id));
  add(0.0041, "DMI: Muster Lab/HGX, BIOS 2.3 06/01/2026");
  add(1.204117, "PCI: Using configuration type 1 for base access");
  add(3.518022, "systemd[1]: Detected architecture x86-64.");
  for (size_t i = 0; i < view.node.nics.size(); ++i) {
    const Nic& nic = view.node.nics[i];
    if (!HcaNow(view.state, view.node, nic, view.now).present) continue;
    const double at = 6.2 + 0.13 * static_cast<double>(i);
    add(at, fmt::format("mlx5_core 0000:{:02x}:00.0: firmware version: {}", 0x18 + i,
                        view.truth.hca_firmware));
    add(at + 0.05,
        fmt::format("mlx5_core 0000:{:02x}:00.0 {}: Port: 1 Link ACTIVE", 0x18 + i, nic.device));
  }
  if (view.node.gpus.empty()) return;
  add(11.002713, "nvidia: loading out-of-tree module taints kernel.");
  add(11.102931, "nvidia-nvlink: Nvlink Core is being initialized, major device number 510");
  add(11.402255,
      fmt::format(
          "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  {}  Tue Oct 28 21:02:11 UTC 2025",
          view.truth.loaded_driver_version));
  add(12.011502, "nvidia-uvm: Loaded the UVM driver, major device number 508.");
  add(12.401187, "[drm] [nvidia-drm] [GPU ID 0x00001b00] Loading driver");
}

// The driver names the GPU once before its first Xid; what follows an Xid depends on the code.
void AddXids(const NodeView& view, const GpuTruth& gpu, TimePoint boot,
             std::vector<KernelLine>& log) {
  const std::string slot = KernelAddress(gpu.pci_bus_id, true);
  bool named = false;
  for (const XidEvent& xid : gpu.xids) {
    const Duration at = std::max<Duration>(xid.at - boot, std::chrono::seconds(13));
    if (!named) log.push_back({at, fmt::format("NVRM: GPU at PCI:{}: {}", slot, gpu.uuid)});
    named = true;
    log.push_back({at, fmt::format("NVRM: Xid (PCI:{}): {}, {}", slot, xid.code, xid.text)});
    if (xid.code == 79)
      log.push_back({at, fmt::format("NVRM: GPU {}: GPU has fallen off the bus.",
                                     KernelAddress(gpu.pci_bus_id, false))});
    const std::string_view action = xid.code == 79 ? "0x2 (Node Reboot Required)"
                                    : xid.code == 95 || xid.code == 119 ? "0x1 (GPU Reset Required)"
                                                                        : "";
    if (!action.empty())
      log.push_back(
          {at,
           fmt::format("NVRM: Xid (PCI:{}): 154, GPU recovery action changed from 0x0 (None) to {}",
                       slot, action)});
  }
  (void)view;
}

std::vector<KernelLine> KernelLines(const NodeView& view) {
  std::vector<KernelLine> log;
  AddBoot(view, log);
  const TimePoint boot = view.now - view.truth.uptime;
  for (const GpuTruth& gpu : view.gpus) AddXids(view, gpu, boot, log);
  std::stable_sort(log.begin(), log.end(),
                   [](const auto& a, const auto& b) { return a.since_boot < b.since_boot; });
  return log;
}

std::string Stamp(TimePoint t, const char* format) {
  const std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(t).time_since_epoch().count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

bool Has(std::span<const std::string> args, std::string_view wanted) {
  return std::find(args.begin(), args.end(), wanted) != args.end();
}
std::string_view ValueOf(std::span<const std::string> args, std::string_view name,
                         std::string_view long_name) {
  for (size_t i = 0; i < args.size(); ++i) {
    if ((args[i] == name || args[i] == long_name) && i + 1 < args.size()) return args[i + 1];
    if (auto value = After(args[i], std::string(long_name) + "=")) return *value;
  }
  return {};
}

}  // namespace

CommandResult RunDmesg(const ToolCall& call) {
  const NodeView view = LookAt(call.state, *call.node, call.now);
  const std::string_view format = Has(call.args, "-T") || Has(call.args, "--ctime")
                                      ? "ctime"
                                      : ValueOf(call.args, "-", "--time-format");
  const TimePoint boot = view.NodeTime() - view.truth.uptime;
  std::string out;
  for (const KernelLine& line : KernelLines(view)) {
    const TimePoint at = boot + line.since_boot;
    if (format == "iso") {
      const auto us =
          std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch()).count() %
          1'000'000;
      fmt::format_to(std::back_inserter(out), "{},{:06}+00:00 {}\n", Stamp(at, "%Y-%m-%dT%H:%M:%S"),
                     us, line.text);
    } else if (format == "ctime") {
      fmt::format_to(std::back_inserter(out), "[{}] {}\n", CTime(at), line.text);
    } else {
      fmt::format_to(std::back_inserter(out), "[{:>12.6f}] {}\n", Seconds(line.since_boot),
                     line.text);
    }
  }
  return Printed(std::move(out));
}

CommandResult RunJournalctl(const ToolCall& call) {
  if (!Has(call.args, "-k") && !Has(call.args, "--dmesg")) return Printed("-- No entries --\n");
  const NodeView view = LookAt(call.state, *call.node, call.now);
  const std::string_view format = ValueOf(call.args, "-o", "--output");
  const TimePoint boot = view.NodeTime() - view.truth.uptime;
  std::string out;
  for (const KernelLine& line : KernelLines(view)) {
    const TimePoint at = boot + line.since_boot;
    fmt::format_to(
        std::back_inserter(out), "{} {} kernel: {}\n",
        Stamp(at, StartsWith(format, "short-iso") ? "%Y-%m-%dT%H:%M:%S+00:00" : "%b %d %H:%M:%S"),
        view.node.name, line.text);
  }
  return Printed(std::move(out));
}

}  // namespace muster::lab
