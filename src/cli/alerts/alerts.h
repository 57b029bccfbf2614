// muster alerts: repairs that Alertmanager's webhooks ask for.
#pragma once

#include "cli/commands.h"

namespace muster::cli {

ExitCode AlertsServe(const Invocation& invocation);
ExitCode AlertsList(const Invocation& invocation);
ExitCode AlertsApprove(const Invocation& invocation);

}  // namespace muster::cli
