// The probe of NCCL's own log: one reading is the joined output of all ranks of one job.
#pragma once

#include <span>

#include "probes/probe.h"

namespace muster {

// "nccl_log.transport": Reading::host names the scope. Collecting it runs an all-reduce over the
// GPUs of one host (full load): only for callers that mean it.
std::span<const Probe> NcclLogProbes();

}  // namespace muster
