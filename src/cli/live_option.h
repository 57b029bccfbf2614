// The options of the commands that ask a Kubernetes cluster as it is now, and what they all say of
// it.
#pragma once

#include "app/live.h"
#include "cli/args.h"
#include "cli/output.h"

namespace muster::cli {

void AddLiveOptions(Args& args, LiveOptions& live);
// What could not be read: without it an answer looks surer than it is.
void TellTroubles(const std::vector<std::string>& troubles, Document& doc);

}  // namespace muster::cli
