#include "cli/lint/lint.h"

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/lint.h"
#include "app/site_file.h"
#include "app/words.h"
#include "base/strings.h"
#include "cli/lint/sarif.h"
#include "cli/output.h"
#include "cli/table.h"

namespace muster::cli {

namespace {

using Json = nlohmann::ordered_json;

Document DocumentOf(const Context& context, const LintReport& report, bool notes) {
  Document doc;
  doc.kind = "LintReport";
  Json findings = Json::array();
  for (const LintFinding& f : report.findings) {
    findings.push_back({{"code", f.code},
                        {"severity", ToString(f.severity)},
                        {"file", f.file},
                        {"line", f.at.line},
                        {"column", f.at.column},
                        {"text", f.text},
                        {"fix", f.fix},
                        {"repairable", !f.edits.empty()}});
    doc.table += Printable(ToString(f)) + "\n";
    doc.cases.push_back({f.file, fmt::format("{}:{} {}", f.at.line, f.at.column, f.code),
                         f.severity == LintSeverity::kError     ? Level::kFail
                         : f.severity == LintSeverity::kWarning ? Level::kWarn
                                                                : Level::kPass,
                         f.text});
    if (f.severity == LintSeverity::kError) doc.brief += Printable(ToString(f)) + "\n";
  }
  Json noted = Json::array();
  for (const ManifestNote& note : report.notes) {
    noted.push_back({{"file", note.file},
                     {"line", note.at.line},
                     {"column", note.at.column},
                     {"field", note.field},
                     {"text", note.what}});
    if (notes) doc.table += fmt::format("{}\n", Printable(note.ToString()));
  }
  *doc.json = {{"files", report.files},
               {"documents", report.documents},
               {"errors", report.errors},
               {"warnings", report.warnings},
               {"infos", report.infos},
               {"repairable", report.repaired},
               {"unreadable", report.unreadable},
               {"not_judged", report.not_judged},
               {"findings", findings},
               {"notes", noted}};
  for (const std::string& object : report.not_judged)
    doc.table += fmt::format("{}: no rule is about this kind\n", Printable(object));
  if (report.Empty()) {
    doc.table += doc.brief = "nothing to judge: no object of a kind that the rules know\n";
    doc.cases.push_back({"lint", "objects", Level::kUnknown, "no object that a rule is about"});
    return doc;
  }
  doc.table +=
      Bold(context,
           fmt::format("{}, {}: {}, {}, {}; {} can be repaired with --fix",
                       Counted(report.files, "file"), Counted(report.documents, "object"),
                       Counted(static_cast<size_t>(report.errors), "error"),
                       Counted(static_cast<size_t>(report.warnings), "warning"),
                       Counted(static_cast<size_t>(report.infos), "info"), report.repaired)) +
      "\n";
  if (doc.brief.empty()) doc.brief = "no errors\n";
  return doc;
}

}  // namespace

ExitCode LintManifests(const Invocation& invocation) {
  OutputOptions output;
  std::vector<std::string> paths;
  std::string site_file;
  bool fix = false, in_place = false, strict = false, notes = false;
  Args args("lint",
            "Hold manifests and sbatch scripts to the platform contract; nothing is applied");
  args.Rest("FILE", paths, "Manifests, sbatch scripts, or folders of them", true);
  args.Option("--site", site_file, "FILE",
              "The site they are for: GPUs a node, NUMA domains, adapters");
  args.Flag("--fix", fix,
            "Print the repairs as a patch (patch -p0 applies it) instead of the findings");
  args.Flag("--in-place", in_place, "With --fix: write the repaired files");
  args.Flag("--strict", strict, "Exit 5 when there are warnings and no errors");
  args.Flag("--notes", notes, "Also list what Muster's own scheduler reads and does not act on");
  args.Choice("-o,--output", output.format, {"table", "json", "yaml", "junit", "short", "sarif"},
              "Form of the output; the exit code stays the same");
  args.Example("muster lint job.yaml service.yaml");
  args.Example("muster lint manifests/ --site site.yaml -o sarif");
  args.Example("muster lint manifests/ --fix > repairs.patch && patch -p0 < repairs.patch");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  if (in_place && !fix) return Complain(context, Code::kInvalid, "--in-place goes with --fix");
  std::optional<Site> site;
  if (!site_file.empty()) {
    auto loaded = ReadSiteFile(context.world.files, site_file);
    if (!loaded.ok()) return Complain(context, loaded.error());
    site = std::move(loaded->site);
  }
  const auto report = LintPaths(context.world.files, paths, site);
  if (!report.ok()) {
    Complain(context, report.error());
    return report.error().code == Code::kNotFound ? ExitCode::kUsage : ExitCodeFor(report.error());
  }
  for (const std::string& line : report->unreadable)
    context.err << "muster: " << Printable(line) << "\n";
  if (fix && in_place) {
    const auto changed = ApplyRepairs(context.world.files, *report);
    if (!changed.ok()) return Complain(context, changed.error());
    for (const std::string& path : *changed) context.err << "repaired " << Printable(path) << "\n";
  } else if (fix) {
    context.out << report->patch;
  } else if (output.format == "sarif") {
    const auto rules = LoadLintRules();
    if (!rules.ok()) return Complain(context, rules.error());
    context.out << ToSarif(*report, **rules).dump(2, ' ', false, Json::error_handler_t::replace)
                << "\n";
  } else {
    Emit(context, output, DocumentOf(context, *report, notes));
  }
  context.out.flush();
  if (!report->unreadable.empty()) return ExitCode::kUsage;
  if (report->Empty()) return ExitCode::kUnknown;
  if (report->errors > 0) return ExitCode::kFail;
  return strict && report->warnings > 0 ? ExitCode::kWarn : ExitCode::kDone;
}

}  // namespace muster::cli
