// muster bringup: plan, run, status, resume, report, watch.
#pragma once

#include "cli/commands.h"

namespace muster::cli {

ExitCode BringupPlan(const Invocation& invocation);
ExitCode BringupRun(const Invocation& invocation);
ExitCode BringupStatus(const Invocation& invocation);
ExitCode BringupResume(const Invocation& invocation);
ExitCode BringupReport(const Invocation& invocation);
ExitCode BringupWatch(const Invocation& invocation);

}  // namespace muster::cli
