#include "cli/sched/sched.h"

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/sched_simulate.h"
#include "base/time.h"
#include "cli/output.h"
#include "cli/table.h"

namespace muster::cli {

ExitCode SchedSimulate(const Invocation& invocation) {
  OutputOptions output;
  std::string script, decisions;
  Args args("sched simulate",
            "Decide a cluster script: which gang starts when and where, which waits and why");
  args.Positional("SCRIPT", script,
                  "A cluster script, one JSON event a line (docs/commands/sched.md)");
  args.Option("--decisions", decisions, "FILE",
              "Write the decisions there, one JSON object a line");
  output.AddTo(args);
  args.Example("muster sched simulate hour.jsonl");
  args.Example("muster sched simulate hour.jsonl --decisions decisions.jsonl -o json");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  auto text = context.world.files.Read(script);
  if (!text.ok()) return Complain(context, std::move(text).error().Context("reading " + script));
  auto run = SimulateSchedule(*text);
  if (!run.ok()) return Complain(context, std::move(run).error().Context(script));
  if (!decisions.empty()) {
    if (auto written = context.world.files.WriteAtomic(decisions, run->decisions); !written.ok())
      return Complain(context, std::move(written).error().Context("writing " + decisions));
  }
  Document doc;
  doc.kind = "SchedSimulation";
  *doc.json = {{"script", script},
               {"origin", "rehearsed"},
               {"events", run->events},
               {"decisions", run->lines},
               {"binds", run->binds},
               {"evictions", run->evictions},
               {"rejects", run->rejects},
               {"reserves", run->reserves},
               {"finishes", run->finishes},
               {"bound", run->bound},
               {"pending", run->pending},
               {"end_ms", run->end_ms},
               {"decisions_sha256", run->sha256}};
  Table table({});
  table.Row({"events", fmt::format("{}", run->events)});
  table.Row({"decisions", fmt::format("{} ({} binds, {} evictions, {} rejected)", run->lines,
                                      run->binds, run->evictions, run->rejects)});
  table.Row({"jobs at the end", fmt::format("{} running, {} waiting, {} finished", run->bound,
                                            run->pending, run->finishes)});
  table.Row({"virtual time", FormatDuration(std::chrono::milliseconds(run->end_ms))});
  table.Row({"decisions_sha256", run->sha256});
  doc.table = "rehearsed: virtual time, nothing was started\n" + table.ToString();
  doc.brief = run->sha256 + "\n";
  doc.cases = {{"sched", script, Level::kPass, run->sha256}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
