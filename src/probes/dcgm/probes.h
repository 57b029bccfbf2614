// What the vendor's own diagnostic says of a node's GPUs. It takes minutes and it is believed test
// by test, never by its exit code.
#pragma once

#include <span>

#include "probes/probe.h"

namespace muster {

// dcgm.diag: `dcgmi diag -r 3 -j`. The diagnostic of an eight-GPU node takes 10 to 15 minutes (DCGM
// user guide); it is given 30.
std::span<const Probe> DcgmProbes();

}  // namespace muster
