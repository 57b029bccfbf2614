// muster sched: the scheduler core by hand, on a cluster script.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode SchedSimulate(const Invocation& invocation);
ExitCode SchedWhatIf(const Invocation& invocation);
ExitCode SchedBench(const Invocation& invocation);
}  // namespace muster::cli
