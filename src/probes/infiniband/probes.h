// The probes of an InfiniBand fabric. infiniband.ibstat, ibstatus and sysfs are read on each node;
// the others ask the whole fabric and are read once, on the host where the fabric's tools run.
#pragma once

#include <span>

#include "probes/probe.h"

namespace muster {

std::span<const Probe> InfinibandProbes();

}  // namespace muster
