#include "cli/sched/plot.h"

#include <ostream>

#include <fmt/format.h>

#include "app/sched_timeline.h"
#include "cli/output.h"

namespace muster::cli {

ExitCode SchedPlot(const Invocation& invocation) {
  std::string script, decisions, out;
  Args args("sched plot",
            "A cluster script and its decisions as one SVG: GPUs in use by queue, GPUs waited for, "
            "stranded GPUs, and where each gang sat");
  args.Required("--script", script, "FILE", "The cluster script");
  args.Option("--decisions", decisions, "FILE",
              "The decisions made on it (default: those of muster sched simulate)");
  args.Required("--out", out, "FILE", "Where the SVG goes");
  args.Example("muster sched plot --script hour.jsonl --decisions decisions.jsonl --out hour.svg");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto plotted = PlotTimeline(context.world.files, script, decisions, out);
  if (!plotted.ok()) return Complain(context, plotted.error());
  context.err << fmt::format("wrote {}\n", out);
  return ExitCode::kDone;
}

}  // namespace muster::cli
