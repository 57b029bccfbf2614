// muster check: look and judge, change nothing.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode Check(const Invocation& invocation);
}  // namespace muster::cli
