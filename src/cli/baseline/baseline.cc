#include "cli/baseline/baseline.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/baseline.h"
#include "app/ledger.h"
#include "cli/output.h"
#include "cli/site_option.h"
#include "cli/table.h"

namespace muster::cli {

namespace {

using Json = nlohmann::ordered_json;

Result<Run> RunOf(const Context& context, const SitePaths& paths, std::string name) {
  if (name.empty()) {
    TRY(const std::vector<std::string> runs, ListRuns(context.world.files, paths));
    if (runs.empty())
      return Fail(Code::kNotFound, "the site has no run yet; start one with `muster bringup run`");
    name = runs.back();
  }
  return ReadLedger(context.world.files, paths.Ledger(name));
}

Json FigureJson(const Quantity& q) {
  if (std::isnan(q.value)) return {{"value", nullptr}, {"unit", ToString(q.unit)}};
  return {{"value", q.value}, {"unit", ToString(q.unit)}};
}

}  // namespace

ExitCode BaselineSet(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  std::string run_name, name = "acceptance";
  Args args("baseline set",
            "Record the figures of an accepted run: busbw, MFU, step time, TTFT, TPOT, goodput");
  site_option.AddTo(args);
  args.Option("--run", run_name, "RUN", "Which run (default: the newest)");
  args.Option("--name", name, "NAME", "Name of the baseline");
  output.AddTo(args);
  if (auto stop = site_option.Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const SitePaths paths = PathsOf(site_option.file);
  const auto run = RunOf(context, paths, run_name);
  if (!run.ok()) return Complain(context, run.error());
  const auto baseline = BaselineFromRun(*run, name);
  if (!baseline.ok()) return Complain(context, baseline.error());
  if (auto saved = SaveBaseline(context.world, paths, *baseline); !saved.ok())
    return Complain(context, saved.error());
  Document doc;
  doc.kind = "Baseline";
  *doc.json = {{"name", baseline->name},
               {"run", baseline->run},
               {"origin", ToString(baseline->origin)},
               {"figures", Json::object()}};
  Table table({"FIGURE", "VALUE"});
  for (const auto& [figure, q] : baseline->figures) {
    (*doc.json)["figures"][figure] = FigureJson(q);
    table.Row({figure, FormatQuantity(q)});
    doc.cases.push_back({"baseline", figure, Level::kPass, ""});
  }
  doc.table = fmt::format("baseline {} of run {} ({})\n\n{}", baseline->name, baseline->run,
                          ToString(baseline->origin), table.ToString());
  Emit(context, output, doc);
  return ExitCode::kDone;
}

ExitCode BaselineDiff(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  std::string run_name, name = "acceptance";
  double tolerance_percent = 5;
  Args args("baseline diff",
            "Hold a run against a baseline; what got worse beyond the tolerance is named as a "
            "regression");
  site_option.AddTo(args);
  args.Option("--run", run_name, "RUN", "Which run (default: the newest)");
  args.Option("--name", name, "NAME", "Which baseline");
  args.Option("--tolerance", tolerance_percent, "PERCENT",
              "Change that is called noise (default 5)");
  output.AddTo(args);
  if (auto stop = site_option.Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const SitePaths paths = PathsOf(site_option.file);
  const auto run = RunOf(context, paths, run_name);
  if (!run.ok()) return Complain(context, run.error());
  const auto baselines = ListBaselines(context.world.files, paths);
  if (!baselines.ok()) return Complain(context, baselines.error());
  for (const Baseline& baseline : *baselines) {
    if (baseline.name != name) continue;
    Document doc;
    doc.kind = "BaselineDiff";
    Json rows = Json::array();
    Table table({"FIGURE", "BASELINE", "NOW", "CHANGE", ""});
    bool worse = false, missing = false;
    for (const Drift& drift :
         CompareToBaseline(baseline, FiguresOfRun(*run), tolerance_percent / 100)) {
      const bool absent = std::isnan(drift.is.value);
      missing = missing || absent;
      worse = worse || (drift.worse && !absent);
      const std::string note = absent        ? "not measured in this run"
                               : drift.worse ? drift.regression + " regression"
                                             : "";
      table.Row({drift.figure, FormatQuantity(drift.was), absent ? "-" : FormatQuantity(drift.is),
                 absent ? "-" : fmt::format("{:+.1f} %", drift.change * 100), note});
      rows.push_back({{"figure", drift.figure},
                      {"was", FigureJson(drift.was)},
                      {"is", FigureJson(drift.is)},
                      {"change", drift.change},
                      {"worse", drift.worse},
                      {"regression", drift.worse && !absent ? drift.regression : ""}});
      doc.cases.push_back({"baseline", drift.figure,
                           absent        ? Level::kUnknown
                           : drift.worse ? Level::kFail
                                         : Level::kPass,
                           note});
    }
    *doc.json = {{"baseline", baseline.name},
                 {"of_run", baseline.run},
                 {"baseline_origin", ToString(baseline.origin)},
                 {"run_origin", ToString(run->header.origin)},
                 {"run", run->header.run},
                 {"tolerance", tolerance_percent / 100},
                 {"figures", rows}};
    doc.table =
        fmt::format("run {} against baseline {} (run {}), noise {:g} %\n\n{}", run->header.run,
                    baseline.name, baseline.run, tolerance_percent, table.ToString());
    // An MFU against two shared cores is a figure of this machine: alike from run to run at best.
    if (baseline.origin == Origin::kRehearsed || run->header.origin == Origin::kRehearsed) {
      doc.table += fmt::format(
          "\nrehearsed: {}. MFU and step time there are shares of this machine's own speed and "
          "move "
          "with its load; they say nothing of hardware\n",
          baseline.origin != run->header.origin
              ? "one of the two was played on a lab, the other not"
              : "both runs were played on a lab");
    }
    Emit(context, output, doc);
    return worse ? ExitCode::kFail : missing ? ExitCode::kUnknown : ExitCode::kDone;
  }
  return Complain(
      context, Code::kNotFound,
      fmt::format("there is no baseline {}; record one with `muster baseline set`", name));
}

ExitCode BaselineList(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  Args args("baseline list", "The recorded baselines of a site");
  site_option.AddTo(args);
  output.AddTo(args);
  if (auto stop = site_option.Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto baselines = ListBaselines(context.world.files, PathsOf(site_option.file));
  if (!baselines.ok()) return Complain(context, baselines.error());
  Document doc;
  doc.kind = "BaselineList";
  Json rows = Json::array();
  Table table({"NAME", "RUN", "RECORDED", "ORIGIN", "FIGURES"});
  for (const Baseline& b : *baselines) {
    table.Row({b.name, b.run, FormatTime(b.at), std::string(ToString(b.origin)),
               std::to_string(b.figures.size())});
    rows.push_back({{"name", b.name},
                    {"run", b.run},
                    {"at", FormatTime(b.at)},
                    {"origin", ToString(b.origin)}});
    doc.cases.push_back({"baseline", b.name, Level::kPass, ""});
  }
  *doc.json = {{"baselines", rows}};
  doc.table = baselines->empty()
                  ? "no baseline is recorded; record one with `muster baseline set`\n"
                  : table.ToString();
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
