// The second part of the table of faults, which is too long for one file, and what both parts
// quote.
#pragma once

#include <string_view>
#include <vector>

#include "backend/lab/state/lab_state.h"

namespace muster::lab {

inline constexpr std::string_view kNccl =
    "NVIDIA/nccl src/transport/net.cc, src/graph/paths.cc; NCCL troubleshooting guide";

// Gates 6 to 8, and none.
std::vector<FaultKind> WorkFaults();

}  // namespace muster::lab
