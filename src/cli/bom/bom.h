// muster bom record|diff|check: what every node runs, and what drifts.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode BomRecordFile(const Invocation& invocation);
ExitCode BomImageRoot(const Invocation& invocation);
ExitCode BomDiffFiles(const Invocation& invocation);
ExitCode BomCheckSite(const Invocation& invocation);
}  // namespace muster::cli
