// The probe of RDMA bandwidth between two hosts. It has no collector for a single host: CollectPair
// (ib_write_bw.h) takes two.
#pragma once

#include <span>

#include "probes/probe.h"

namespace muster {

std::span<const Probe> RdmaProbes();

}  // namespace muster
