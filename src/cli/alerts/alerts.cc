#include "cli/alerts/alerts.h"

#include <mutex>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/alerts/alert_desk.h"
#include "app/alerts/alert_server.h"
#include "base/strings.h"
#include "cli/output.h"
#include "cli/site_option.h"
#include "cli/table.h"

namespace muster::cli {

namespace {

std::string StandsOf(const AlertEpisode& episode) {
  switch (episode.stage) {
    case AlertEpisode::Stage::kHeard:
      return "to be planned";
    case AlertEpisode::Stage::kPlanned:
      return episode.approved_by.empty() ? "planned" : "approved by " + episode.approved_by;
    case AlertEpisode::Stage::kClosed:
      break;
  }
  return episode.end;
}

}  // namespace

ExitCode AlertsServe(const Invocation& invocation) {
  SiteOption site_option;
  std::string listen = "127.0.0.1:9094", token_file;
  Args args("alerts serve", "Take Alertmanager's webhooks and lead the runbooks that they ask for");
  args.Option("--listen", listen, "ADDRESS:PORT", "Where; port 0 takes any free one");
  args.Option("--token-file", token_file, "FILE",
              "Requests carry its content as a bearer token; needed beside loopback");
  site_option.AddTo(args);
  args.Example("muster alerts serve --listen 127.0.0.1:9094 --site site.yaml");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  std::string token;
  if (!token_file.empty()) {
    const auto text = context.world.files.Read(token_file, 64 << 10);
    if (!text.ok())
      return Complain(
          context, Code::kInvalid,
          fmt::format("--token-file {}: {}", Printable(token_file), text.error().message));
    token = Trim(*text);
    if (token.size() < 16)
      return Complain(
          context, Code::kInvalid,
          fmt::format("--token-file {}: expected 16 characters or more", Printable(token_file)));
  }
  auto options = ParseListen(listen, token);
  if (!options.ok()) return Complain(context, options.error());
  const auto file = site_option.File(context);
  if (!file.ok()) return Complain(context, file.error());
  auto desk = AlertDesk::Open(*file, context.world,
                              {.self_binary = context.self_binary, .modelled_telemetry = true});
  if (!desk.ok()) return Complain(context, desk.error());
  std::mutex saying;
  options->say = [&](const std::string& line) {
    const std::lock_guard lock(saying);
    context.err << FormatTime(std::chrono::floor<std::chrono::seconds>(context.world.clock.Now()))
                << " " << Printable(line) << std::endl;
  };
  if (context.catch_interrupts) context.catch_interrupts();
  options->stopped = [&context] { return context.interrupted && context.interrupted(); };
  if (!context.make_alert_server)
    return Complain(context, Code::kInternal, "this program cannot listen");
  auto server = context.make_alert_server(**desk, context.world, *options);
  if (!server.ok()) return Complain(context, server.error());
  context.out << fmt::format("listening at {}:{}", options->host, (*server)->port()) << std::endl;
  (*server)->Serve();
  return ExitCode::kDone;
}

ExitCode AlertsList(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  bool all = false;
  Args args("alerts list", "What became of the alerts of this site, oldest first");
  args.Flag("--all", all, "Those that are over, too");
  site_option.AddTo(args);
  output.AddTo(args);
  args.Example("muster alerts list --all");
  if (auto stop = site_option.Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto book = ReadAlertBook(context.world.files, PathsOf(site_option.file));
  if (!book.ok()) return Complain(context, book.error());
  Document doc;
  doc.kind = "Alerts";
  Table table({"ID", "HEARD", "ALERT", "ON", "RUNBOOK", "STANDS", "PLAN", "RUN", "WHY"});
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const AlertEpisode& episode : book->episodes()) {
    if (!all && episode.stage == AlertEpisode::Stage::kClosed) continue;
    table.Row({episode.id, FormatTime(std::chrono::floor<std::chrono::seconds>(episode.heard_at)),
               Printable(episode.alert.name), episode.on.id, episode.runbook, StandsOf(episode),
               episode.plan_hash.substr(0, 12), episode.run, Shorten(Printable(episode.why), 80)});
    rows.push_back({{"id", episode.id},
                    {"alert", episode.alert.name},
                    {"fingerprint", episode.alert.fingerprint},
                    {"startsAt", FormatTime(episode.alert.starts_at)},
                    {"heardAt", FormatTime(episode.heard_at)},
                    {"on", episode.on.id},
                    {"runbook", episode.runbook},
                    {"stage", ToString(episode.stage)},
                    {"plan", episode.plan_hash},
                    {"run", episode.run},
                    {"approvedBy", episode.approved_by},
                    {"resolved", episode.resolved},
                    {"end", episode.end},
                    {"why", episode.why}});
    doc.cases.push_back({"alert", episode.id, Level::kPass, StandsOf(episode)});
  }
  *doc.json = {{"alerts", rows}};
  doc.table = rows.empty() ? std::string(all ? "no alert was heard\n" : "no alert is open\n")
                           : table.ToString();
  Emit(context, output, doc);
  return ExitCode::kDone;
}

ExitCode AlertsApprove(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  std::string id, by, plan;
  Args args("alerts approve",
            "A person's word for the plan of an alert: it begins, with every step that needs "
            "approval");
  args.Positional("ALERT", id, "Its id, as muster alerts list shows it");
  args.Required("--by", by, "NAME", "Who answers for it: a person's name");
  args.Option("--plan", plan, "HASH", "Refuse unless its plan's hash begins so");
  site_option.AddTo(args);
  output.AddTo(args);
  args.Example("muster alerts approve a-7 --by 'A. Person'");
  if (auto stop = site_option.Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const Status put = ApproveAlert(context.world, PathsOf(site_option.file), id, by, plan);
  if (!put.ok()) return Complain(context, put.error());
  Document doc;
  doc.kind = "AlertApproval";
  const std::string said =
      fmt::format("{} approves the plan of {}; muster alerts serve begins it", by, id);
  *doc.json = {{"alert", id}, {"by", by}, {"said", said}};
  doc.table = said + "\n";
  doc.cases = {{"alert", id, Level::kPass, said}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
