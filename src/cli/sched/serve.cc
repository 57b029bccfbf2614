#include "cli/sched/serve.h"

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/listen.h"
#include "app/sched_health.h"
#include "app/sched_serve.h"
#include "base/strings.h"
#include "cli/output.h"
#include "cli/table.h"

namespace muster::cli {

namespace {

// Kueue's waitForPodsReady, as the options say it.
struct WaitOptions {
  std::string timeout, recovery, base, most;
  int limit = -1;
  void AddTo(Args& args) {
    args.Option("--pods-ready-timeout", timeout, "TIME",
                "With --kueue: a Workload whose pods are not ready so long after its admission is "
                "evicted and waits (Kueue's waitForPodsReady; default: nobody looks)");
    args.Option("--pods-ready-recovery", recovery, "TIME",
                "The same for one whose pods were ready (default: no limit)");
    args.Option("--requeue-base", base, "TIME",
                "So long it waits the first time, and twice as long each time (default: 60s)");
    args.Option("--requeue-most", most, "TIME", "At most so long (default: 1h)");
    args.Option("--requeue-limit", limit, "N",
                "After so many times it is deactivated (default: never)");
  }
  Result<std::optional<kueue::WaitForPodsReady>> Read(bool kueue) const {
    const bool any =
        !timeout.empty() || !recovery.empty() || !base.empty() || !most.empty() || limit >= 0;
    if (!any) return std::optional<kueue::WaitForPodsReady>();
    if (!kueue || timeout.empty())
      return Fail(
          Code::kInvalid,
          "--pods-ready-recovery, --requeue-base, --requeue-most, --requeue-limit: expected "
          "--kueue and --pods-ready-timeout beside them");
    kueue::WaitForPodsReady wait;
    Duration recovers{};
    for (const auto& [name, text, into] :
         {std::tuple("--pods-ready-timeout", &timeout, &wait.timeout),
          std::tuple("--pods-ready-recovery", &recovery, &recovers),
          std::tuple("--requeue-base", &base, &wait.backoff_base),
          std::tuple("--requeue-most", &most, &wait.backoff_most)}) {
      if (text->empty()) continue;
      const auto read = ParseDuration(*text);
      if (!read.ok() || *read < std::chrono::seconds(1))
        return Fail(
            Code::kInvalid,
            fmt::format("{}: expected a time of a second or more, like 5m; found {}", name, *text));
      *into = *read;
    }
    if (!recovery.empty()) wait.recovery_timeout = recovers;
    if (limit >= 0) wait.backoff_limit = limit;
    return std::optional(wait);
  }
};

// Where --listen was given.
Result<std::unique_ptr<HealthServer>> Listen(Context& context, const std::string& listen,
                                             const SchedHealth& health) {
  if (listen.empty()) return std::unique_ptr<HealthServer>();
  TRY(const ListenAt at, ParseListenAt(listen));
  if (!context.make_health_server) return Fail(Code::kInternal, "this program cannot listen");
  TRY(auto server, context.make_health_server(health, context.world.clock, at));
  context.err << fmt::format("muster: health and metrics at {}:{}\n", at.host, server->port())
              << std::flush;
  return server;
}

}  // namespace

ExitCode SchedServeCluster(const Invocation& invocation) {
  OutputOptions output;
  SchedServeOptions options;
  bool kubernetes = false, quiet = false;
  std::string lease, listen;
  WaitOptions wait;
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
  wait.AddTo(args);
  args.Flag("--volcano-jobs", options.volcano_jobs,
            "Make the pods of Volcano Jobs too, on a cluster without Volcano's controllers");
  args.Option("--listen", listen, "ADDRESS:PORT",
              "Answer /healthz, /readyz and /metrics there; port 0 takes any free one");
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
  auto pods_ready = wait.Read(options.kueue);
  if (!pods_ready.ok()) return Complain(context, pods_ready.error());
  options.wait_for_pods_ready = *pods_ready;
  SchedHealth health(context.world.clock.Monotonic());
  options.health = &health;
  const auto server = Listen(context, listen, health);
  if (!server.ok()) return Complain(context, server.error());
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
