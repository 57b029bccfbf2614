// All programs and files that a lab node has: those of the families (infiniband, nvidia, nccl) and
// the few plain ones around them.
#pragma once

#include <string_view>
#include <vector>

#include "backend/lab/state/tool.h"

namespace muster::lab {

// Nothing for a program that the node does not have. `program` may carry a path
// ("/usr/sbin/ibstat").
const Tool* FindTool(std::string_view program);
// The longest prefix that fits; nothing when no family keeps such a file.
const LabFile* FindLabFile(std::string_view path);

// true, false, hostname, date, uname, uptime: coreutils 9.1 as far as probes ask them.
std::span<const Tool> PlainTools();
// dpkg-query, ofed_info, nvidia-ctk; /etc/os-release.
std::span<const Tool> SoftwareTools();
std::span<const LabFile> SoftwareFiles();
// getent, df, dd, unlink.
std::span<const Tool> PathTools();
// test, dpkg, pgrep, ipmitool, lsinitramfs: what runbooks ask of a host.
std::span<const Tool> RepairTools();

}  // namespace muster::lab
