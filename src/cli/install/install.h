// muster install: the scheduler and its roles in a cluster, and the kubectl plugin.
#pragma once

#include "cli/commands.h"

namespace muster::cli {

ExitCode InstallKubernetes(const Invocation& invocation);
ExitCode InstallKubectl(const Invocation& invocation);

}  // namespace muster::cli
