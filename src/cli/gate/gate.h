// muster gate: sign (the facility's sign-off), waive, and stale (what nothing observes changed).
#pragma once

#include "cli/commands.h"

namespace muster::cli {

ExitCode GateSign(const Invocation& invocation);
ExitCode GateWaive(const Invocation& invocation);
ExitCode GateStale(const Invocation& invocation);

}  // namespace muster::cli
