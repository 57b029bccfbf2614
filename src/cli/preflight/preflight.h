// muster preflight: what must be so right before an expensive job.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode PreflightJob(const Invocation& invocation);
}  // namespace muster::cli
