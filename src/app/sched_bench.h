// muster sched bench: how fast the scheduler core decides on a large synthetic cluster, on this
// machine, now. Figures, no limits.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "world/clock.h"
#include "world/files.h"

namespace muster {

struct SchedBenchRequest {
  int nodes = 5000;     // of 8 GPUs, 32 a leaf, 8 leaves a spine
  int pods = 140000;    // bound before measuring: gangs, GPU shares, pods without GPU
  int gangs = 1000;     // that wait while it is measured
  int decisions = 400;  // new gangs that are timed, one event each
  int64_t seed = 1;
};
struct SchedBenchFigures {
  int64_t pods_bound = 0, jobs_running = 0, jobs_pending = 0;
  double load_s = 0;            // reading the script and deciding all of it
  double read_s = 0;            // of that, reading
  double placements_per_s = 0;  // ranks bound a second of deciding
  double decision_ms_p50 = 0, decision_ms_p99 = 0, decision_ms_max = 0;
  double finish_ms_p50 = 0, finish_ms_p99 = 0;    // a job ends: everybody it could help is tried
  double victims_ms_p50 = 0, victims_ms_p99 = 0;  // an eviction among 700 candidates on 2,000 nodes
  double idle_ns = 0;                             // a tick in which nothing happened
  double rss_mib = 0;  // of the process at the end; -1 where /proc is not there
};
Result<SchedBenchFigures> BenchSchedule(const SchedBenchRequest& request, const Clock& clock,
                                        Files& files);

}  // namespace muster
