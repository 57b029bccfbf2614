// muster version.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode Version(const Invocation& invocation);
}  // namespace muster::cli
