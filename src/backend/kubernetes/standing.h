// Where a submitted job stands, read from the cluster's own objects: how many of its pods are
// bound, run, have ended, and the one thing that holds it while it waits. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::submit {

enum class Phase { kWaiting, kStarting, kRunning, kSucceeded, kFailed };
std::string_view ToString(Phase phase);

struct Standing {
  Phase phase = Phase::kWaiting;
  int pods = 0, wanted = 0;  // made by the controller; asked for
  int bound = 0, running = 0, succeeded = 0, failed = 0;
  std::string reason;  // why it waits, or why it failed; a server's words, untrusted
  bool ended() const { return phase == Phase::kSucceeded || phase == Phase::kFailed; }
  std::string Line() const;  // "waiting: 0/2 pods bound; <reason>"
};

// What was read of a job: texts as the API server gave them.
struct JobTexts {
  std::string job;                   // the workload object
  std::vector<std::string> pods;     // its pods
  std::vector<std::string> holders;  // Kueue Workloads and Volcano PodGroups that name it as owner
};

// kParse for a job that is no object.
Result<Standing> StandingOf(const JobTexts& texts);

}  // namespace muster::submit
