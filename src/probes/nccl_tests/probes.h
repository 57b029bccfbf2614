// The probes of nccl-tests: one reading is the output (text or JSON) of one run; its subject is the
// scope the reading is named after.
#pragma once

#include <span>

#include "probes/probe.h"

namespace muster {

// "nccl_tests.all_reduce": Reading::host names the scope ("all", "pair-1"). Collecting it runs an
// all-reduce over the GPUs of one host (minutes, full load): only for callers that mean it.
std::span<const Probe> NcclTestsProbes();

}  // namespace muster
