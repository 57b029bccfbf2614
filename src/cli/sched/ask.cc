// muster sched whatif and muster sched bench.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/sched_ask.h"
#include "app/sched_bench.h"
#include "base/strings.h"
#include "cli/at_option.h"
#include "cli/output.h"
#include "cli/sched/sched.h"
#include "cli/table.h"

namespace muster::cli {

namespace {

using Json = nlohmann::ordered_json;

Json TimeOrNull(const std::optional<int64_t>& t) { return t ? Json(*t) : Json(nullptr); }
std::string TimeText(const std::optional<int64_t>& t) {
  return t ? fmt::format("t={}", *t) : "not with what is known";
}

}  // namespace

ExitCode SchedWhatIf(const Invocation& invocation) {
  OutputOptions output;
  std::string script;
  AtOption at;
  std::vector<std::string> changes, about;
  Args args("sched whatif",
            "When would a waiting job start if something changed: a copy of the cluster takes the "
            "change and time runs on in both");
  args.Required("--script", script, "FILE", "A cluster script");
  at.AddTo(args);
  std::string change;
  args.Option("--change", change, "EVENT", "One change (the same as CHANGE)");
  args.Rest("CHANGE", changes,
            "Events without \"t\": '{\"op\":\"node.uncordon\",\"name\":\"n1\"}'");
  args.Option("--about", about, "JOB", "Only these jobs (without it: every job that waits)");
  output.AddTo(args);
  args.Example(
      "muster sched whatif --script hour.jsonl '{\"op\":\"node.uncordon\",\"name\":\"n1\"}'");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  if (!change.empty()) changes.push_back(change);
  if (changes.empty())
    return Complain(context, Code::kInvalid, "what changes: give --change EVENT or CHANGE");
  const auto at_ms = at.Milliseconds();
  if (!at_ms.ok()) return Complain(context, at_ms.error());
  auto text = context.world.files.Read(script);
  if (!text.ok()) return Complain(context, std::move(text).error().Context("reading " + script));
  auto result = AskWhatIfChanged(*text, changes, about, *at_ms);
  if (!result.ok()) return Complain(context, std::move(result).error().Context(script));
  Document doc;
  doc.kind = "SchedWhatIf";
  *doc.json = {{"script", script}, {"origin", "rehearsed"}, {"at_ms", result->at_ms}};
  (*doc.json)["answers"] = Json::array();
  Table table({"job", "starts", "would have started"});
  for (const auto& answer : result->answers) {
    (*doc.json)["answers"].push_back({{"job", answer.job},
                                      {"start_ms", TimeOrNull(answer.start_ms)},
                                      {"was_ms", TimeOrNull(answer.was_ms)}});
    table.Row({answer.job, TimeText(answer.start_ms), TimeText(answer.was_ms)});
  }
  doc.table =
      fmt::format("rehearsed: at t={} ms of virtual time\n{}", result->at_ms, table.ToString());
  doc.cases = {{"sched", "whatif", Level::kPass, ""}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

namespace {

Json ScaleOf(const SchedBenchFigures& figures) {
  Json list = Json::array();
  for (const auto& scale : figures.scale)
    list.push_back({{"nodes", scale.nodes},
                    {"p50_ms", scale.decision_ms_p50},
                    {"p99_ms", scale.decision_ms_p99}});
  return list;
}

Json FeaturesOf(const SchedBenchFigures& figures) {
  Json list = Json::array();
  for (const FeatureRow& row : figures.features)
    list.push_back({{"name", row.name},
                    {"leaves_mean", row.leaves_mean},
                    {"spread", row.spread},
                    {"wait_large_p99_h", row.wait_large_p99_h},
                    {"wait_mean_h", row.wait_mean_h},
                    {"utilisation_pct", row.utilisation_pct},
                    {"never_started", row.never_started}});
  return list;
}

}  // namespace

ExitCode SchedBench(const Invocation& invocation) {
  OutputOptions output;
  SchedBenchRequest request;
  int seed = 1;
  bool json = false;
  Args args("sched bench", "How fast the scheduler core decides on this machine, one thread");
  args.Option("--nodes", request.nodes, "N", "Nodes of 8 GPUs (5000)");
  args.Option("--pods", request.pods, "N", "Pods bound before measuring (140000)");
  args.Option("--gangs", request.gangs, "N", "Gangs that wait meanwhile (1000)");
  args.Option("--jobs", request.month_jobs, "N", "Jobs of the 30 virtual days (10000)");
  args.Option("--seed", seed, "S", "Of the synthetic cluster (1)");
  args.Flag("--json", json, "Short for -o json");
  output.AddTo(args);
  args.Example("muster sched bench --nodes 5000 --pods 140000 --gangs 1000 --json");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  if (json) output.format = "json";
  if (request.nodes < 16 || request.nodes > 200000 || request.pods < 0 ||
      request.pods > 10'000'000 || request.gangs < 0 || request.gangs > 100000 ||
      request.month_jobs < 0 || request.month_jobs > 1'000'000)
    return Complain(context, Code::kInvalid,
                    "expected --nodes 16 to 200000, --pods up to 10000000, --gangs up to 100000, "
                    "--jobs up to 1000000");
  request.seed = seed;
  auto figures = BenchSchedule(request, context.world.clock, context.world.files);
  if (!figures.ok()) return Complain(context, figures.error());
  const SchedBenchFigures& f = *figures;
  Document doc;
  doc.kind = "SchedBench";
  *doc.json = {
      {"origin", "rehearsed"},
      {"nodes", request.nodes},
      {"pods", request.pods},
      {"gangs", request.gangs},
      {"seed", request.seed},
      {"pods_bound", f.pods_bound},
      {"jobs_pending", f.jobs_pending},
      {"decision_ms",
       {{"p50", f.decision_ms_p50}, {"p99", f.decision_ms_p99}, {"max", f.decision_ms_max}}},
      {"finish_ms", {{"p50", f.finish_ms_p50}, {"p99", f.finish_ms_p99}}},
      {"victims_ms", {{"p50", f.victims_ms_p50}, {"p99", f.victims_ms_p99}}},
      {"placements_per_s", f.placements_per_s},
      {"decisions_started", f.decisions_started},
      {"why_ms", {{"p99", f.why_ms_p99}, {"max", f.why_ms_max}}},
      {"storm_ms", {{"max", f.storm_ms_max}}},
      {"month", {{"jobs", request.month_jobs}, {"finished", f.month_finished}, {"s", f.month_s}}},
      {"scale", ScaleOf(f)},
      {"features", FeaturesOf(f)},
      {"machine", f.machine},
      {"load_s", f.load_s},
      {"read_s", f.read_s},
      {"idle_ns", f.idle_ns},
      {"rss_mib", f.rss_mib}};
  Table table({});
  const auto row = [&](const char* what, const std::string& value) { table.Row({what, value}); };
  row("bound, waiting", fmt::format("{} pods, {} gangs", f.pods_bound, f.jobs_pending));
  row("load", fmt::format("{:.2f} s, of that reading {:.2f} s", f.load_s, f.read_s));
  row("placements", fmt::format("{:.0f} /s", f.placements_per_s));
  row("decision for a new gang",
      fmt::format("p50 {:.3f} ms, p99 {:.3f} ms, max {:.3f} ms", f.decision_ms_p50,
                  f.decision_ms_p99, f.decision_ms_max));
  row("a job ends", fmt::format("p50 {:.3f} ms, p99 {:.3f} ms", f.finish_ms_p50, f.finish_ms_p99));
  row("eviction, 700 candidates",
      fmt::format("p50 {:.3f} ms, p99 {:.3f} ms", f.victims_ms_p50, f.victims_ms_p99));
  row("of these started", fmt::format("{} of {}", f.decisions_started, request.decisions));
  row("why, asked", fmt::format("p99 {:.3f} ms, max {:.3f} ms", f.why_ms_p99, f.why_ms_max));
  row("20 gangs x 500 pods", fmt::format("longest {:.3f} ms", f.storm_ms_max));
  row("30 virtual days", fmt::format("{} jobs, {} finished, in {:.2f} s", request.month_jobs,
                                     f.month_finished, f.month_s));
  for (const auto& scale : f.scale)
    row("64 nodes more", fmt::format("of {} nodes: p50 {:.3f} ms, p99 {:.3f} ms", scale.nodes,
                                     scale.decision_ms_p50, scale.decision_ms_p99));
  row("idle tick", fmt::format("{:.0f} ns", f.idle_ns));
  row("resident", fmt::format("{:.0f} MiB", f.rss_mib));
  doc.table =
      fmt::format("rehearsed: {} nodes, seed {}, one thread of {}\n{}", request.nodes, request.seed,
                  f.machine.empty() ? "this machine" : f.machine, table.ToString());
  Table features({"synthetic month", "leaves a gang", "of the fewest", "large wait p99",
                  "mean wait", "GPUs in use", "never"});
  for (const FeatureRow& r : f.features)
    features.Row({r.name, fmt::format("{:.2f}", r.leaves_mean), fmt::format("{:.2f} x", r.spread),
                  fmt::format("{:.1f} h", r.wait_large_p99_h),
                  fmt::format("{:.2f} h", r.wait_mean_h),
                  fmt::format("{:.1f} %", r.utilisation_pct), fmt::format("{}", r.never_started)});
  doc.table += "\n" + features.ToString();
  doc.cases = {{"sched", "bench", Level::kPass, ""}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
