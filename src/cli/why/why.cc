#include "cli/why/why.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/live.h"
#include "app/sched_ask.h"
#include "base/strings.h"
#include "cli/at_option.h"
#include "cli/live_option.h"
#include "cli/output.h"
#include "cli/table.h"

namespace muster::cli {

namespace {

Result<SchedWhy> AskScript(Context& context, const std::string& script, const std::string& job,
                           std::optional<int64_t> at_ms) {
  auto text = context.world.files.Read(script);
  if (!text.ok()) return Fail(std::move(text).error().Context("reading " + script));
  return AskWhyPending(*text, job, at_ms).Context(script);
}

Result<SchedWhy> AskCluster(Context& context, const LiveOptions& live, const std::string& job,
                            std::vector<std::string>& troubles) {
  TRY(const auto cluster, LiveCluster::Load(context.world, live));
  troubles = cluster->Troubles();
  return cluster->Why(job);
}

// Changes as a person reads them: many new nodes that are alike are one line.
std::string WordsOfChanges(const nlohmann::ordered_json& changes) {
  std::string words;
  size_t nodes = 0;
  nlohmann::ordered_json like;
  for (const auto& change : changes) {
    if (change.value("op", "") == "node.add") {
      if (nodes++ == 0) like = change;
    } else {
      words += fmt::format("would start if: {}\n", Printable(change.dump()));
    }
  }
  if (nodes == 0) return words;
  std::string of;
  if (like.contains("capacity")) {
    for (const auto& [resource, amount] : like["capacity"].items())
      of += fmt::format("{}{} {}", of.empty() ? "" : ", ", resource,
                        amount.is_string() ? amount.get<std::string>() : amount.dump());
  }
  return words + fmt::format("would start if: {} more node{} of {}\n", nodes,
                             nodes == 1 ? " were there," : "s were there, each", Printable(of));
}

}  // namespace

ExitCode WhyPending(const Invocation& invocation) {
  OutputOptions output;
  std::string job, script;
  AtOption at;
  Args args("why",
            "Why a job waits: the constraint that binds it, and the smallest change that "
            "would start it");
  LiveOptions live;
  args.Positional("JOB", job, "The job; on a cluster, namespace/name");
  args.Option("--script", script, "FILE", "A cluster script (without it: the Kubernetes cluster)");
  at.AddTo(args);
  AddLiveOptions(args, live);
  output.AddTo(args);
  args.Example("muster why train/ddp");
  args.Example("muster why j2 --script hour.jsonl --at 5000");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto at_ms = at.Milliseconds();
  if (!at_ms.ok()) return Complain(context, at_ms.error());
  const bool on_cluster = script.empty();
  if (on_cluster && *at_ms)
    return Complain(context, Code::kInvalid, "--at is for a --script: a cluster is asked as it is");
  std::vector<std::string> troubles;
  auto why = on_cluster ? AskCluster(context, live, job, troubles)
                        : AskScript(context, script, job, *at_ms);
  if (!why.ok()) return Complain(context, why.error());
  Document doc;
  doc.kind = "SchedWhy";
  auto& json = *doc.json;
  json = {{"job", job}, {"origin", on_cluster ? "live" : "rehearsed"}, {"state", why->state}};
  if (!on_cluster) json["script"] = script, json["at_ms"] = why->at_ms;
  json["because"] = nlohmann::ordered_json::array();
  json["would_start_if"] = nlohmann::ordered_json::array();
  Table table({});
  for (const auto& cause : why->because) {
    json["because"].push_back({{"code", cause.code}, {"detail", cause.detail}});
    table.Row({cause.code, cause.detail});
  }
  doc.table = on_cluster ? fmt::format("{} is {}\n{}", job, why->state, table.ToString())
                         : fmt::format("rehearsed: {} is {} at t={} ms\n{}", job, why->state,
                                       why->at_ms, table.ToString());
  for (const std::string& change : why->would_start_if) {
    json["would_start_if"].push_back(nlohmann::ordered_json::parse(change));
    if (!on_cluster) doc.table += "would start if: " + change + "\n";
  }
  if (on_cluster) doc.table += WordsOfChanges(json["would_start_if"]);
  if (!why->ignored.empty()) {
    json["not_acted_on"] = why->ignored;
    doc.table += "not acted on: " + Printable(why->ignored) + "\n";
  }
  if (on_cluster) TellTroubles(troubles, doc);
  doc.cases = {{"why", job, Level::kPass, why->state}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
