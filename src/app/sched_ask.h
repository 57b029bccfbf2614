// Questions to the scheduler core about a cluster script: why a job waits at a time, and what a
// change made then would alter.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sched/engine.h"

namespace muster {

struct SchedWhy {
  std::string state;  // pending, running, finished, rejected, unknown
  struct Cause {
    std::string code;
    std::string detail;  // "queue=ml-prod resource=nvidia.com/gpu short=8"
  };
  std::vector<Cause> because;
  std::vector<std::string> would_start_if;  // events, as lines of a script without "t"
  std::string line;                         // the answer as the core gives it
  int64_t at_ms = 0;
  std::string ignored;  // on a cluster: what its objects ask for and is not acted on
};
// The state after all decisions at `at_ms`; absent = at the last event before the end. kNotFound:
// no such job by then.
Result<SchedWhy> AskWhyPending(std::string_view script, const std::string& job,
                               std::optional<int64_t> at_ms);

// The same of an engine that is at hand.
Result<SchedWhy> AskWhyOf(sched::Engine& engine, const std::string& job);

struct SchedWhatIf {
  struct Answer {
    std::string job;
    std::optional<int64_t> start_ms, was_ms;  // absent = does not start with what is known
  };
  std::vector<Answer> answers;
  int64_t at_ms = 0;
};
// `changes` are events without "t" ({"op":"node.cordon","name":"n1"}), made together. `about` empty
// = every job that waits then.
Result<SchedWhatIf> AskWhatIfChanged(std::string_view script,
                                     const std::vector<std::string>& changes,
                                     std::vector<std::string> about, std::optional<int64_t> at_ms);

}  // namespace muster
