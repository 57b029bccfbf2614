// muster bundle: the evidence of a run in one archive.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode Bundle(const Invocation& invocation);
}  // namespace muster::cli
