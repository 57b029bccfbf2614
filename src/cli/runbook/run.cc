// muster runbook run, resume, rollback, approve, pause, status, journal, ticket.
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/rma_ticket.h"
#include "app/runbooks.h"
#include "base/strings.h"
#include "cli/live_line.h"
#include "cli/runbook/runbook.h"
#include "cli/runbook/runs.h"
#include "cli/site_option.h"
#include "cli/table.h"

namespace muster::cli {

namespace {

using RequestKind = engine::Requests::Request::Kind;

RunOptions OptionsOf(const Context& context, bool approve, bool wait) {
  return {.by = context.user_at_host,
          .approve = approve,
          .wait = wait,
          .open = {.self_binary = context.self_binary, .modelled_telemetry = true}};
}

ExitCode ShowRun(Context& context, const OutputOptions& output, const Plan& plan,
                 const Result<RunOutcome>& outcome) {
  if (!outcome.ok()) return Complain(context, outcome.error());
  const Document doc =
      RunDocument(context, outcome->run, plan, outcome->state, outcome->entries, outcome->blocked);
  Emit(context, output, doc);
  return static_cast<ExitCode>(outcome->exit_code);
}

// Of the verbs that name a run.
struct RunArg {
  SiteOption site;
  OutputOptions output;
  std::string run;
  void AddTo(Args& args, bool required) {
    args.Positional("RUN", run, "A run, or how its name begins; without it the newest", required);
    site.AddTo(args);
    output.AddTo(args);
  }
};

ExitCode Ask(const Invocation& invocation, RunArg& a, engine::Requests::Request request,
             const std::string& said) {
  Context& context = invocation.context;
  const auto file = a.site.File(context);
  if (!file.ok()) return Complain(context, file.error());
  const Status asked = AskRun(context.world, PathsOf(*file), a.run, std::move(request));
  if (!asked.ok()) return Complain(context, asked.error());
  Document doc;
  doc.kind = "RunbookRequest";
  *doc.json = {{"run", a.run}, {"said", said}};
  doc.table = said + "\n";
  doc.cases = {{"request", a.run, Level::kPass, said}};
  Emit(context, a.output, doc);
  return ExitCode::kDone;
}

}  // namespace

ExitCode RunbookRunPlan(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  std::string path;
  bool approve = false, wait = false, now = false;
  std::string by, reason;
  Args args("runbook run",
            "Do a plan, under a journal: every act is intended, done, looked at, proven");
  args.Positional("PLAN", path, "The file of muster runbook plan --out");
  args.Flag("--approve", approve, "Approve every step of this plan that needs it");
  args.Flag("--wait", wait, "Wait for a person's word instead of stopping for it");
  args.Flag("--now", now, "Begin outside of the change window; with --by and --reason, recorded");
  args.Option("--by", by, "NAME", "With --now: who answers for it, a person's name");
  args.Option("--reason", reason, "TEXT", "With --now: why it cannot wait");
  site_option.AddTo(args);
  output.AddTo(args);
  args.Example("muster runbook run plan.json --approve");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const bool any = now || !by.empty() || !reason.empty();
  if (any && !(now && !Trim(by).empty() && !Trim(reason).empty()))
    return Complain(context, Code::kInvalid, "--now, --by NAME and --reason TEXT go together");
  const auto text = context.world.files.Read(path, 256u << 20);
  if (!text.ok()) {
    return Complain(context, Code::kInvalid,
                    fmt::format("{}: {}", Printable(path), text.error().message));
  }
  const auto plan = ReadPlan(*text, path);
  if (!plan.ok()) return Complain(context, plan.error());
  auto site = site_option.Open(context, true);
  if (!site.ok()) return Complain(context, site.error());
  LiveLine progress(context);
  RunOptions options = OptionsOf(context, approve, wait);
  options.now_by = by;
  options.now_reason = reason;
  return ShowRun(context, output, *plan, RunPlan(*site, *plan, options, progress));
}

ExitCode RunbookResume(const Invocation& invocation) {
  RunArg a;
  bool approve = false, wait = false;
  Args args("runbook resume",
            "Go on with a run that was interrupted, paused, or waited for a word");
  a.AddTo(args, false);
  args.Flag("--approve", approve, "Approve every step of its plan that needs it");
  args.Flag("--wait", wait, "Wait for a person's word instead of stopping for it");
  args.Example("muster runbook resume");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  auto site = a.site.Open(context, true);
  if (!site.ok()) return Complain(context, site.error());
  const auto view = ViewRun(context.world.files, site->paths, a.run);
  if (!view.ok()) return Complain(context, view.error());
  LiveLine progress(context);
  return ShowRun(context, a.output, view->plan,
                 ResumeRun(*site, view->run, OptionsOf(context, approve, wait), progress));
}

ExitCode RunbookRollback(const Invocation& invocation) {
  RunArg a;
  std::string reason, by = invocation.context.user_at_host;
  Args args("runbook rollback", "Ask a run for the way back, and go it");
  a.AddTo(args, true);
  args.Option("--by", by, "NAME", "Who asks for it (default: this login)");
  args.Required("--reason", reason, "TEXT", "Why");
  args.Example("muster runbook rollback r-20261121T201500 --reason 'wrong version'");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  auto site = a.site.Open(context, true);
  if (!site.ok()) return Complain(context, site.error());
  const auto view = ViewRun(context.world.files, site->paths, a.run);
  if (!view.ok()) return Complain(context, view.error());
  const Status asked =
      AskRun(context.world, site->paths, view->run, {RequestKind::kRollback, "", by, "", reason});
  if (!asked.ok()) return Complain(context, asked.error());
  LiveLine progress(context);
  const auto outcome = ResumeRun(*site, view->run, OptionsOf(context, false, false), progress);
  // An engine that is at work takes the word up by itself.
  if (!outcome.ok() && outcome.error().code == Code::kConflict) {
    context.err << "the run is under way and has been asked for the way back\n";
    return ExitCode::kDone;
  }
  return ShowRun(context, a.output, view->plan, outcome);
}

ExitCode RunbookApprove(const Invocation& invocation) {
  RunArg a;
  std::string step, by, plan;
  Args args("runbook approve",
            "A person's word for one step of a run; bound to its plan, and good for hours");
  args.Positional("RUN", a.run, "A run, or how its name begins");
  args.Positional("STEP", step, "The step");
  args.Required("--by", by, "NAME", "Who answers for it: a person's name");
  args.Option("--plan", plan, "HASH", "Refuse unless the run's plan begins so");
  a.site.AddTo(args);
  a.output.AddTo(args);
  args.Example("muster runbook approve r-20261121T201500 reboot --by 'A. Person'");
  if (auto stop = Begin(invocation, args)) return *stop;
  return Ask(
      invocation, a, {RequestKind::kApprove, step, by, plan, ""},
      fmt::format("{} approves {} of {}; muster runbook resume goes on with it", by, step, a.run));
}

ExitCode RunbookAttest(const Invocation& invocation) {
  RunArg a;
  std::string check, by, says, evidence, on;
  Args args("runbook attest", "A person's answer to a check that no probe can make");
  args.Positional("RUN", a.run, "A run, or how its name begins");
  args.Positional("CHECK", check, "The check that asks; muster runbook status names it");
  args.Required("--by", by, "NAME", "Who answers for it: a person's name");
  args.Required("--says", says, "yes|no", "The answer");
  args.Required("--evidence", evidence, "TEXT", "What was seen; it is kept with the run");
  args.Option("--on", on, "TARGET", "Of which target, where the run has several");
  a.site.AddTo(args);
  a.output.AddTo(args);
  args.Example(
      "muster runbook attest r-2026 loss-goes-on --by 'A. Person' --says yes "
      "--evidence 'loss 2.31 at step 1200, 2.30 before'");
  if (auto stop = Begin(invocation, args)) return *stop;
  if (says != "yes" && says != "no")
    return Complain(invocation.context, Code::kInvalid, "--says: expected yes or no");
  if (Trim(by).empty() || Trim(evidence).empty())
    return Complain(invocation.context, Code::kInvalid,
                    "an answer has a person's name and what that person saw");
  engine::Requests::Request request{RequestKind::kAttest, check, by, "", evidence};
  request.on = on;
  request.yes = says == "yes";
  return Ask(invocation, a, std::move(request),
             fmt::format("{} says {} to {} of {}; muster runbook resume goes on with it", by, says,
                         check, a.run));
}

ExitCode RunbookPause(const Invocation& invocation) {
  RunArg a;
  std::string reason;
  Args args("runbook pause", "A run ends what it is at and begins nothing more");
  a.AddTo(args, true);
  args.Option("--reason", reason, "TEXT", "Why");
  args.Example("muster runbook pause r-20261121T201500");
  if (auto stop = Begin(invocation, args)) return *stop;
  return Ask(invocation, a, {RequestKind::kPause, "", invocation.context.user_at_host, "", reason},
             a.run + " pauses; muster runbook resume goes on with it");
}

ExitCode RunbookStatus(const Invocation& invocation) {
  RunArg a;
  Args args("runbook status", "The runs of this site, or where one stands");
  a.AddTo(args, false);
  args.Example("muster runbook status");
  if (auto stop = a.site.Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  if (!a.run.empty()) {
    const auto view = ViewRun(context.world.files, PathsOf(a.site.file), a.run);
    if (!view.ok()) return Complain(context, view.error());
    Emit(context, a.output,
         RunDocument(context, view->run, view->plan, view->stored.state, view->stored.entries, ""));
    return static_cast<ExitCode>(engine::ExitCodeOf(view->stored.state));
  }
  const auto views = ViewRuns(context.world.files, PathsOf(a.site.file));
  if (!views.ok()) return Complain(context, views.error());
  Document doc;
  doc.kind = "RunbookRuns";
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  Table table({"RUN", "RUNBOOK", "TARGETS", "STANDS", "ISOLATED", "BEGAN", "BY"});
  for (const RunbookRun& view : *views) {
    size_t held = 0;
    for (const auto& target : view.stored.state.targets) held += target.held;
    const std::string stands = view.stored.state.closed
                                   ? std::string(ToString(engine::WorstEnd(view.stored.state)))
                                   : "not closed";
    table.Row({view.run, view.plan.runbook.id, std::to_string(view.plan.targets.size()), stands,
               std::to_string(held), FormatTime(view.stored.state.opened_at),
               view.stored.state.by});
    rows.push_back({{"run", view.run},
                    {"runbook", view.plan.runbook.id},
                    {"stands", stands},
                    {"isolated", held},
                    {"began", FormatTime(view.stored.state.opened_at)}});
    doc.cases.push_back({"runbook run", view.run,
                         view.stored.state.closed ? Level::kPass : Level::kUnknown, stands});
  }
  *doc.json = {{"runs", rows}};
  doc.table = views->empty() ? "no runbook has been run on this site\n" : table.ToString();
  Emit(context, a.output, doc);
  return ExitCode::kDone;
}

ExitCode RunbookJournal(const Invocation& invocation) {
  RunArg a;
  Args args("runbook journal", "What a run wrote down, record by record");
  a.AddTo(args, false);
  args.Example("muster runbook journal");
  if (auto stop = a.site.Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto view = ViewRun(context.world.files, PathsOf(a.site.file), a.run);
  if (!view.ok()) return Complain(context, view.error());
  Document doc;
  doc.kind = "RunbookJournal";
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const engine::Entry& entry : view->stored.entries) {
    doc.table += EntryLine(entry, view->plan) + "\n";
    auto row = nlohmann::ordered_json::parse(engine::EncodeEntry(entry));
    row["type"] = ToString(entry.type);
    if (entry.type == engine::EntryType::kOpen) row.erase("detail");
    rows.push_back(std::move(row));
  }
  if (!view->stored.note.empty()) doc.table += view->stored.note + "\n";
  *doc.json = {{"run", view->run}, {"records", rows}, {"note", view->stored.note}};
  doc.cases = {{"journal", view->run, Level::kPass, ""}};
  Emit(context, a.output, doc);
  return ExitCode::kDone;
}

ExitCode RunbookTicket(const Invocation& invocation) {
  RunArg a;
  Args args("runbook ticket",
            "The RMA ticket of a run's target: identity, Xids classified, counters, diagnostic, "
            "what was tried");
  a.AddTo(args, false);
  args.Example("muster runbook ticket > ticket.md");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  auto site = a.site.Open(context, true);
  if (!site.ok()) return Complain(context, site.error());
  const auto view = ViewRun(context.world.files, site->paths, a.run);
  if (!view.ok()) return Complain(context, view.error());
  Document doc;
  doc.kind = "RmaTicket";
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const RmaTicket& ticket : MakeTickets(*site, *view)) {
    doc.table += TicketText(ticket) + "\n";
    nlohmann::ordered_json facts = nlohmann::ordered_json::object();
    for (const auto& [name, value] : ticket.facts) facts[name] = value;
    rows.push_back({{"target", ticket.target},
                    {"replace", ticket.replace},
                    {"advice", ticket.advice},
                    {"facts", facts},
                    {"xids", ticket.xids},
                    {"diagnostic", ticket.diagnostic},
                    {"tried", ticket.tried}});
    doc.cases.push_back(
        {"ticket", ticket.target, ticket.replace ? Level::kFail : Level::kUnknown, ticket.advice});
  }
  *doc.json = {{"run", view->run}, {"tickets", rows}};
  Emit(context, a.output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
