// The NCCL environment of a node type, from the catalogue and the site's inventory: each variable
// with its reason, and what is left to NCCL with the reason for that.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/site.h"

namespace muster {

struct NcclVariable {
  std::string name, value, why, source;
};
struct NcclProfile {
  std::string profile;             // "production", "debug"
  std::string node_type;           // "8 x NVIDIA H100 80GB HBM3, 8 adapters"
  std::vector<std::string> nodes;  // it is for
  std::vector<NcclVariable> variables;
  std::vector<NcclVariable> left_alone;  // no value
  std::vector<std::string> notes;        // what could not be decided, and how to decide it
};

// `node` picks the node type; empty = the site's only one. kInvalid where nodes differ and none
// was named, or the profile does not exist; kNotFound for a node that is not there.
Result<NcclProfile> MakeNcclProfile(const Site& site, const std::string& profile,
                                    const std::string& node);

}  // namespace muster
