#include "probes/kernel_log/probes.h"

#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/kernel_log/xid_facts.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kId = "kernel_log.xid";

// The journal keeps the whole boot where it is kept at all; the ring buffer behind dmesg wraps.
Reading ReadLog(const HostPorts& ports) {
  Reading log = ReadCommand(
      ports, kId,
      {.argv = {"journalctl", "-k", "-b", "--no-pager", "-o", "short-iso"}, .timeout = 60s});
  const bool useful = !log.fault && log.exit_code == 0 && Contains(log.text, "kernel:");
  if (useful || (log.fault && log.fault->reason == UnknownReason::kUnreachable)) return log;
  Reading ring =
      ReadCommand(ports, kId, {.argv = {"dmesg", "--time-format", "iso"}, .timeout = 60s});
  if (!ring.fault && ring.exit_code != 0)
    ring.fault = Unobserved{UnknownReason::kToolFault,
                            fmt::format("dmesg ended with exit code {}", ring.exit_code)};
  return ring;
}

Reading CollectXids(const HostPorts& ports) {
  const Reading map =
      ReadCommand(ports, kId,
                  {.argv = {"nvidia-smi", "--query-gpu=index,pci.bus_id", "--format=csv,noheader"},
                   .timeout = 60s});
  Reading reading = ReadLog(ports);
  reading.command = fmt::format("{}; {}", map.command, reading.command);
  reading.took += map.took;
  if (reading.fault) return reading;
  const std::string said = map.fault ? map.fault->detail + "\n" : map.text;
  const auto ended = [](const std::string& text) {
    return text.empty() || text.back() == '\n' ? "" : "\n";
  };
  reading.text =
      fmt::format("{}\n{}{}{}\n{}{}{}\n", kernel_log::kMapMark, said, ended(said),
                  kernel_log::kLogMark, reading.text, ended(reading.text), kernel_log::kEndMark);
  return reading;
}

}  // namespace

std::span<const Probe> KernelLogProbes() {
  static const std::array<Probe, 1> kProbes = {{
      {kId, "txt", {"gpu.fatal_xids", "gpu.last_fatal_xid"}, CollectXids, kernel_log::ParseXids},
  }};
  return kProbes;
}

}  // namespace muster
