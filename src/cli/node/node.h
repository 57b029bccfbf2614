// muster node: list, cordon, drain, return.
#pragma once

#include "cli/commands.h"

namespace muster::cli {

ExitCode NodeList(const Invocation& invocation);
ExitCode NodeCordon(const Invocation& invocation);
ExitCode NodeDrain(const Invocation& invocation);
ExitCode NodeReturn(const Invocation& invocation);

}  // namespace muster::cli
