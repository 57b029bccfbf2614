// What a node says of itself beside its GPUs: that it answers, what time it thinks it is, which
// services and kernel modules run.
#pragma once

#include <span>

#include "probes/probe.h"

namespace muster {

// node.identity, node.services, node.modules.
std::span<const Probe> NodeProbes();

}  // namespace muster
