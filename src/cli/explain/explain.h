// muster explain: what a code means, offline.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode ExplainCode(const Invocation& invocation);
}  // namespace muster::cli
