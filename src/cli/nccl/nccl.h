// muster nccl: the job as NCCL's own logs show it.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode NcclJob(const Invocation& invocation);
}  // namespace muster::cli
