#include "cli/verify/verify.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/words.h"
#include "base/strings.h"
#include "cli/output.h"
#include "cli/site_option.h"
#include "cli/table.h"

namespace muster::cli {

ExitCode Verify(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  std::string run;
  Args args(
      "verify",
      "Judge a stored run again from its raw readings: same verdicts, or which byte was changed");
  args.Positional("RUN", run, "A run of the site, or the path of a ledger");
  site_option.AddTo(args);
  output.AddTo(args);
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  std::string path = run;
  if (run.find('/') == std::string::npos) {
    const auto site = site_option.File(context);
    if (!site.ok()) return Complain(context, site.error());
    path = PathsOf(*site).Ledger(run);
  }
  const auto catalogue = LoadEmbedded();
  if (!catalogue.ok()) return Complain(context, catalogue.error());
  const auto verified = VerifyRun(context.world.files, path, **catalogue);
  if (!verified.ok()) {
    Complain(context, verified.error());
    return verified.error().code == Code::kCorrupt ? ExitCode::kFail
                                                   : ExitCodeFor(verified.error());
  }
  const bool same = verified->differences.empty();
  Document doc;
  doc.kind = "Verification";
  *doc.json = {{"ledger", path},
               {"same", same},
               {"gates", verified->gates},
               {"verdicts", verified->verdicts},
               {"readings", verified->readings},
               {"same_catalogue", verified->same_catalogue},
               {"differences", verified->differences}};
  doc.table = fmt::format("{}  {}, {} from {}, every record's digest holds\n",
                          LevelWord(context, same ? Level::kPass : Level::kFail),
                          Counted(verified->gates, "gate"), Counted(verified->verdicts, "verdict"),
                          Counted(verified->readings, "raw reading"));
  if (!verified->same_catalogue)
    doc.table += "the run was judged under another catalogue than this binary's\n";
  for (const std::string& difference : verified->differences)
    doc.table += fmt::format("  {}\n", Printable(difference));
  doc.cases = {{"verify", path, same ? Level::kPass : Level::kFail,
                same ? "" : verified->differences.front()}};
  Emit(context, output, doc);
  return same ? ExitCode::kDone : ExitCode::kFail;
}

}  // namespace muster::cli
