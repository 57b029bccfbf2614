#include "cli/capture/capture.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/capture.h"
#include "app/words.h"
#include "base/strings.h"
#include "cli/live_line.h"
#include "cli/output.h"
#include "cli/site_option.h"

namespace muster::cli {

ExitCode CaptureSite(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  std::string out;
  Args args(
      "capture",
      "Save what every probe reads (DIR/<host>/<probe>.<ext> and manifest.json), secrets blanked");
  site_option.AddTo(args);
  args.Required("--out", out, "DIR", "Folder to write; must not exist or be empty");
  output.AddTo(args);
  args.Example(
      "muster capture --site site.yaml --out field-report && muster check --replay field-report");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  auto site = site_option.Open(context, true);
  if (!site.ok()) return Complain(context, site.error());
  auto captured = [&] {
    LiveLine progress(context);
    return Capture(*site, out, progress);
  }();
  if (!captured.ok()) return Complain(context, captured.error());
  Document doc;
  doc.kind = "Capture";
  *doc.json = {{"folder", out}, {"files", captured->files}, {"faults", captured->faults}};
  doc.table = fmt::format("{}: {}\n", out, Counted(captured->files, "file"));
  for (const std::string& fault : captured->faults)
    doc.table += fmt::format("  not read: {}\n", Printable(fault));
  doc.cases = {{"capture", out, Level::kPass, ""}};
  for (const std::string& fault : captured->faults)
    doc.cases.push_back({"capture", fault, Level::kUnknown, fault});
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
