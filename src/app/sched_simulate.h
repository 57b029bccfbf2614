// muster sched simulate: a cluster script in, the core's decisions out, with the digest that says
// whether two runs were the same.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

struct SchedSimulation {
  std::string decisions;  // one line each, the summary last
  std::string sha256;     // of all lines before the summary
  int64_t events = 0, lines = 0, binds = 0, evictions = 0, rejects = 0, reserves = 0, finishes = 0;
  int64_t bound = 0, pending = 0;  // jobs at the end
  int64_t end_ms = 0;              // virtual time
};

// Errors are kInvalid and name line and column. Nothing of a script with a mistake is shown as a
// result: it is read and decided whole, or not at all.
Result<SchedSimulation> SimulateSchedule(std::string_view script);

}  // namespace muster
