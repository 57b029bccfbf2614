#include "app/sched_bench.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/sched_bench_load.h"
#include "base/strings.h"
#include "sched/engine.h"
#include "sched/script_reader.h"

namespace muster {

namespace {

class Stopwatch {
 public:
  explicit Stopwatch(const Clock& clock) : clock_(clock), began_(clock.Monotonic()) {}
  double Seconds() const { return muster::Seconds(clock_.Monotonic() - began_); }

 private:
  const Clock& clock_;
  Duration began_;
};

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t at = static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5);
  return values[at] * 1000;
}

int64_t CountBinds(const std::vector<sched::Decision>& decisions) {
  return std::count_if(decisions.begin(), decisions.end(), [](const sched::Decision& d) {
    return std::holds_alternative<sched::BindDecision>(d.body);
  });
}

// One event and all decisions that follow from it.
Result<double> Timed(sched::Engine& engine, const sched::Event& event, const Clock& clock,
                     std::vector<sched::Decision>& decisions) {
  decisions.clear();
  const Stopwatch watch(clock);
  TRY_VOID(engine.Take(event, decisions));
  engine.Settle(decisions);
  return watch.Seconds();
}

// A whole script, to the state that it leaves.
Status Play(const std::string& script, sched::Engine& engine,
            std::vector<sched::Decision>& decisions) {
  TRY(const auto events, sched::ReadScript(script));
  for (const auto& event : events) TRY_VOID(engine.Take(event, decisions));
  engine.Settle(decisions);
  return {};
}

// 700 jobs of lower priority on 2,000 nodes that are otherwise held for good; each timed job needs
// the room of some of them.
Status BenchVictims(BenchDice& dice, const Clock& clock, SchedBenchFigures& figures) {
  std::string script = BenchNodes(2000) +
                       "{\"t\":0,\"op\":\"queue.add\",\"name\":\"default\",\"preempt\":{\"within\":"
                       "\"lower-priority\"}}\n";
  int used = 0;
  for (int i = 0; i < 700; ++i) {
    const int ranks = 1 + dice.Below(3);
    script += BenchGang(1 + i, fmt::format("v{}", i), ranks, 8, ",\"checkpoint_every\":600000");
    used += ranks;
  }
  script += BenchGang(1000, "held", 2000 - used, 8, ",\"preemptible\":false");
  sched::Engine engine;
  std::vector<sched::Decision> decisions;
  TRY_VOID(Play(script, engine, decisions));
  std::vector<double> spans;
  for (int i = 0; i < 100; ++i) {
    sched::Engine fork = engine;
    const int ranks = 1 << dice.Below(5);
    TRY(const auto asked,
        sched::ReadScript(BenchGang(2000000 + i * 1000, "b", ranks, 8,
                                    i % 2 == 0 ? ",\"priority\":10"
                                               : ",\"priority\":10,\"topology\":{\"required\":"
                                                 "\"spine\"}")));
    TRY(const double span, Timed(fork, asked[0], clock, decisions));
    spans.push_back(span);
  }
  figures.victims_ms_p50 = Quantile(spans, 0.5), figures.victims_ms_p99 = Quantile(spans, 0.99);
  return {};
}

// New gangs of 1 to 128 ranks on the loaded cluster, each in an event of its own; one that started
// is cancelled again, untimed, so that every one of them meets the same cluster.
Status BenchDecisions(sched::Engine& engine, int64_t& t, int decisions, int gangs, BenchDice& dice,
                      const Clock& clock, SchedBenchFigures& figures) {
  std::vector<double> spans, asks;
  std::vector<sched::Decision> out;
  for (int i = 0; i < decisions; ++i) {
    const bool required = dice.Below(2) == 0;
    const int ranks = 1 << dice.Below(required ? 6 : 8);
    const std::string name = fmt::format("d{}", i);
    TRY(const auto gang,
        sched::ReadScript(BenchGang(++t, name, ranks, 1 << dice.Below(4),
                                    required ? ",\"topology\":{\"required\":\"spine\"}" : "")));
    TRY(const double span, Timed(engine, gang[0], clock, out));
    spans.push_back(span);
    figures.decisions_started += CountBinds(out) > 0 ? 1 : 0;
    TRY_VOID(engine.Take({++t, sched::JobEnd{name, sched::JobVerb::kCancel}}, out));
    engine.Settle(out);
  }
  figures.decision_ms_p50 = Quantile(spans, 0.5), figures.decision_ms_p99 = Quantile(spans, 0.99);
  figures.decision_ms_max = Quantile(spans, 1);
  for (int i = 0; i < std::min(gangs, 200); ++i) {
    TRY(const double ask, Timed(engine, {++t, sched::AskWhy{fmt::format("w{}", i)}}, clock, out));
    asks.push_back(ask);
  }
  figures.why_ms_p99 = Quantile(asks, 0.99), figures.why_ms_max = Quantile(asks, 1);
  return {};
}

