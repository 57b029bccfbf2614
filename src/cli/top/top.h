// muster top: one moment of a cluster script: use, queues, waits, and who sits where.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode Top(const Invocation& invocation);
}  // namespace muster::cli
