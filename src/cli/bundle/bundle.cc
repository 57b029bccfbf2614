#include "cli/bundle/bundle.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/bundle.h"
#include "cli/output.h"
#include "cli/site_option.h"

namespace muster::cli {

ExitCode Bundle(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  std::string run, out;
  Args args("bundle",
            "Put a run's evidence into one archive: ledger, site file, waivers, baselines, "
            "digests; secrets blanked");
  site_option.AddTo(args);
  args.Option("--run", run, "RUN", "Which run (default: the newest)");
  args.Option("--out", out, "FILE", "The archive (default: muster-RUN.tar)");
  output.AddTo(args);
  if (auto stop = site_option.Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const SitePaths paths = PathsOf(site_option.file);
  if (run.empty()) {
    const auto runs = ListRuns(context.world.files, paths);
    if (!runs.ok()) return Complain(context, runs.error());
    if (runs->empty())
      return Complain(context, Code::kNotFound,
                      "the site has no run yet; start one with `muster bringup run`");
    run = runs->back();
  }
  if (out.empty()) out = fmt::format("muster-{}.tar", run);
  const auto names = WriteBundle(context.world, paths, run, out);
  if (!names.ok()) return Complain(context, names.error());
  Document doc;
  doc.kind = "Bundle";
  *doc.json = {{"file", out}, {"run", run}, {"entries", *names}};
  doc.table = fmt::format("{}\n  {}\n", out, fmt::join(*names, "\n  "));
  doc.cases = {{"bundle", run, Level::kPass, out}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
