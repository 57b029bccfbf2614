#include "cli/live_option.h"

namespace muster::cli {

void AddLiveOptions(Args& args, LiveOptions& live) {
  args.Option("--kubeconfig", live.kubeconfig, "FILE", "Default: as kubectl finds it");
  args.Option("--context", live.context, "NAME", "A context of it");
  args.Option("--for", live.schedulers, "NAME",
              "spec.schedulerName of the pods to look at (default: muster)");
}

}  // namespace muster::cli
