// What the driver's own tool says of a node's GPUs: identity, memory health, throttling, links,
// topology. The first witness of gate 3; DCGM and the kernel log are heard beside it, because none
// of the three sees everything.
#pragma once

#include <span>

#include "probes/probe.h"

namespace muster {

// nvidia_smi.query (`nvidia-smi -q -x`), nvidia_smi.topo (`nvidia-smi topo -m`), nvidia_smi.nvlink
// (`nvidia-smi nvlink -s`).
std::span<const Probe> NvidiaSmiProbes();

}  // namespace muster
