// muster capture: what every probe read, as files.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode CaptureSite(const Invocation& invocation);
}  // namespace muster::cli
