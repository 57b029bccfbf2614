#include "cli/check/check.h"

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/check.h"
#include "app/diagnose/diagnose.h"
#include "base/strings.h"
#include "cli/diagnose/view.h"
#include "cli/live_line.h"
#include "cli/site_option.h"
#include "cli/views.h"

namespace muster::cli {

ExitCode Check(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  CheckOptions options;
  std::vector<std::string> gates;
  bool strict = false, brief = false;
  Args args("check",
            "Judge the site as it is now, or as it was captured; reads only, writes nothing");
  site_option.AddTo(args);
  args.Option("-g,--gate", gates, "N", "Only this gate (repeat, or a,b,c)");
  args.Option("--only", options.only, "CODE", "Only these criteria, such as FAB-004");
  args.Option("--nodes", options.nodes, "NODES", "Only these nodes");
  args.Option(
      "--replay", options.replay, "DIR",
      "Judge a folder made by `muster capture` instead of looking; --site: held to that file");
  args.Flag("--short", brief, "Only what needs attention (as -o short)");
  args.Flag("--strict", strict, "Exit 5 when there are warnings only");
  output.AddTo(args);
  args.Example("muster check --site site.yaml --gate 2");
  args.Example("muster check --replay field-report/");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  for (const std::string& text : gates) {
    const auto gate = ParseInt(text);
    if (!gate.ok() || *gate < 1 || *gate > 8)
      return Complain(context, Code::kInvalid, fmt::format("--gate {}: expected 1 to 8", text));
    options.gates.push_back(static_cast<int>(*gate));
  }
  if (brief && output.format == "table") output.format = "short";

  options.keep_passes = output.format != "table" && output.format != "short";

  const Duration began = context.world.clock.Monotonic();
  const auto catalogue = LoadEmbedded();
  if (!catalogue.ok()) return Complain(context, catalogue.error());
  Result<std::vector<GateResult>> results = Fail(Code::kInternal, "not looked");
  if (!options.replay.empty()) {
    options.replay_site = site_option.file;
    results = CheckCapture(context.world, **catalogue, options);
  } else {
    auto site = site_option.Open(context, true);
    if (!site.ok()) return Complain(context, site.error());
    LiveLine progress(context);
    results = CheckSite(*site, options, progress);
  }
  if (!results.ok()) return Complain(context, results.error());
  Document document =
      CheckView(context, *results, **catalogue, context.world.clock.Monotonic() - began);
  const auto diagnosis =
      DiagnoseGates(*results, options.replay.empty() ? "this check" : options.replay);
  if (!diagnosis.ok()) return Complain(context, diagnosis.error());
  AddDiagnosis(context, *diagnosis, document);
  Emit(context, output, document);
  return ExitCodeFor(WorstOf(*results), strict);
}

}  // namespace muster::cli