// 20 gangs of 500 pods one after another on an empty cluster: the longest time without a decision.
Status BenchStorm(int nodes, const Clock& clock, SchedBenchFigures& figures) {
  TRY(const auto events, sched::ReadScript(BenchNodes(nodes)));
  sched::Engine engine;
  std::vector<sched::Decision> decisions;
  for (const auto& event : events) TRY_VOID(engine.Take(event, decisions));
  engine.Settle(decisions);
  std::vector<double> spans;
  for (int i = 0; i < 20; ++i) {
    TRY(const auto gang, sched::ReadScript(BenchGang(1 + i, fmt::format("s{}", i), 500, 1)));
    TRY(const double span, Timed(engine, gang[0], clock, decisions));
    spans.push_back(span);
  }
  figures.storm_ms_max = Quantile(spans, 1);
  return {};
}

// 10,000 jobs of 1 to 4,096 GPUs with declared run times over 30 days.
Status BenchAMonth(const SchedBenchRequest& request, const Clock& clock,
                   SchedBenchFigures& figures) {
  BenchDice dice(static_cast<uint64_t>(request.seed) + 30);
  TRY(const auto events,
      sched::ReadScript(BenchNodes(request.nodes) +
                        BenchMonth(request.month_jobs, request.nodes * 8, 90, dice)));
  sched::Engine engine;
  std::vector<sched::Decision> decisions;
  const Stopwatch watch(clock);
  for (const auto& event : events) {
    TRY_VOID(engine.Take(event, decisions));
    for (const sched::Decision& decision : decisions)
      figures.month_finished +=
          std::holds_alternative<sched::FinishDecision>(decision.body) ? 1 : 0;
    decisions.clear();
  }
  engine.Run(-1, decisions);
  for (const sched::Decision& decision : decisions)
    figures.month_finished += std::holds_alternative<sched::FinishDecision>(decision.body) ? 1 : 0;
  figures.month_s = watch.Seconds();
  return {};
}

// A gang of 64 whole nodes comes and goes on clusters of growing size that are three quarters full.
Status BenchScale(BenchDice& dice, const Clock& clock, SchedBenchFigures& figures) {
  for (const int nodes : {500, 5000, 50000}) {
    std::string script = BenchNodes(nodes);
    int left = nodes * 3 / 4;
    for (int i = 0; left > 0; ++i) {
      const int ranks = std::min(left, 1 << dice.Below(6));
      script += BenchGang(1, fmt::format("r{}", i), ranks, 8), left -= ranks;
    }
    sched::Engine engine;
    std::vector<sched::Decision> decisions;
    TRY_VOID(Play(script, engine, decisions));
    std::vector<double> spans;
    for (int i = 0; i < 200; ++i) {
      TRY(const auto gang, sched::ReadScript(BenchGang(10 + 2 * i, "x", 64, 8)));
      TRY(const double span, Timed(engine, gang[0], clock, decisions));
      spans.push_back(span);
      TRY_VOID(engine.Take({11 + 2 * i, sched::JobEnd{"x", sched::JobVerb::kFinish}}, decisions));
      engine.Settle(decisions);
    }
    figures.scale.push_back({nodes, Quantile(spans, 0.5), Quantile(spans, 0.99)});
  }
  return {};
}

