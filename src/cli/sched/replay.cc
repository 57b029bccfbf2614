#include "cli/sched/replay.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/sched_replay.h"
#include "base/strings.h"
#include "cli/output.h"
#include "cli/table.h"

namespace muster::cli {

namespace {

double Rounded(double percent) {
  return static_cast<double>(static_cast<int64_t>(percent * 1000 + 0.5)) / 1000;
}

Document Describe(const ReplayRequest& request, const std::string& policy,
                  const ReplayReport& report) {
  Document doc;
  doc.kind = "SchedReplay";
  auto& json = *doc.json;
  json["origin"] = "rehearsed";
  json["format"] = "openb";
  json["policy"] = policy;
  json["load"] = request.load;
  json["seed"] = request.seed;
  json["seeds"] = request.seeds;
  json["nodes"] = report.nodes;
  json["gpus"] = report.gpus;
  json["pods_in_list"] = report.pods_in_list;
  json["alloc_pct"] = Rounded(report.alloc_pct);
  json["fragmentation_pct"] = Rounded(report.frag_pct);
  json["alloc_pct_at_load"] = nlohmann::ordered_json::object();
  json["fragmentation_pct_at_load"] = nlohmann::ordered_json::object();
  Table table({"load %", "allocated %", "fragmented %"});
  for (const ReplayReport::Step& step : report.steps) {
    const std::string load = fmt::format("{}", step.load_pct);
    json["alloc_pct_at_load"][load] = Rounded(step.alloc_pct);
    if (step.frag_pct >= 0) json["fragmentation_pct_at_load"][load] = Rounded(step.frag_pct);
    const bool last = &step == &report.steps.back();
    if (step.load_pct % 10 == 0 || last)
      table.Row({load, fmt::format("{:.2f}", step.alloc_pct),
                 step.frag_pct >= 0 ? fmt::format("{:.2f}", step.frag_pct) : ""});
  }
  json["runs"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < report.runs.size(); ++i) {
    const auto& run = report.runs[i];
    json["runs"].push_back({{"seed", request.seed + i},
                            {"arrived", run.arrived},
                            {"placed", run.placed},
                            {"alloc_pct", Rounded(run.alloc_pct)},
                            {"fragmentation_pct", Rounded(run.frag_pct)}});
  }
  doc.table = fmt::format(
      "{}: {} nodes, {} GPUs, a list of {} pods, seeds {} to {} (rehearsed: a replay, no "
      "cluster)\n\n{}",
      policy, report.nodes, report.gpus, report.pods_in_list, request.seed,
      request.seed + report.runs.size() - 1, table.ToString(2));
  doc.brief = fmt::format("{} {:.2f} % of the GPUs allocated at {:.0f} % load\n", policy,
                          report.alloc_pct, request.load * 100);
  doc.cases = {{"sched replay", policy, Level::kPass, doc.brief}};
  return doc;
}

}  // namespace

ExitCode SchedReplay(const Invocation& invocation) {
  OutputOptions output;
  ReplayRequest request;
  std::string format = "openb", policy = "muster", seed = "42";
  bool json = false;
  Args args("sched replay",
            "A published trace through a packing policy: how much of the GPUs is allocated as the "
            "load rises beyond what there is");
  args.Choice("--format", format, {"openb"}, "Format of the lists");
  args.Required("--nodes", request.nodes_path, "FILE", "The node list");
  args.Required("--pods", request.pods_path, "FILE", "The pod list");
  args.Choice("--policy", policy, {"muster", "fgd", "bestfit", "dotprod", "random"},
              "Who chooses the node and the device");
  args.Option("--load", request.load, "FACTOR",
              "GPUs asked for in the end, of those there are (1.3)");
  args.Option("--seed", seed, "N", "Order and choice of the pods (42)");
  args.Option("--seeds", request.seeds, "N", "That many runs, seed by seed; means are shown (1)");
  args.Flag("--json", json, "The same as -o json");
  output.AddTo(args);
  args.Example("muster sched replay --nodes nodes.csv --pods pods.csv --seeds 10");
  args.Example("muster sched replay --nodes nodes.csv --pods pods.csv --policy fgd --json");
  if (auto stop = Begin(invocation, args)) return *stop;
  if (json) output.format = "json";
  Context& context = invocation.context;
  const auto number = ParseInt(seed);
  if (!number.ok() || *number < 0)
    return Complain(context, Code::kInvalid, "--seed: a whole number from 0 was expected");
  request.seed = static_cast<uint64_t>(*number);
  request.policy = *packing::PolicyNamed(policy);
  const auto report = ReplayOpenb(context.world.files, request);
  if (!report.ok()) return Complain(context, report.error());
  Emit(context, output, Describe(request, policy, *report));
  return ExitCode::kDone;
}

}  // namespace muster::cli
