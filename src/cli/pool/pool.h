// muster pool: the readiness sheet of a pool, from the inventory.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode PoolReadiness(const Invocation& invocation);
}  // namespace muster::cli
