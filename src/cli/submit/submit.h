// muster submit: a job class and a shape become a whole job in the cluster, previewed first.
#pragma once

#include "cli/commands.h"

namespace muster::cli {

ExitCode SubmitJob(const Invocation& invocation);

}  // namespace muster::cli
