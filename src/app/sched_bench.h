// muster sched bench: how fast the scheduler core decides on a large synthetic cluster, on this
// machine, now. Figures, no limits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/sched_features.h"
#include "base/result.h"
#include "world/clock.h"
#include "world/files.h"

namespace muster {

struct SchedBenchRequest {
  int nodes = 5000;     // of 8 GPUs, 32 a leaf, 8 leaves a spine
  int pods = 140000;    // bound before measuring: gangs, GPU shares, pods without GPU
  int gangs = 1000;     // that wait while it is measured
  int decisions = 400;  // new gangs that are timed, one event each
  int month_jobs = 10000;
  int64_t seed = 1;
};
struct SchedBenchFigures {
  int64_t pods_bound = 0, jobs_running = 0, jobs_pending = 0;
  double load_s = 0;            // reading the script and deciding all of it
  double read_s = 0;            // of that, reading
  double placements_per_s = 0;  // ranks bound a second of deciding
  double decision_ms_p50 = 0, decision_ms_p99 = 0, decision_ms_max = 0;
  int64_t decisions_started = 0;                  // of the new gangs; the others wait
  double why_ms_p99 = 0, why_ms_max = 0;          // an answer to ask.why about one that waits
  double finish_ms_p50 = 0, finish_ms_p99 = 0;    // a job ends: everybody it could help is tried
  double victims_ms_p50 = 0, victims_ms_p99 = 0;  // an eviction among 700 candidates on 2,000 nodes
  double idle_ns = 0;                             // a tick in which nothing happened
  double storm_ms_max = 0;                        // 20 gangs of 500 pods: the longest decision
  double month_s = 0;                             // month_jobs jobs over 30 days of virtual time
  int64_t month_finished = 0;
  struct Scale {
    int nodes;
    double decision_ms_p50, decision_ms_p99;
  };
  std::vector<Scale> scale;          // a gang of 64 nodes, by size of the cluster
  std::vector<FeatureRow> features;  // on 512 nodes, 2,000 jobs, synthetic
  std::string machine;               // "2 x Some CPU"
  double rss_mib = 0;  // of the process with the loaded cluster; -1 where /proc is not there
};
Result<SchedBenchFigures> BenchSchedule(const SchedBenchRequest& request, const Clock& clock,
                                        Files& files);

}  // namespace muster
