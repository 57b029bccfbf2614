// What the kernel says of the GPUs: the Xids of the driver. DCGM misses some of them and repeats
// stale ones, nvidia-smi shows none, so the kernel log is a witness of its own.
#pragma once

#include <span>

#include "probes/probe.h"

namespace muster {

// kernel_log.xid: the kernel log of this boot, with nvidia-smi's list of PCI addresses before it.
// One reading holds both, because the log knows addresses only and a stored reading must be
// understood without its machine.
std::span<const Probe> KernelLogProbes();

}  // namespace muster
