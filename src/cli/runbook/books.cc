// Reading: which runbooks there are, and what one says.
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/runbooks.h"
#include "base/strings.h"
#include "cli/output.h"
#include "cli/runbook/runbook.h"
#include "cli/site_option.h"
#include "cli/table.h"

namespace muster::cli {

namespace {

using Json = nlohmann::ordered_json;

// A site is not needed to read the binary's runbooks; one that is named adds its own.
std::string FolderOf(const SiteOption& option, const Context& context) {
  const auto file = option.File(context);
  return file.ok() ? PathsOf(*file).folder : "";
}

Json BookJson(const KnownRunbook& known) {
  const Runbook& book = known.book;
  Json json = {{"id", book.id},
               {"slug", book.slug},
               {"title", book.title},
               {"family", book.family},
               {"on", ToString(book.on)},
               {"trigger", book.trigger.kind == Trigger::Kind::kAlert ? "alert" : "manual"},
               {"alerts", book.trigger.alerts},
               {"sha256", book.sha256},
               {"own", known.own},
               {"source", book.source},
               {"steps", Json::array()}};
  for (const StepSpec& step : book.steps)
    json["steps"].push_back({{"id", step.id},
                             {"title", step.title},
                             {"act", ToString(step.act)},
                             {"destructive", TraitsOf(step.act).destructive},
                             {"approval", step.approval}});
  return json;
}

}  // namespace

ExitCode RunbookList(const Invocation& invocation) {
  SiteOption site;
  OutputOptions output;
  Args args("runbook list", "The runbooks of this binary, and the site's own");
  site.AddTo(args);
  output.AddTo(args);
  args.Example("muster runbook list");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto known = KnownRunbooks(context.world.files, FolderOf(site, context));
  if (!known.ok()) return Complain(context, known.error());
  Document doc;
  doc.kind = "RunbookList";
  Json rows = Json::array();
  Table table({"ID", "RUNBOOK", "ON", "TRIGGER", "STEPS", "TAKES", "WAY BACK"});
  for (const KnownRunbook& k : *known) {
    const Runbook& book = k.book;
    table.Row({book.id, book.title + (k.own ? " (the site's own)" : ""),
               std::string(ToString(book.on)),
               book.trigger.kind == Trigger::Kind::kAlert ? "alert" : "manual",
               std::to_string(book.steps.size()),
               book.expected > Duration::zero() ? FormatDuration(book.expected) : "-",
               book.rollback.how == RollbackSpec::How::kAct    ? "one step"
               : book.rollback.how == RollbackSpec::How::kUndo ? "undo"
                                                               : "stays out"});
    rows.push_back(BookJson(k));
    doc.cases.push_back({"runbook", book.id, Level::kPass, ""});
  }
  *doc.json = {{"runbooks", rows}};
  doc.table = table.ToString();
  Emit(context, output, doc);
  return ExitCode::kDone;
}

ExitCode RunbookShow(const Invocation& invocation) {
  SiteOption site;
  OutputOptions output;
  std::string id;
  bool raw = false;
  Args args("runbook show", "What a runbook does, proves, limits and takes back");
  args.Positional("RUNBOOK", id, "Id or name: R6, gpu-fault-rma");
  args.Flag("--yaml", raw, "The file as it is");
  site.AddTo(args);
  output.AddTo(args);
  args.Example("muster runbook show R6");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto known = FindRunbook(context.world.files, FolderOf(site, context), id);
  if (!known.ok()) return Complain(context, known.error());
  const Runbook& book = known->book;
  Document doc;
  doc.kind = "Runbook";
  *doc.json = BookJson(*known);
  (*doc.json)["text"] = known->text;
  if (raw) {
    doc.table = known->text;
    Emit(context, output, doc);
    return ExitCode::kDone;
  }
  std::string& out = doc.table;
  out = fmt::format("{} {}\n{}\n\nstarts when: {}\n", book.id, Bold(context, book.title), book.why,
                    book.trigger.means);
  if (!book.trigger.alerts.empty())
    out += fmt::format("alerts: {}\n", Join(book.trigger.alerts, ", "));
  for (const Check& check : book.trigger.stands_while)
    out += fmt::format("stands while not: {}\n", check.ToString());
  for (const Input& input : book.inputs)
    out += fmt::format("--set {}=...{}: {}\n", input.name, input.required ? " (required)" : "",
                       input.means);
  out += "\nmust be so before\n";
  for (const Check& check : book.prechecks)
    out += fmt::format("  {}: {}{}\n", check.id, check.ToString(),
                       check.why.empty() ? "" : " (" + check.why + ")");
  out += "\nsteps\n";
  int number = 0;
  for (const StepSpec& step : book.steps) {
    const ActTraits& traits = TraitsOf(step.act);
    out += fmt::format(
        "  {}. {}: {}{}{}{}\n", ++number, step.id, step.title,
        traits.destructive ? "  [destructive]" : "", step.approval ? " [needs approval]" : "",
        step.rung != Rung::kNone ? fmt::format(" [rung {}]", ToString(step.rung)) : "");
    if (traits.effect)
      out += fmt::format("       does {}; happened when: {}\n", traits.name, traits.probe);
    for (const Check& check : step.verify)
      out += fmt::format("       proved by: {}\n", check.ToString());
    if (step.undo) out += fmt::format("       undo: {}\n", ToString(*step.undo));
    if (!step.irreversible.empty()) out += fmt::format("       no undo: {}\n", step.irreversible);
  }
  out += fmt::format(
      "\nway back: {}\nlimits: {} at once, {} a rack, {} a leaf, stops after {} "
      "failures; waves {}\n",
      book.rollback.why, book.blast.at_once, book.blast.per_rack, book.blast.per_leaf,
      book.blast.failures, Join(book.blast.waves, ", "));
  if (!book.mistakes.empty()) {
    out += "\ncommon mistakes\n";
    for (const std::string& mistake : book.mistakes) out += "  - " + mistake + "\n";
  }
  out += "\nsource: " + book.source + "\n";
  Emit(context, output, doc);
  return ExitCode::kDone;
}

ExitCode RunbookLint(const Invocation& invocation) {
  OutputOptions output;
  std::vector<std::string> paths;
  Args args("runbook lint", "Runbook files held to the schema, as they are when they are loaded");
  args.Rest("FILE", paths, "Runbook files", true);
  output.AddTo(args);
  args.Example("muster runbook lint runbooks/*.yaml");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  Document doc;
  doc.kind = "RunbookLint";
  Json rows = Json::array();
  std::map<std::string, std::string> owner;
  bool good = true;
  for (const std::string& path : paths) {
    const auto book = LintRunbookFile(context.world.files, path);
    std::string wrong = book.ok() ? "" : book.error().message;
    if (book.ok()) {
      const auto [first, fresh] = owner.emplace(book->id, path);
      if (!fresh)
        wrong = fmt::format("{}:1:1: {} is the id of {} too", Printable(path), book->id,
                            Printable(first->second));
    }
    good = good && wrong.empty();
    rows.push_back({{"file", path},
                    {"id", book.ok() ? book->id : ""},
                    {"good", wrong.empty()},
                    {"findings", wrong}});
    doc.table += wrong.empty() ? fmt::format("{}: {} {}\n", Printable(path), book->id, book->title)
                               : wrong + "\n";
    doc.cases.push_back({"runbook", path, wrong.empty() ? Level::kPass : Level::kFail, wrong});
  }
  *doc.json = {{"files", rows}};
  Emit(context, output, doc);
  return good ? ExitCode::kDone : ExitCode::kUsage;
}

}  // namespace muster::cli
