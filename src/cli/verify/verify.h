// muster verify: judge a stored run again, offline.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode Verify(const Invocation& invocation);
}  // namespace muster::cli
