// A look for a few facts alone, on many nodes at once: what a plan needs of its targets.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "app/bringup.h"

namespace muster {

// Only what gives these facts of the gate is read, once on each node; no proof, nothing that loads
// GPUs.
Observations LookForFacts(SiteContext& context, int gate, const std::vector<std::string>& nodes,
                          const std::set<std::string>& facts);

}  // namespace muster
