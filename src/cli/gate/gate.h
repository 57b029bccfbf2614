// muster gate: sign (the facility's sign-off) and waive.
#pragma once

#include "cli/commands.h"

namespace muster::cli {

ExitCode GateSign(const Invocation& invocation);
ExitCode GateWaive(const Invocation& invocation);

}  // namespace muster::cli
