// What runbooks ask of a lab node before and after they act: files (test), packages (dpkg),
// processes (pgrep), its controller in band (ipmitool), its boot image (lsinitramfs). The answers
// follow from the lab's truth. Forms: coreutils 9.1, dpkg 1.21, ipmitool 1.8.19, initramfs-tools
// 0.142.
#include <cmath>

#include <fmt/format.h>

#include "backend/lab/tool_table.h"
#include "base/strings.h"

namespace muster::lab {

namespace {

// The files that a healthy node of this lab has: headers and modules of the kernel that runs,
// firmware of the driver that is installed, finished checkpoints under /scratch/checkpoints/.
bool NodeHas(const ToolCall& call, const std::string& path) {
  const NodeTruth truth = NodeNow(call.state, *call.node, call.now);
  const auto ops = call.state.ops.find(call.node->name);
  if (ops != call.state.ops.end() && ops->second.disk.contains(path)) return true;
  if (path == HeadersOf(truth.kernel)) return truth.headers;
  for (const Gpu& gpu : call.node->gpus) {
    const Fault* held = call.state.Find("gpu_memory_held", GpuSubject(call.node->name, gpu.index));
    if (held != nullptr && path == fmt::format("/proc/{}", std::llround(Setting(*held, "pid"))))
      return true;
  }
  if (call.state.Has("checkpoint_cut_off", NodeSubject(call.node->name))) return false;
  if (path == fmt::format("/lib/firmware/nvidia/{}/gsp_ga10x.bin", truth.driver_version))
    return true;
  return StartsWith(path, "/scratch/checkpoints/") && EndsWith(path, "/.metadata");
}

CommandResult Test(const ToolCall& call) {
  auto args = call.args;
  const bool negated = !args.empty() && args[0] == "!";
  if (negated) args = args.subspan(1);
  bool holds = false;
  if (args.size() == 3 && (args[1] == "=" || args[1] == "!=")) {
    holds = (args[0] == args[2]) == (args[1] == "=");
  } else if (args.size() == 2 && (args[0] == "-e" || args[0] == "-d" || args[0] == "-s")) {
    holds = NodeHas(call, args[1]);
  } else {
    return Complained("test: this host knows A = B, A != B, -e, -d and -s only\n", 2);
  }
  return Printed("", holds != negated ? 0 : 1);
}

// Packages of a node are whole.
CommandResult Dpkg(const ToolCall& call) {
  if (!call.args.empty() && (call.args[0] == "--verify" || call.args[0] == "-V"))
    return Printed("");
  return Complained("dpkg: this host knows dpkg --verify PACKAGE only\n", 2);
}

// A control daemon runs while its unit was started.
CommandResult Pgrep(const ToolCall& call) {
  if (call.args.size() != 2 || call.args[0] != "-f")
    return Complained("pgrep: this host knows pgrep -f PATTERN only\n", 2);
  if (Contains(call.args[1], "mps") && NodeNow(call.state, *call.node, call.now).mps_runs)
    return Printed("4711\n");
  return Printed("", 1);
}

CommandResult Ipmitool(const ToolCall& call) {
  const std::string line = fmt::format("{}", fmt::join(call.args, " "));
  if (line == "mc info")
    return Printed("Device ID                 : 32\nFirmware Revision         : 1.73\n");
  if (line == "chassis status")
    return Printed("System Power         : on\nPower Overload       : false\n");
  if (line == "sel info")
    return Printed("SEL Information\nVersion          : 1.5\nEntries          : 0\n");
  return Complained("ipmitool: this host knows mc info, chassis status and sel info only\n");
}

CommandResult Lsinitramfs(const ToolCall& call) {
  const NodeTruth truth = NodeNow(call.state, *call.node, call.now);
  const std::string& kernel = truth.kernel;
  if (call.args.size() != 1 || call.args[0] != "/boot/initrd.img-" + kernel)
    return Complained("lsinitramfs: no such image\n");
  std::string out = fmt::format("usr/lib/modules/{}/kernel\n", kernel);
  // An image that was made before the module was built has none.
  const auto ops = call.state.ops.find(call.node->name);
  if (truth.module_built ||
      (ops != call.state.ops.end() && ops->second.disk.contains(call.args[0])))
    out += fmt::format("usr/lib/modules/{}/updates/dkms/nvidia.ko\n", kernel);
  return Printed(std::move(out));
}

}  // namespace

std::span<const Tool> RepairTools() {
  static constexpr Tool kTools[] = {{"test", Test},
                                    {"dpkg", Dpkg},
                                    {"pgrep", Pgrep},
                                    {"ipmitool", Ipmitool},
                                    {"lsinitramfs", Lsinitramfs}};
  return kTools;
}

}  // namespace muster::lab
