// From a reading (GPU addresses, then the log) to the facts of each GPU.
#pragma once

#include "probes/probe.h"

namespace muster::kernel_log {

// The lines that divide a reading; a kernel line never stands alone like this.
inline constexpr std::string_view kMapMark = "# muster: gpu addresses";
inline constexpr std::string_view kLogMark = "# muster: kernel log";
inline constexpr std::string_view kEndMark = "# muster: end";

// gpu.fatal_xids and gpu.last_fatal_xid for every GPU of the address list. Zero is said only of a
// whole log (with its end mark) that reaches back to the boot and holds no Xid of this GPU that the
// catalogue does not know. A fatal Xid of an address that the list does not have is told of the
// node, as Unobserved with the line.
Observations ParseXids(const Reading& reading);

}  // namespace muster::kernel_log
