// The options of the commands that ask a Kubernetes cluster as it is now.
#pragma once

#include "app/live.h"
#include "cli/args.h"

namespace muster::cli {

void AddLiveOptions(Args& args, LiveOptions& live);

}  // namespace muster::cli
