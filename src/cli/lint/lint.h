// muster lint: manifests held to the platform contract, with repairs as a patch.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode LintManifests(const Invocation& invocation);
}  // namespace muster::cli
