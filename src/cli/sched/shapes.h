// muster sched shapes: which GPU counts a node class admits, and why it refuses the others.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode SchedShapes(const Invocation& invocation);
}  // namespace muster::cli
