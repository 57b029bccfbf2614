// muster init: a new site file.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode Init(const Invocation& invocation);
}  // namespace muster::cli
