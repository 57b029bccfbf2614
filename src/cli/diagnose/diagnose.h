// muster diagnose: what happened, from whatever a person has at hand.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode DiagnoseFiles(const Invocation& invocation);
}  // namespace muster::cli
