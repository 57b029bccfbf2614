#include "cli/live_option.h"

#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster::cli {

void AddLiveOptions(Args& args, LiveOptions& live) {
  args.Option("--kubeconfig", live.kubeconfig, "FILE", "Default: as kubectl finds it");
  args.Option("--context", live.context, "NAME", "A context of it");
  args.Option("--for", live.schedulers, "NAME",
              "spec.schedulerName of the pods to look at (default: muster)");
}

void TellTroubles(const std::vector<std::string>& troubles, Document& doc) {
  (*doc.json)["troubles"] = troubles;
  for (const std::string& trouble : troubles) doc.table += "note: " + Printable(trouble) + "\n";
}

}  // namespace muster::cli
