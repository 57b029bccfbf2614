// muster nccl-profile: the NCCL environment of a node type, each variable with its reason.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode PrintNcclProfile(const Invocation& invocation);
}  // namespace muster::cli
