// muster completion: shell completions made from the command table.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode Completion(const Invocation& invocation);
}  // namespace muster::cli
