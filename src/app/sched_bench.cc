#include "app/sched_bench.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "sched/engine.h"
#include "sched/script_reader.h"

namespace muster {

namespace {

// SplitMix64 (Steele, Lea, Flood 2014): the same cluster from a seed on every machine.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  int Below(int bound) {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return static_cast<int>((z ^ (z >> 31)) % static_cast<uint64_t>(bound));
  }

 private:
  uint64_t state_;
};

constexpr int kNodesPerLeaf = 32, kLeavesPerSpine = 8;

std::string NodesScript(int nodes) {
  std::string text = "{\"t\":0,\"op\":\"topology\",\"levels\":[\"spine\",\"leaf\",\"node\"]}\n";
  for (int i = 0; i < nodes; ++i) {
    const int leaf = i / kNodesPerLeaf;
    text += fmt::format(
        "{{\"t\":0,\"op\":\"node.add\",\"name\":\"n{}\",\"at\":[\"s{}\",\"l{}\"],\"capacity\":{{"
        "\"cpu\":\"192\",\"memory\":\"2Ti\",\"nvidia.com/gpu\":\"8\",\"rdma/ib\":\"8\"}}}}\n",
        i, leaf / kLeavesPerSpine, leaf);
  }
  return text;
}

std::string GangLine(int64_t t, const std::string& name, int ranks, int gpus,
                     const std::string& more) {
  return fmt::format(
      "{{\"t\":{},\"op\":\"job.submit\",\"name\":\"{}\",\"tasks\":[{{\"name\":\"w\",\"count\":{},"
      "\"shape\":{{\"cpu\":\"{}\",\"nvidia.com/gpu\":\"{}\",\"rdma/ib\":\"{}\"}}}}]{}}}\n",
      t, name, ranks, gpus * 4, gpus, gpus, more);
}

// Three fifths of the pods without GPU, a quarter shares of a GPU, the rest ranks of gangs.
std::string PodsScript(int pods, Dice& dice, std::vector<std::string>& gangs) {
  static constexpr const char* kCpus[] = {"500m", "1", "2", "4"};
  static constexpr const char* kMemory[] = {"1Gi", "2Gi", "4Gi", "8Gi"};
  static constexpr int kMilli[] = {100, 200, 250, 500};
  std::string text;
  int made = 0;
  const auto single = [&](const std::string& shape) {
    text += fmt::format(
        "{{\"t\":1,\"op\":\"job.submit\",\"name\":\"p{}\",\"tasks\":[{{\"name\":\"w\",\"count\":1,"
        "\"shape\":{{{}}}}}]}}\n",
        made++, shape);
  };
  while (made < pods * 15 / 100) {
    const int ranks = 8 << dice.Below(6);
    gangs.push_back(fmt::format("g{}", made));
    text += GangLine(1, gangs.back(), ranks, dice.Below(4) == 0 ? 4 : 1, "");
    made += ranks;
  }
  while (made < pods * 40 / 100)
    single(fmt::format("\"cpu\":\"1\",\"gpu_milli\":\"{}\"", kMilli[dice.Below(4)]));
  while (made < pods)
    single(fmt::format("\"cpu\":\"{}\",\"memory\":\"{}\"", kCpus[dice.Below(4)],
                       kMemory[dice.Below(4)]));
  return text;
}

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

// 700 jobs of lower priority on 2,000 nodes that are otherwise held for good; each timed job needs
// the room of some of them.
Status BenchVictims(Dice& dice, const Clock& clock, SchedBenchFigures& figures) {
  std::string script = NodesScript(2000) +
                       "{\"t\":0,\"op\":\"queue.add\",\"name\":\"default\",\"preempt\":{\"within\":"
                       "\"lower-priority\"}}\n";
  int used = 0;
  for (int i = 0; i < 700; ++i) {
    const int ranks = 1 + dice.Below(3);
    script += GangLine(1 + i, fmt::format("v{}", i), ranks, 8, ",\"checkpoint_every\":600000");
    used += ranks;
  }
  script += GangLine(1000, "held", 2000 - used, 8, ",\"preemptible\":false");
  TRY(const auto events, sched::ReadScript(script));
  sched::Engine engine;
  std::vector<sched::Decision> decisions;
  for (const auto& event : events) TRY_VOID(engine.Take(event, decisions));
  engine.Settle(decisions);
  std::vector<double> spans;
  for (int i = 0; i < 100; ++i) {
    sched::Engine fork = engine;
    const int ranks = 1 << dice.Below(5);
    TRY(const auto asked,
        sched::ReadScript(GangLine(2000000 + i * 1000, "b", ranks, 8,
                                   i % 2 == 0 ? ",\"priority\":10"
                                              : ",\"priority\":10,\"topology\":{\"required\":"
                                                "\"spine\"}")));
    TRY(const double span, Timed(fork, asked[0], clock, decisions));
    spans.push_back(span);
  }
  figures.victims_ms_p50 = Quantile(spans, 0.5), figures.victims_ms_p99 = Quantile(spans, 0.99);
  return {};
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
  Dice dice(static_cast<uint64_t>(request.seed));
  SchedBenchFigures figures;
  std::vector<std::string> gangs;
  const std::string script = NodesScript(request.nodes) + PodsScript(request.pods, dice, gangs);
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
        sched::ReadScript(GangLine(t, fmt::format("w{}", i),
                                   request.nodes - dice.Below(std::max(1, request.nodes / 8)), 8,
                                   fmt::format(",\"priority\":{}", dice.Below(4)))));
    TRY_VOID(engine.Take(gang[0], decisions));
    decisions.clear();
  }
  engine.Settle(decisions);
  figures.jobs_running = engine.running_jobs(), figures.jobs_pending = engine.pending_jobs();

  std::vector<double> spans;
  for (int i = 0; i < request.decisions; ++i) {
    const bool required = dice.Below(2) == 0;
    const int ranks = 1 << dice.Below(required ? 6 : 8);
    TRY(const auto gang,
        sched::ReadScript(GangLine(++t, fmt::format("d{}", i), ranks, 1 << dice.Below(4),
                                   required ? ",\"topology\":{\"required\":\"spine\"}" : "")));
    TRY(const double span, Timed(engine, gang[0], clock, decisions));
    spans.push_back(span);
  }
  figures.decision_ms_p50 = Quantile(spans, 0.5), figures.decision_ms_p99 = Quantile(spans, 0.99);
  figures.decision_ms_max = Quantile(spans, 1);

  spans.clear();
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
  return figures;
}

}  // namespace muster
