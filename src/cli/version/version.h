// muster version: which binary this is, and which catalogue is inside it.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode Version(const Invocation& invocation);
}  // namespace muster::cli
