#include "cli/whatif/whatif.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/live.h"
#include "base/strings.h"
#include "cli/live_option.h"
#include "cli/output.h"

namespace muster::cli {

ExitCode WhatIfLive(const Invocation& invocation) {
  OutputOptions output;
  LiveOptions options;
  std::string node;
  Args args("whatif", "What would become of the gangs if a node were drained now; nothing is done");
  args.Required("--drain", node, "NODE", "The node");
  AddLiveOptions(args, options);
  output.AddTo(args);
  args.Example("muster whatif --drain node003");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto cluster = LiveCluster::Load(context.world, options);
  if (!cluster.ok()) return Complain(context, cluster.error());
  const auto drain = (*cluster)->Drain(node);
  if (!drain.ok()) return Complain(context, drain.error());
  Document doc;
  doc.kind = "DrainForecast";
  *doc.json = {{"node", node},
               {"origin", "live"},
               {"there", drain->there},
               {"moved", drain->moved},
               {"evicted", drain->evicted}};
  const auto list = [](const std::vector<std::string>& items) {
    return items.empty() ? std::string("none") : Printable(Join(items, "\n                     "));
  };
  doc.table = fmt::format(
      "gangs on {:<10} {}\nranks that move     {}\ngangs that wait again {}\n"
      "this is a forecast on a copy: a rank moves by being made again\n",
      node, list(drain->there), list(drain->moved), list(drain->evicted));
  TellTroubles((*cluster)->Troubles(), doc);
  doc.cases = {{"whatif", node, Level::kPass, ""}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
