// How GPUs are shared, from catalogue/sharing.yaml: the MIG profiles of each model, and what MIG,
// MPS and time-slicing keep apart.
#pragma once

#include <string_view>
#include <vector>

#include "sched/sharing/mig.h"

namespace muster {

struct Sharing {
  std::vector<MigModel> mig;
  std::vector<SharingMode> modes;
};
// Every mistake of the text, a line each. Profiles must lie within eight memory and seven compute
// slices.
Result<Sharing> ParseSharing(std::string_view text, std::string_view file);
Result<Sharing> EmbeddedSharing();

}  // namespace muster
