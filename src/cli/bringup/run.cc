#include <map>
#include <ostream>

#include <fmt/format.h>

#include "cli/bringup/bringup.h"
#include "cli/live_line.h"
#include "cli/site_option.h"
#include "cli/views.h"

namespace muster::cli {

namespace {

struct RunArgs {
  SiteOption site;
  OutputOptions output;
  BringupOptions options;
  bool strict = false;

  void AddScope(Args& args) {
    args.Option("--from", options.from, "N", "First gate (1 to 8)");
    args.Option("--to", options.to, "N", "Last gate (1 to 8)");
    args.Option("--scope", options.scope, "NAME",
                "A scope of the site: a node pair, a pool, an island");
    args.Option("--nodes", options.nodes, "NODES", "Only these nodes, comma separated");
  }
  void AddCommon(Args& args) {
    site.AddTo(args);
    args.Flag("--approve", options.approve_destructive,
              "Approve acts that the site marks destructive");
    args.Flag("--strict", strict, "Exit 5 when there are warnings only");
    output.AddTo(args);
  }
};

// A run that stopped for a person or a guard says so by its code; otherwise the verdict decides.
ExitCode CodeOf(const Run& run, bool strict) {
  for (const GateRecord& record : run.gates) {
    if (!record.result) continue;
    for (const ActRecord& act : record.acts) {
      if (act.outcome == "in doubt") return ExitCode::kNeedsPerson;
    }
    if (record.result->blocked_by.find("not approved") != std::string::npos)
      return ExitCode::kRefused;
  }
  return ExitCodeFor(run.level, strict);
}

ExitCode Show(Context& context, const RunArgs& run_args, const Result<Run>& run,
              const std::string& site_file) {
  if (!run.ok()) return Complain(context, run.error());
  Emit(context, run_args.output, RunView(context, *run, site_file));
  return CodeOf(*run, run_args.strict);
}

}  // namespace

ExitCode BringupRun(const Invocation& invocation) {
  RunArgs a;
  Args args("bringup run",
            "Take the site through the gates, in order, with evidence for every verdict");
  a.AddScope(args);
  a.AddCommon(args);
  args.Example("muster bringup run --site site.yaml");
  args.Example(
      "muster bringup run --site site.yaml --from 6   # after a driver, firmware or fabric change");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  auto site = a.site.Open(context);
  if (!site.ok()) return Complain(context, site.error());
  a.options.by = context.user_at_host;
  if (context.catch_interrupts) context.catch_interrupts();
  Result<Run> run = [&] {
    LiveLine progress(context);
    return RunBringup(*site, a.options, progress);
  }();
  return Show(context, a, run, site->paths.site_file);
}

ExitCode BringupResume(const Invocation& invocation) {
  RunArgs a;
  Args args("bringup resume",
            "Continue the run that was interrupted: gates that were judged stand, the rest is "
            "looked at again");
  a.AddCommon(args);
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  auto site = a.site.Open(context);
  if (!site.ok()) return Complain(context, site.error());
  a.options.by = context.user_at_host;
  if (context.catch_interrupts) context.catch_interrupts();
  Result<Run> run = [&] {
    LiveLine progress(context);
    return ResumeBringup(*site, a.options, progress);
  }();
  return Show(context, a, run, site->paths.site_file);
}

ExitCode BringupPlan(const Invocation& invocation) {
  RunArgs a;
  Args args("bringup plan",
            "Show what a run would do: acts, reads, proofs and criteria; nothing is started");
  a.AddScope(args);
  a.site.AddTo(args);
  a.output.AddTo(args);
  bool detailed = false, preview = false;
  args.Flag("--preview", preview,
            "Ask the tools what each act would change (kubectl diff, dry runs, helm diff)");
  args.Flag("--detailed-exitcode", detailed,
            "Exit 10 when the plan holds acts or gates that are not open");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  auto site = a.site.Open(context);
  if (!site.ok()) return Complain(context, site.error());
  const auto plan = PlanBringup(*site, a.options);
  if (!plan.ok()) return Complain(context, plan.error());
  std::map<std::string, ActPreview> previews;
  for (const GatePlan& gate : *plan) {
    for (const Act& act : gate.acts)
      if (preview) previews.emplace(act.name, PreviewAct(act, site->world.processes));
  }
  Emit(context, a.output, PlanView(context, *plan, previews));
  bool changes = false;
  for (const GatePlan& gate : *plan) changes = changes || !gate.acts.empty() || !gate.already_open;
  return detailed && changes ? ExitCode::kPlanHasChanges : ExitCode::kDone;
}

ExitCode BringupStatus(const Invocation& invocation) {
  RunArgs a;
  Args args("bringup status",
            "The site's standing: the newest result of each gate, what is stale, what is waived");
  a.site.AddTo(args);
  args.Flag("--strict", a.strict, "Exit 5 when there are warnings only");
  a.output.AddTo(args);
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  auto site = a.site.Open(context);
  if (!site.ok()) return Complain(context, site.error());
  const auto status = StatusOf(*site);
  if (!status.ok()) return Complain(context, status.error());
  Emit(context, a.output, StatusView(context, *status, context.world.clock.Now()));
  bool fail = false, closed = false, warn = false;
  for (const GateStatus& gate : status->gates) {
    fail = fail || (gate.level == Level::kFail && gate.waived_by.empty() && !gate.run.empty());
    closed = closed || !gate.open;
    warn = warn || gate.level == Level::kWarn || !gate.waived_by.empty();
  }
  return ExitCodeFor(fail     ? Level::kFail
                     : closed ? Level::kUnknown
                     : warn   ? Level::kWarn
                              : Level::kPass,
                     a.strict);
}

}  // namespace muster::cli
