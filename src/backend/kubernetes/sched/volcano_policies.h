// What becomes of a Volcano Job when its pods end, fail or are taken away: its policies, retries
// and minima, as Volcano's controller judges them. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/kubernetes/sched/volcano_job.h"
#include "backend/kubernetes/sched/volcano_task.h"
#include "base/time.h"

namespace muster::kubesched::volcano {

struct Judged {
  std::string phase;             // of status.state
  std::set<std::string> remove;  // names of pods
  int retries = 0;
  bool killed = false;               // the whole Job was told to go, to begin anew or to end
  std::optional<TimePoint> look_at;  // a policy's timeout ends then
};

// `before`: the phase that was written last; `retries`: status.retryCount.
Judged Judge(const Json& spec, const std::vector<Task>& tasks, const std::vector<VolcanoPod>& pods,
             const std::string& before, int retries, TimePoint now);

// It makes no pods any more.
bool HasEnded(const std::string& phase);

// What of the policies is not acted on.
void NotePolicies(const Json& spec, const std::vector<Task>& tasks,
                  std::vector<std::string>& notes);

}  // namespace muster::kubesched::volcano
