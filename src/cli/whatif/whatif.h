// muster whatif: what would become of a cluster's gangs, on a copy.
#pragma once

#include "cli/commands.h"

namespace muster::cli {

ExitCode WhatIfLive(const Invocation& invocation);

}  // namespace muster::cli
