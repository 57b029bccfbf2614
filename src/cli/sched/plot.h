// muster sched plot: a cluster script and its decisions as a picture.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode SchedPlot(const Invocation& invocation);
}  // namespace muster::cli
