// muster why: why a job of a cluster script waits, and what would start it.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode WhyPending(const Invocation& invocation);
}  // namespace muster::cli
