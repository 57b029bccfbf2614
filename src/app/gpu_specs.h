// The GPU table of catalogue/gpus.yaml as values: NVLink and peak figures by model.
#pragma once

#include <vector>

#include "measure/collective/ceiling.h"

namespace muster {

// Read once from the binary's own catalogue. An entry that does not read is left out; a test holds
// the file to its shape.
const std::vector<GpuSpec>& GpuSpecs();

}  // namespace muster
