#include "cli/why/why.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/live.h"
#include "app/sched_ask.h"
#include "base/strings.h"
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

Result<SchedWhy> AskCluster(Context& context, const LiveOptions& live, const std::string& job) {
  TRY(const auto cluster, LiveCluster::Load(context.world, live));
  return cluster->Why(job);
}

}  // namespace

ExitCode WhyPending(const Invocation& invocation) {
  OutputOptions output;
  std::string job, script, at;
  Args args("why",
            "Why a job waits: the constraint that binds it, and the smallest change that "
            "would start it");
  LiveOptions live;
  args.Positional("JOB", job, "The job; on a cluster, namespace/name");
  args.Option("--script", script, "FILE", "A cluster script (without it: the Kubernetes cluster)");
  args.Option("--at", at, "T", "Virtual time in milliseconds (without it: the last event)");
  args.Option("--kubeconfig", live.kubeconfig, "FILE", "Default: as kubectl finds it");
  args.Option("--context", live.context, "NAME", "A context of it");
  args.Option("--for", live.schedulers, "NAME",
              "spec.schedulerName of the pods to look at (default: muster)");
  output.AddTo(args);
  args.Example("muster why train/ddp");
  args.Example("muster why j2 --script hour.jsonl --at 5000");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  std::optional<int64_t> at_ms;
  if (!at.empty()) {
    const auto value = ParseInt(at);
    if (!value.ok() || *value < 0)
      return Complain(context, Code::kInvalid, "--at: expected milliseconds of virtual time");
    at_ms = *value;
  }
  const bool on_cluster = script.empty();
  if (on_cluster && at_ms)
    return Complain(context, Code::kInvalid, "--at is for a --script: a cluster is asked as it is");
  auto why = on_cluster ? AskCluster(context, live, job) : AskScript(context, script, job, at_ms);
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
    doc.table += "would start if: " + change + "\n";
  }
  doc.cases = {{"why", job, Level::kPass, why->state}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
