// What preflight asks of a lab node: names (getent) and a folder that can be written (df, dd,
// unlink). Nothing is written anywhere: the answers follow from the faults that are in. Forms:
// glibc 2.36, coreutils 9.1.
#include <fmt/format.h>

#include "backend/lab/tool_table.h"
#include "base/strings.h"

namespace muster::lab {

namespace {

constexpr int64_t kDiskBytes = int64_t{14} << 40;

// ahosts NAME, hosts NAME: the nodes of the cluster by name or address; exit 2 for others.
CommandResult Getent(const ToolCall& call) {
  if (call.args.size() != 2 || (call.args[0] != "ahosts" && call.args[0] != "hosts"))
    return Complained("Usage: getent [OPTION...] database [key ...]\n", 1);
  const std::string& name = call.args[1];
  const auto& nodes = call.state.cluster.nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].name != name && nodes[i].address != name) continue;
    const std::string address = fmt::format("10.40.{}.{}", i / 250, 1 + i % 250);
    if (call.args[0] == "hosts") return Printed(fmt::format("{:<16}{}\n", address, name));
    return Printed(fmt::format("{0:<16}STREAM {1}\n{0:<16}DGRAM\n{0:<16}RAW\n", address, name));
  }
  return Printed("", 2);
}

bool DiskFull(const ToolCall& call) {
  return call.state.Has("checkpoint_disk_full", NodeSubject(call.node->name));
}

// df -P -B1 PATH
CommandResult Df(const ToolCall& call) {
  if (call.args.empty() || !StartsWith(call.args.back(), "/"))
    return Complained("df: this host knows df -P -B1 PATH only\n");
  const int64_t free = DiskFull(call) ? 0 : kDiskBytes / 2;
  return Printed(
      fmt::format("Filesystem         1-blocks       Used      Available Capacity Mounted on\n"
                  "/dev/md0     {} {} {}      {}% /scratch\n",
                  kDiskBytes, kDiskBytes - free, free, free == 0 ? 100 : 50));
}

// dd if=/dev/zero of=FILE bs=1M count=N conv=fsync
CommandResult Dd(const ToolCall& call) {
  std::string file;
  for (const std::string& arg : call.args) {
    if (const auto name = After(arg, "of=")) file = std::string(*name);
  }
  if (DiskFull(call))
    return Complained(
        fmt::format("dd: error writing '{}': No space left on device\n1+0 records "
                    "in\n0+0 records out\n",
                    file));
  return {0, false, false, {}, "8+0 records in\n8+0 records out\n8388608 bytes copied\n", {}};
}

// Only what preflight wrote: a lab host has no rm.
CommandResult Unlink(const ToolCall& call) {
  if (call.args.size() == 1 && Contains(call.args[0], "/.muster-preflight-")) return Printed("");
  return Complained("unlink: cannot unlink: Operation not permitted\n");
}

}  // namespace

std::span<const Tool> PathTools() {
  static constexpr Tool kTools[] = {{"getent", Getent}, {"df", Df}, {"dd", Dd}, {"unlink", Unlink}};
  return kTools;
}

}  // namespace muster::lab
