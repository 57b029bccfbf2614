// The lab's InfiniBand programs and its /sys/class/infiniband. They print what infiniband-diags 44
// (Debian 12), ibutils 1.5.7 and perftest 4.5 print, byte for byte where a capture of the real
// program exists; what is true they ask state/truth.h.
#pragma once

#include <span>
#include <string>

#include "backend/lab/state/tool.h"

namespace muster::lab {

// ibstat, ibstatus, iblinkinfo, ibnetdiscover, ibswitches, ibhosts, perfquery, ibqueryerrors,
// sminfo, saquery, ibdiagnet, ib_write_bw.
std::span<const Tool> InfinibandTools();
// /sys/class/infiniband and /sys/class/infiniband_mad, and the files that ibdiagnet leaves in /tmp.
std::span<const LabFile> InfinibandFiles();

// Writes a node's class/infiniband and class/infiniband_mad under `folder`, a stand-in for /sys
// that the real ibstat (in a mount namespace) and prometheus-node-exporter (--path.sysfs) read.
Status WriteInfinibandSysfs(const LabState& state, const Node& node, Files& files,
                            const std::string& folder, TimePoint now);

}  // namespace muster::lab
