#include "app/sched_features.h"

#include <algorithm>
#include <map>
#include <set>

#include "app/sched_bench_load.h"
#include "sched/engine.h"
#include "sched/script_reader.h"

namespace muster {

namespace {

constexpr int kLeafNodes = 32, kGpusPerNode = 8, kLarge = 512;
constexpr double kHourMs = 3600.0 * 1000;

struct JobRecord {
  int64_t submitted = 0, started = -1;
  int64_t since = -1, ran_ms = 0;  // of this run; of all runs, until the last job came
  int ranks = 0, gpus = 0;
  std::set<int> leaves;
};

// The gangs as they were submitted, where and when they were bound first, and how long they ran.
std::map<std::string, JobRecord> RecordOf(const std::vector<sched::Event>& events,
                                          const std::vector<sched::Decision>& decisions) {
  std::map<std::string, JobRecord> jobs;
  for (const auto& event : events) {
    const auto* submit = std::get_if<sched::JobSubmit>(&event.body);
    if (submit == nullptr) continue;
    JobRecord& job = jobs[submit->job.name];
    job.submitted = event.t;
    job.ranks = submit->job.tasks[0].count;
    job.gpus = job.ranks * static_cast<int>(submit->job.tasks[0].shape.at("nvidia.com/gpu"));
  }
  const int64_t last = events.empty() ? 0 : events.back().t;
  const auto stop = [&](const std::string& name, int64_t t) {
    JobRecord& job = jobs[name];
    if (job.since >= 0) job.ran_ms += std::max<int64_t>(0, std::min(t, last) - job.since);
    job.since = -1;
  };
  for (const auto& decision : decisions) {
    if (const auto* bind = std::get_if<sched::BindDecision>(&decision.body)) {
      JobRecord& job = jobs[bind->job];
      if (job.started < 0) job.started = decision.t;
      if (job.since < 0) job.since = decision.t;
      if (job.started == decision.t)
        job.leaves.insert(std::stoi(bind->node.substr(1)) / kLeafNodes);
    } else if (const auto* evict = std::get_if<sched::EvictDecision>(&decision.body)) {
      stop(evict->job, decision.t);
    } else if (const auto* finish = std::get_if<sched::FinishDecision>(&decision.body)) {
      stop(finish->job, decision.t);
    }
  }
  return jobs;
}

double Percentile99(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(0.99 * static_cast<double>(values.size() - 1) + 0.5)];
}

Result<FeatureRow> MeasureFeatures(const std::string& name, const std::string& script, int nodes) {
  TRY(const auto events, sched::ReadScript(script));
  sched::Engine engine;
  std::vector<sched::Decision> decisions;
  for (const auto& event : events) TRY_VOID(engine.Take(event, decisions));
  engine.Run(-1, decisions);
  FeatureRow row;
  row.name = name;
  std::vector<double> large;
  double waited = 0, leaves = 0, fewest = 0, used = 0;
  int started = 0, wide = 0;
  const int64_t last = events.empty() ? 0 : events.back().t;
  for (const auto& [job_name, job] : RecordOf(events, decisions)) {
    if (job.started < 0) {
      ++row.never_started;
      continue;
    }
    const double wait = static_cast<double>(job.started - job.submitted) / kHourMs;
    ++started, waited += wait;
    if (job.gpus >= kLarge) large.push_back(wait);
    if (job.ranks > 1) {
      ++wide, leaves += static_cast<double>(job.leaves.size());
      const int least = (job.ranks + kLeafNodes - 1) / kLeafNodes;
      fewest += least;
    }
    used += static_cast<double>(job.ran_ms) * job.gpus;
  }
  row.leaves_mean = wide > 0 ? leaves / wide : 0;
  row.spread = fewest > 0 ? leaves / fewest : 0;
  row.wait_large_p99_h = Percentile99(large);
  row.wait_mean_h = started > 0 ? waited / started : 0;
  row.utilisation_pct =
      last > 0 ? 100 * used / (static_cast<double>(last) * nodes * kGpusPerNode) : 0;
  return row;
}

}  // namespace

Result<std::vector<FeatureRow>> CompareFeatures(int nodes, int jobs, int load_percent,
                                                int64_t seed) {
  BenchDice dice(static_cast<uint64_t>(seed) + 100);
  const std::string month = BenchMonth(jobs, nodes * kGpusPerNode, load_percent, dice);
  const std::string tree = BenchNodes(nodes), flat = BenchNodes(nodes, false);
  const std::string queue = "{\"t\":0,\"op\":\"queue.add\",\"name\":\"default\",";
  std::vector<FeatureRow> rows;
  const auto add = [&](const std::string& name, const std::string& script) -> Status {
    TRY(auto row, MeasureFeatures(name, script, nodes));
    rows.push_back(std::move(row));
    return {};
  };
  TRY_VOID(add("all", tree + month));
  TRY_VOID(add("without topology", flat + month));
  TRY_VOID(add("without backfill (strict order)", tree + queue + "\"order\":\"fifo\"}\n" + month));
  TRY_VOID(add("with eviction of lower priorities",
               tree + queue + "\"preempt\":{\"within\":\"lower-priority\"}}\n" + month));
  return rows;
}

}  // namespace muster
