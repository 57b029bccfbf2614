// muster advise: from a failure or a workload to the control to use.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode AdviseControl(const Invocation& invocation);
}  // namespace muster::cli
