// muster kv-fit: does the KV cache fit before the deploy.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode KvFitDeploy(const Invocation& invocation);
}  // namespace muster::cli
