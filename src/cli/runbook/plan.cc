// muster runbook plan.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/runbooks.h"
#include "base/strings.h"
#include "cli/output.h"
#include "cli/runbook/runbook.h"
#include "cli/site_option.h"

namespace muster::cli {

ExitCode RunbookPlan(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  PlanOptions options;
  std::string id, out;
  std::vector<std::string> sets;
  bool all = false, detailed = false;
  Args args("runbook plan",
            "What would be done to what, in which waves, and what proves it; nothing is done");
  args.Positional("RUNBOOK", id, "Id or name: R6, gpu-fault-rma");
  args.Option("--on", options.on, "TARGETS", "Nodes, or GPUs as node-07/gpu3; comma separated");
  args.Option("--set", sets, "NAME=VALUE", "An input of the runbook");
  args.Option("--at-once", options.at_once, "N", "Fewer at once than the runbook allows");
  args.Option("--out", out, "FILE", "Where the plan is written, for muster runbook run");
  args.Flag("--all", all, "Show every target");
  args.Flag("--detailed-exitcode", detailed, "Exit 10: the plan would change something");
  site_option.AddTo(args);
  output.AddTo(args);
  args.Example("muster runbook plan R6 --on node003/gpu3 --out plan.json");
  args.Example(
      "muster runbook plan R1 --on node000,node001 --set driver=580.95.05 --set "
      "previous=570.211.01");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  for (const std::string& set : sets) {
    const size_t equals = set.find('=');
    if (equals == std::string::npos || equals == 0)
      return Complain(context, Code::kInvalid,
                      fmt::format("--set {}: expected NAME=VALUE", Printable(set)));
    if (!options.inputs.emplace(set.substr(0, equals), set.substr(equals + 1)).second)
      return Complain(context, Code::kInvalid,
                      fmt::format("--set {}: named twice", Printable(set.substr(0, equals))));
  }
  options.by = context.user_at_host;
  auto site = site_option.Open(context, /*modelled_telemetry=*/true);
  if (!site.ok()) return Complain(context, site.error());
  const auto known = FindRunbook(context.world.files, site->paths.folder, id);
  if (!known.ok()) return Complain(context, known.error());
  const auto plan = PlanRunbook(*site, *known, options,
                                {.self_binary = context.self_binary, .modelled_telemetry = true});
  if (!plan.ok()) return Complain(context, plan.error());
  if (!out.empty()) {
    const Status written = context.world.files.WriteAtomic(out, WritePlan(*plan));
    if (!written.ok()) return Complain(context, written.error());
  }
  Document doc;
  doc.kind = "RunbookPlan";
  *doc.json = nlohmann::ordered_json::parse(WritePlan(*plan));
  doc.table = PrintPlan(*plan, all);
  const WindowAnswer window =
      AskWindows(site->site().change_windows, plan->runbook.id, context.world.clock.Now());
  if (window.held)
    doc.table += window.open ? fmt::format("change window: {} is open until {}\n", window.name,
                                           FormatTime(window.closes_at))
                             : "change window: " + WhyClosed(window, plan->runbook.id) + "\n";
  doc.table += out.empty()
                   ? "\nnothing was done. --out FILE keeps the plan for muster runbook run\n"
                   : fmt::format("\nnothing was done. muster runbook run {}\n", out);
  for (const PlannedTarget& target : plan->targets)
    doc.cases.push_back({plan->runbook.id, target.on.id, Level::kPass, ""});
  Emit(context, output, doc);
  return detailed ? ExitCode::kPlanHasChanges : ExitCode::kDone;
}

}  // namespace muster::cli
