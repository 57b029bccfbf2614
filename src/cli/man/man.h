// muster man: the manual page, made from the command table.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode Man(const Invocation& invocation);
}  // namespace muster::cli
