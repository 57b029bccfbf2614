#include "app/report/report.h"

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/baseline.h"
#include "base/digest.h"
#include "cli/bringup/bringup.h"
#include "cli/live_line.h"
#include "cli/site_option.h"
#include "cli/views.h"

namespace muster::cli {

namespace {

struct Loaded {
  Run run;
  std::map<std::string, Quantity> baseline;
  std::vector<std::string> waivers;
  std::string ledger_sha256;
};

Result<Loaded> Load(SiteContext& site, std::string run_name) {
  Files& files = site.world.files;
  if (run_name.empty()) {
    TRY(const std::vector<std::string> runs, ListRuns(files, site.paths));
    if (runs.empty())
      return Fail(Code::kNotFound,
                  fmt::format("site {} has no run yet; start one with `muster bringup run`",
                              site.site().name));
    run_name = runs.back();
  }
  Loaded loaded;
  TRY(const std::string bytes,
      files.Read(site.paths.Ledger(run_name)).Context(fmt::format("run {}", run_name)));
  loaded.ledger_sha256 = Sha256Hex(bytes);
  TRY(loaded.run, ReadLedger(files, site.paths.Ledger(run_name)));
  TRY(const std::vector<Baseline> baselines, ListBaselines(files, site.paths));
  if (!baselines.empty()) loaded.baseline = baselines.back().figures;
  TRY(const std::vector<Waiver> waivers, ReadWaivers(files, site.paths));
  for (const Waiver& w : waivers) {
    loaded.waivers.push_back(fmt::format("gate {} by {} until {}: {} (key {})", w.gate, w.by,
                                         FormatTime(w.until), w.reason,
                                         w.public_key.substr(0, 16)));
  }
  return loaded;
}

}  // namespace

ExitCode BringupReport(const Invocation& invocation) {
  SiteOption site_option;
  std::string run_name, format = "markdown", out;
  Args args("bringup report",
            "The sign-off report of a run: thresholds, measured values, evidence digest");
  site_option.AddTo(args);
  args.Option("--run", run_name, "RUN", "Which run (default: the newest)");
  args.Choice("--format", format, {"markdown", "html", "json", "junit"}, "Form of the report");
  args.Option("--out", out, "FILE", "Write it there; html goes beside the run when this is absent");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  auto site = site_option.Open(context);
  if (!site.ok()) return Complain(context, site.error());
  const auto loaded = Load(*site, run_name);
  if (!loaded.ok()) return Complain(context, loaded.error());
  const ReportInput input{loaded->run,           site->site(),     *site->catalogue,
                          loaded->ledger_sha256, loaded->baseline, loaded->waivers};
  const std::string text = format == "html"    ? ReportHtml(input)
                           : format == "json"  ? ReportJson(input)
                           : format == "junit" ? ReportJunit(input)
                                               : ReportMarkdown(input);
  if (out.empty() && format == "html")
    out = site->paths.RunFolder(loaded->run.header.run) + "/report.html";
  if (out.empty() || out == "-") {
    context.out << text;
    return ExitCode::kDone;
  }
  if (auto written = context.world.files.WriteAtomic(out, text); !written.ok())
    return Complain(context, written.error());
  context.out << out << "\n";
  return ExitCode::kDone;
}

ExitCode BringupWatch(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  std::string every = "24h", gates_text;
  int rounds = 0;
  Args args(
      "bringup watch",
      "Look at the gates again on a schedule; a gate that no longer passes is said at once (B18)");
  site_option.AddTo(args);
  args.Option("--every", every, "SPAN", "Time between rounds, for example 15m or 24h");
  args.Option("--rounds", rounds, "N", "Stop after N rounds (default: go on until interrupted)");
  output.AddTo(args);
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto span = ParseDuration(every);
  if (!span.ok()) return Complain(context, span.error());
  auto site = site_option.Open(context);
  if (!site.ok()) return Complain(context, site.error());
  Level last = Level::kPass;
  for (int round = 0; rounds == 0 || round < rounds; ++round) {
    if (round > 0) context.world.clock.SleepFor(*span);
    Result<Run> run = [&] {
      LiveLine progress(context);
      BringupOptions options;
      options.by = context.user_at_host;
      options.to = 5;
      options.look_only = true;  // the site's work goes on meanwhile
      return RunBringup(*site, options, progress);
    }();
    if (!run.ok()) return Complain(context, run.error());
    last = run->level;
    Emit(context, output, RunView(context, *run, site->paths.site_file));
  }
  return ExitCodeFor(last, false);
}

}  // namespace muster::cli