// "2 x Some CPU"; empty where /proc is not there.
std::string MachineOf(Files& files) {
  const auto text = files.Read("/proc/cpuinfo");
  if (!text.ok()) return "";
  int cores = 0;
  std::string model = "unknown CPU";
  for (const std::string_view line : Lines(*text)) {
    if (line.starts_with("processor")) ++cores;
    const size_t at = line.find(": ");
    if (line.starts_with("model name") && at != std::string_view::npos) model = line.substr(at + 2);
  }
  return fmt::format("{} x {}", cores, model);
}

double ResidentMib(Files& files) {
  const auto status = files.Read("/proc/self/status");
  if (!status.ok()) return -1;
  for (const std::string_view line : Lines(*status)) {
    const auto value = After(line, "VmRSS:");
    if (!value) continue;
    const auto words = SplitBlank(*value);
    const auto kib = words.empty() ? Result<int64_t>(0) : ParseInt(words[0]);
    return kib.ok() ? static_cast<double>(*kib) / 1024 : -1;
  }
  return -1;
}

}  // namespace

Result<SchedBenchFigures> BenchSchedule(const SchedBenchRequest& request, const Clock& clock,
                                        Files& files) {
  BenchDice dice(static_cast<uint64_t>(request.seed));
  SchedBenchFigures figures;
  std::vector<std::string> gangs;
  const std::string script = BenchNodes(request.nodes) + BenchPods(request.pods, dice, gangs);
  sched::Engine engine;
  std::vector<sched::Decision> decisions;
  const Stopwatch reading(clock);
  std::vector<sched::Event> events;
  TRY(events, sched::ReadScript(script));
  figures.read_s = reading.Seconds();
  const Stopwatch deciding(clock);
  for (const auto& event : events) TRY_VOID(engine.Take(event, decisions));
  engine.Settle(decisions);
  const double decide_s = deciding.Seconds();
  figures.load_s = figures.read_s + decide_s;
  figures.pods_bound = CountBinds(decisions);
  figures.placements_per_s = static_cast<double>(figures.pods_bound) / std::max(decide_s, 1e-9);
  events.clear(), events.shrink_to_fit();
  decisions.clear(), decisions.shrink_to_fit();

  // Gangs that do not fit: whole nodes that pods without GPU and shares have broken into.
  int64_t t = 10;
  for (int i = 0; i < request.gangs; ++i) {
    TRY(const auto gang,
        sched::ReadScript(BenchGang(t, fmt::format("w{}", i),
                                    request.nodes - dice.Below(std::max(1, request.nodes / 8)), 8,
                                    fmt::format(",\"priority\":{}", dice.Below(4)))));
    TRY_VOID(engine.Take(gang[0], decisions));
    decisions.clear();
  }
  engine.Settle(decisions);
  figures.jobs_running = engine.running_jobs(), figures.jobs_pending = engine.pending_jobs();

  TRY_VOID(BenchDecisions(engine, t, request.decisions, request.gangs, dice, clock, figures));
  std::vector<double> spans;
  for (size_t i = 0; i < gangs.size() && i < 100; ++i) {
    TRY(const double span,
        Timed(engine, {++t, sched::JobEnd{gangs[i], sched::JobVerb::kFinish}}, clock, decisions));
    spans.push_back(span);
  }
  figures.finish_ms_p50 = Quantile(spans, 0.5), figures.finish_ms_p99 = Quantile(spans, 0.99);

  constexpr int kTicks = 100000;
  decisions.clear();
  const Stopwatch ticking(clock);
  for (int i = 0; i < kTicks; ++i) engine.Settle(decisions);
  figures.idle_ns = ticking.Seconds() / kTicks * 1e9;
  figures.rss_mib = ResidentMib(files);
  TRY_VOID(BenchVictims(dice, clock, figures));
  TRY_VOID(BenchStorm(request.nodes, clock, figures));
  TRY_VOID(BenchAMonth(request, clock, figures));
  TRY_VOID(BenchScale(dice, clock, figures));
  TRY(figures.features, CompareFeatures(512, 2000, 100, request.seed));
  figures.machine = MachineOf(files);
  return figures;
}

}  // namespace muster
