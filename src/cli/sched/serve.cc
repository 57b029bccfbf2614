#include "cli/sched/serve.h"

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/sched_serve.h"
#include "base/strings.h"
#include "cli/output.h"
#include "cli/table.h"

namespace muster::cli {

ExitCode SchedServeCluster(const Invocation& invocation) {
  OutputOptions output;
  SchedServeOptions options;
  bool kubernetes = false, quiet = false;
  std::string lease;
  Args args("sched serve", "Schedule the gangs of a cluster, until interrupted");
  args.Flag("--kubernetes", kubernetes, "On Kubernetes (the only one served today)");
  args.Option("--kubeconfig", options.kubeconfig, "FILE", "Default: as kubectl finds it");
  args.Option("--context", options.context, "NAME", "A context of it");
  args.Option("--for", options.schedulers, "NAME",
              "spec.schedulerName of the pods to place (default: muster)");
  args.Option("--levels", options.levels, "LABEL",
              "Node labels of the topology, outermost first (default: muster.dev/spine, "
              "muster.dev/leaf)");
  args.Option("--lease", lease, "NAMESPACE/NAME",
              "Of the leader's Lease (default: kube-system/muster-scheduler)");
  args.Flag("--kueue", options.kueue,
            "Let Kueue's Workloads, and Jobs that name a queue, in by quota, on a cluster without "
            "Kueue's scheduler");
  args.Flag("--volcano-jobs", options.volcano_jobs,
            "Make the pods of Volcano Jobs too, on a cluster without Volcano's controllers");
  args.Flag("--once", options.once, "Place what can be placed now, then end");
  args.Flag("-q,--quiet", quiet, "No lines about what is done");
  output.AddTo(args);
  args.Example("muster sched serve --kubernetes");
  args.Example("muster sched serve --kubernetes --for volcano,default-scheduler");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  if (!kubernetes)
    return Complain(context, Code::kInvalid,
                    "where to schedule: --kubernetes (a cluster script is decided by "
                    "`muster sched simulate`)");
  if (!lease.empty()) {
    const size_t slash = lease.find('/');
    if (slash == 0 || slash == std::string::npos || slash + 1 == lease.size())
      return Complain(context, Code::kInvalid, "--lease: expected NAMESPACE/NAME");
    options.lease_namespace = lease.substr(0, slash), options.lease_name = lease.substr(slash + 1);
  }
  if (context.catch_interrupts) context.catch_interrupts();
  const auto served = ServeSchedule(
      context.world, options, [&] { return context.interrupted && context.interrupted(); },
      [&](const std::string& text) {
        if (!quiet) context.err << "muster: " << text << "\n" << std::flush;
      });
  if (!served.ok()) return Complain(context, served.error());
  Document doc;
  doc.kind = "SchedServed";
  *doc.json = {{"bound", served->bound},     {"conflicts", served->conflicts},
               {"failed", served->failed},   {"deleted", served->deleted},
               {"said", served->said},       {"gangs_placed", served->gangs_placed},
               {"evicted", served->evicted}, {"running", served->running},
               {"waiting", served->waiting}, {"longest_turn_ms", served->longest_turn_ms}};
  if (options.kueue) {
    (*doc.json)["admitted"] = served->admitted;
    (*doc.json)["preempted"] = served->preempted;
  }
  doc.table = fmt::format(
      "{} pods bound of {} gangs, {} gangs evicted; {} running, {} waiting; longest turn {} ms\n",
      served->bound, served->gangs_placed, served->evicted, served->running, served->waiting,
      served->longest_turn_ms);
  if (options.kueue)
    doc.table +=
        fmt::format("{} admitted by quota, {} preempted\n", served->admitted, served->preempted);
  doc.cases = {{"sched", "serve", Level::kPass, ""}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
