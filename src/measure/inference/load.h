// The load generator of gate 8: open-loop Poisson arrivals at the contract's rate, each request
// with a prompt of its own, sent on connections that are already open. Requests go out when they
// would come, not when the last answer is back; how far it falls behind that is shown. Definitions:
// "Ours" of the reference for telemetry, 4.4.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "world/world.h"

namespace muster::inference {

struct LoadPlan {
  std::string url;  // base URL: "http://127.0.0.1:8000"
  std::string model;
  std::map<std::string, std::string> headers = {};  // e.g. Authorization
  int requests = 60;
  double requests_per_s = 5;
  uint64_t seed = 1;  // of arrivals and prompts
  int prompt_words = 24;
  int max_tokens = 16;
  int workers = 64;  // answers in flight at most; each holds a thread and a connection
  Duration timeout = std::chrono::seconds(30);  // of one request
};

// One request, with times from the start of the load. What did not happen is empty.
struct RequestOutcome {
  int index = 0;
  Duration planned{}, sent{};  // when it should have gone out, and when its first byte did
  std::optional<Duration> first_byte, role, first_content, last_content;
  Duration ended{};
  int messages = 0;
  std::optional<int> tokens;  // from `usage`
  std::string error;          // empty: a whole answer
  bool timed_out = false;

  bool ok() const { return error.empty(); }
  // From the first request byte to the first text.
  std::optional<double> ttft_s() const;
  // (last text - first text) / (tokens - 1); nothing for one token, without `usage`, or when all
  // tokens came in one message (the time between them was not seen).
  std::optional<double> tpot_s() const;
};

struct LoadResult {
  std::vector<RequestOutcome> requests;  // by index
  Duration took{};
  // Processor time of this process over the wall time, of one core; nothing when it cannot be read.
  std::optional<double> client_cpu;
};

// Moments at which requests go out, from the start: exponential gaps of mean 1/rate. The same seed
// gives the same moments.
std::vector<Duration> PoissonArrivals(int requests, double requests_per_s, uint64_t seed);
// A prompt that no other index of this seed has, so that a prefix cache has nothing to give.
std::string UniquePrompt(int index, int words, uint64_t seed);

// Runs the load. With one worker it runs on the calling thread. `on_done` (may be empty) hears how
// many requests ended; it is called under a lock. kInvalid for a plan that cannot be meant; a
// server that fails every request is no error.
Result<LoadResult> RunLoad(World& world, const LoadPlan& plan,
                           const std::function<void(int done)>& on_done = {});

}  // namespace muster::inference
