// Gate 8's figures from a load: p99 of TTFT and TPOT, goodput, errors. Pure.
#pragma once

#include "evidence/observation.h"
#include "measure/inference/load.h"
#include "probes/probe.h"

namespace muster::inference {

struct Limits {
  Duration ttft = std::chrono::seconds(2), tpot = std::chrono::milliseconds(200);
};

// A load generator that is busier than this measures itself (reference 4.4).
inline constexpr double kBusyClient = 0.70;
// Fewer counted requests than this give no percentile (1,000 or more give a p99 that deserves the
// name; fewer give the largest or one near it, and the excerpt says so).
inline constexpr size_t kMinRequests = 20;

struct LoadSummary {
  size_t counted = 0;  // after the first tenth was dropped
  size_t failed = 0, timed_out = 0, good = 0;
  double ttft_p50_s = 0, ttft_p99_s = 0;  // 0 when ttft_samples is 0
  double tpot_p50_s = 0, tpot_p99_s = 0;  // 0 when tpot_samples is 0
  double ttfb_p50_s = 0, role_p50_s = 0, e2e_p99_s = 0, message_gap_p50_s = 0;
  size_t ttft_samples = 0, tpot_samples = 0;
  size_t without_usage = 0;         // whole answers without token counts
  size_t tokens = 0, messages = 0;  // of whole answers: where they differ, messages are not tokens
  double lag_p99_s = 0;             // sent after its planned moment: how far from open-loop it was
  std::string first_error;
};
// Drops the first tenth (rounded up) by index. A request that failed or timed out is a miss in
// goodput; one that timed out before its first text counts in the TTFT percentile with the time
// that it had lasted, which is less than the truth.
LoadSummary Summarise(const LoadResult& result, const Limits& limits);

// Observes serve.ttft_p99, serve.tpot_p99, serve.goodput, serve.errors, serve.requests and
// serve.client_cpu of the endpoint. Times and goodput are Unobserved when the client was too busy,
// too few requests count, or (TPOT, goodput) an answer came without usage. `reading` says where it
// comes from (probe "measure.inference", "load of N requests at R/s on URL", when).
Observations ObserveLoad(const LoadResult& result, const Limits& limits, const Subject& endpoint,
                         const Reading& reading);

// One line a request, for the evidence: "index planned sent ttfb ttft e2e tokens messages error",
// times in seconds.
std::string LoadTable(const LoadResult& result);

}  // namespace muster::inference
