// One tool of a lab's node as a process: what `muster lab kubernetes` runs in a probe pod in the
// place of the node's own.
#pragma once

#include <span>
#include <string>

#include "world/world.h"

namespace muster::lab {

// `args`: the tool and its words. Reads MUSTER_LAB (the lab's folder) and MUSTER_NODE. Prints and
// ends as the tool does; 127 for one that the node does not have, 64 for bad use.
int LabToolMain(std::span<const std::string> args, World& world);

}  // namespace muster::lab
