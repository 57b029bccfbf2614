// muster sched replay: GPU allocation against load, for a published trace and a packing policy.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode SchedReplay(const Invocation& invocation);
}  // namespace muster::cli
