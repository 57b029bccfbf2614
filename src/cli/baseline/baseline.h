// muster baseline: set, diff, list.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode BaselineSet(const Invocation& invocation);
ExitCode BaselineDiff(const Invocation& invocation);
ExitCode BaselineList(const Invocation& invocation);
}  // namespace muster::cli
