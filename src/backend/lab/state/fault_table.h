// The second part of the table of faults, which is too long for one file.
#pragma once

#include <vector>

#include "backend/lab/state/lab_state.h"

namespace muster::lab {

// Gates 6 to 8, and none.
std::vector<FaultKind> WorkFaults();

}  // namespace muster::lab
