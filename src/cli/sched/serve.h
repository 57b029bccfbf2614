// muster sched serve: the gang scheduler as a service.
#pragma once

#include "cli/commands.h"

namespace muster::cli {

ExitCode SchedServeCluster(const Invocation& invocation);

}  // namespace muster::cli
