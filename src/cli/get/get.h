// muster get: gangs, jobs, nodes and queues of a cluster as it is now.
#pragma once

#include "cli/commands.h"

namespace muster::cli {

ExitCode GetLive(const Invocation& invocation);

}  // namespace muster::cli
