#include "cli/node/node.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/node_holds.h"
#include "base/strings.h"
#include "cli/live_line.h"
#include "cli/output.h"
#include "cli/site_option.h"
#include "cli/table.h"

namespace muster::cli {

namespace {

struct ByHand {
  SiteOption site;
  OutputOptions output;
  HandOptions options;
  std::string node, ttl = "4h", wait = "60m";

  void AddTo(Args& args, bool reason) {
    args.Positional("NODE", node, "The node");
    if (reason) {
      args.Required("--reason", options.reason, "TEXT", "Why; it stands on the node");
      args.Option("--ttl", ttl, "SPAN", "Until when; past it the cordon is overdue and says so");
    }
    site.AddTo(args);
    output.AddTo(args);
  }

  template <typename Work>
  ExitCode Run(const Invocation& invocation, const std::string& said, Work&& work) {
    Context& context = invocation.context;
    const auto span = ParseDuration(ttl).Context("--ttl");
    if (!span.ok()) return Complain(context, span.error());
    const auto limit = ParseDuration(wait).Context("--wait");
    if (!limit.ok()) return Complain(context, limit.error());
    options.ttl = *span;
    options.timeout = *limit;
    options.by = context.user_at_host;
    options.open = {.self_binary = context.self_binary, .modelled_telemetry = true};
    auto opened = site.Open(context, true);
    if (!opened.ok()) return Complain(context, opened.error());
    LiveLine progress(context);
    const Status done = work(*opened, progress);
    if (!done.ok()) return Complain(context, done.error());
    Document doc;
    doc.kind = "NodeHold";
    *doc.json = {{"node", node}, {"done", said}};
    doc.table = fmt::format("{} {}\n", node, said);
    doc.cases = {{"node", node, Level::kPass, said}};
    Emit(context, output, doc);
    return ExitCode::kDone;
  }
};

std::string Says(const NodeHold& hold) {
  if (!hold.answers) return "does not answer";
  if (hold.mark) return std::string(ToString(hold.mark->kind));
  if (!hold.hold.schedulable) return "cordoned by somebody else";
  return "at work";
}

}  // namespace

ExitCode NodeList(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  Args args("node list",
            "Every node: at work or held, by whom, why, until when, and what runs there");
  site_option.AddTo(args);
  output.AddTo(args);
  args.Example("muster node list");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  auto site = site_option.Open(context, true);
  if (!site.ok()) return Complain(context, site.error());
  const auto nodes = ListNodes(*site);
  if (!nodes.ok()) return Complain(context, nodes.error());
  Document doc;
  doc.kind = "NodeList";
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  Table table({"NODE", "STANDS", "HOLDER", "RUN", "UNTIL", "JOBS", "WHY"});
  std::string advice;
  bool attention = false;
  for (const NodeHold& hold : *nodes) {
    const auto& lease = hold.hold.lease;
    const std::string why = hold.mark && !hold.mark->reason.empty() ? hold.mark->reason
                            : lease                                 ? lease->reason
                                                                    : hold.hold.note;
    table.Row({hold.node, Says(hold), lease ? lease->owner : "", lease ? lease->run : "",
               lease ? FormatTime(lease->until) : "", std::to_string(hold.jobs.size()),
               Shorten(Printable(why), 80)});
    rows.push_back({{"node", hold.node},
                    {"stands", Says(hold)},
                    {"holder", lease ? lease->owner : ""},
                    {"run", lease ? lease->run : ""},
                    {"jobs", hold.jobs.size()},
                    {"why", why}});
    using engine::MarkKind;
    const bool forgotten =
        hold.mark && (hold.mark->kind == MarkKind::kOrphan || hold.mark->kind == MarkKind::kLost ||
                      hold.mark->kind == MarkKind::kOverdue);
    attention = attention || forgotten;
    if (hold.mark && !hold.mark->advice.empty())
      advice += fmt::format("{}: {}\n", hold.node, hold.mark->advice);
    doc.cases.push_back({"node", hold.node, forgotten ? Level::kFail : Level::kPass, why});
  }
  *doc.json = {{"nodes", rows}};
  doc.table = table.ToString() + (advice.empty() ? "" : "\n" + advice);
  Emit(context, output, doc);
  // A forgotten or overdue cordon is a finding.
  return attention ? ExitCode::kFail : ExitCode::kDone;
}

ExitCode NodeCordon(const Invocation& invocation) {
  ByHand hand;
  Args args("node cordon", "Nothing new is placed on a node; who, why and until when stands on it");
  hand.AddTo(args, true);
  args.Example("muster node cordon node003 --reason 'fan is loud' --ttl 4h");
  if (auto stop = Begin(invocation, args)) return *stop;
  return hand.Run(invocation, "is cordoned", [&](SiteContext& site, Progress&) {
    return CordonNode(site, hand.node, hand.options);
  });
}

ExitCode NodeDrain(const Invocation& invocation) {
  ByHand hand;
  Args args("node drain", "Cordon, and let the work end at its next durable checkpoint");
  hand.AddTo(args, true);
  args.Option("--wait", hand.wait, "SPAN", "How long for; then exit 124, and it stays cordoned");
  args.Flag("--force", hand.options.force,
            "End the work at once; what is not in a durable checkpoint is lost");
  args.Example("muster node drain node003 --reason 'swap GPU 3' --ttl 2d --wait 30m");
  if (auto stop = Begin(invocation, args)) return *stop;
  return hand.Run(invocation, "is cordoned and empty", [&](SiteContext& site, Progress& progress) {
    return DrainNode(site, hand.node, hand.options, progress);
  });
}

ExitCode NodeReturn(const Invocation& invocation) {
  ByHand hand;
  Args args("node return",
            "Back to work, if gate 3 passes on it now, and only if the mark on it is ours");
  hand.AddTo(args, false);
  args.Example("muster node return node003");
  if (auto stop = Begin(invocation, args)) return *stop;
  return hand.Run(invocation, "is back at work", [&](SiteContext& site, Progress& progress) {
    return ReturnNode(site, hand.node, hand.options, progress);
  });
}

}  // namespace muster::cli
