// muster schema: the JSON schema of every kind that -o json prints.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode Schema(const Invocation& invocation);
}  // namespace muster::cli
