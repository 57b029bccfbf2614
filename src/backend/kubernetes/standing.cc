#include "backend/kubernetes/standing.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/json.h"

namespace muster::submit {

namespace {

using kube::At;
using kube::CountAt;
using kube::TextAt;

// The message of the condition of that type and status; the reason where it has no message.
std::string ConditionText(const kube::Json& object, std::string_view type,
                          std::string_view status) {
  for (const kube::Json& c : kube::ListAt(object, "status", "conditions")) {
    if (TextAt(c, "type") != type || TextAt(c, "status") != status) continue;
    std::string text = TextAt(c, "message");
    return text.empty() ? TextAt(c, "reason") : text;
  }
  return "";
}
bool HasCondition(const kube::Json& object, std::string_view type) {
  const kube::Json& conditions = kube::ListAt(object, "status", "conditions");
  return std::any_of(conditions.begin(), conditions.end(), [&](const kube::Json& c) {
    return TextAt(c, "type") == type && TextAt(c, "status") == "True";
  });
}

int WantedOf(const kube::Json& job) {
  const kube::Json& spec = At(job, "spec");
  int wanted = 0;
  for (const kube::Json& task : kube::ListAt(spec, "tasks")) wanted += CountAt(task, "replicas", 1);
  for (const kube::Json& one : kube::ListAt(spec, "replicatedJobs")) {
    const kube::Json& inner = At(one, "template", "spec");
    wanted += CountAt(one, "replicas", 1) * CountAt(inner, "parallelism", 1);
  }
  return wanted > 0 ? wanted : CountAt(spec, "parallelism", 1);
}

// Ended, by the words of Job and JobSet (conditions) and of Volcano (a state).
void ReadEnd(const kube::Json& job, Standing& standing) {
  const std::string state = TextAt(job, "status", "state", "phase");
  if (HasCondition(job, "Complete") || HasCondition(job, "Completed") || state == "Completed") {
    standing.phase = Phase::kSucceeded;
  } else if (HasCondition(job, "Failed") || state == "Failed" || state == "Aborted" ||
             state == "Terminated") {
    standing.phase = Phase::kFailed;
    standing.reason = ConditionText(job, "Failed", "True");
    if (standing.reason.empty()) standing.reason = TextAt(job, "status", "state", "message");
  }
}

// What keeps a bound pod from running: an image, a volume, a kubelet's refusal.
std::string ContainerTrouble(const kube::Json& pod) {
  const kube::Json& status = At(pod, "status");
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const kube::Json& c : kube::ListAt(status, list)) {
      const kube::Json& waiting = At(c, "state", "waiting");
      const std::string reason = TextAt(waiting, "reason");
      if (reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing") continue;
      return fmt::format("{}: {} {}", TextAt(pod, "metadata", "name"), reason,
                         TextAt(waiting, "message"));
    }
  }
  return "";
}

struct Seen {
  std::string kubelet, container, unschedulable, scheduler;
};

void CountPod(const kube::Json& pod, Standing& standing, Seen& seen) {
  const kube::Json& status = At(pod, "status");
  const std::string phase = TextAt(status, "phase");
  ++standing.pods;
  const bool bound = !TextAt(pod, "spec", "nodeName").empty();
  standing.bound += bound ? 1 : 0;
  standing.running += phase == "Running" ? 1 : 0;
  standing.succeeded += phase == "Succeeded" ? 1 : 0;
  if (phase == "Failed") {
    ++standing.failed;
    const std::string reason = TextAt(status, "reason");
    if (!reason.empty() && seen.kubelet.empty())
      seen.kubelet = fmt::format("{}: {} {}", TextAt(pod, "metadata", "name"), reason,
                                 TextAt(status, "message"));
  }
  if (seen.container.empty()) seen.container = ContainerTrouble(pod);
  if (bound || phase == "Failed" || phase == "Succeeded") return;
  if (seen.unschedulable.empty()) seen.unschedulable = ConditionText(pod, "PodScheduled", "False");
  if (seen.scheduler.empty()) seen.scheduler = TextAt(pod, "spec", "schedulerName");
}

// Kueue says it on the Workload, Volcano on the PodGroup; both are what the job's owner waits for.
std::string HolderReason(const std::vector<std::string>& holders) {
  for (const std::string& text : holders) {
    const kube::Json holder = kube::Json::parse(text, nullptr, false);
    for (const char* type : {"Admitted", "QuotaReserved"}) {
      if (std::string reason = ConditionText(holder, type, "False"); !reason.empty()) return reason;
    }
    if (std::string reason = ConditionText(holder, "Unschedulable", "True"); !reason.empty())
      return reason;
  }
  return "";
}

}  // namespace

std::string_view ToString(Phase phase) {
  switch (phase) {
    case Phase::kWaiting:
      return "waiting";
    case Phase::kStarting:
      return "starting";
    case Phase::kRunning:
      return "running";
    case Phase::kSucceeded:
      return "succeeded";
    case Phase::kFailed:
      break;
  }
  return "failed";
}

std::string Standing::Line() const {
  std::string line = fmt::format("{}: {}/{} pods bound, {} running", submit::ToString(phase), bound,
                                 wanted, running);
  if (succeeded + failed > 0) line += fmt::format(", {} succeeded, {} failed", succeeded, failed);
  return reason.empty() ? line : line + "; " + reason;
}

Result<Standing> StandingOf(const JobTexts& texts) {
  const kube::Json job = kube::Json::parse(texts.job, nullptr, false);
  if (!job.is_object()) return Fail(Code::kParse, "the job is no object");
  Standing standing;
  standing.wanted = WantedOf(job);
  Seen seen;
  for (const std::string& text : texts.pods)
    CountPod(kube::Json::parse(text, nullptr, false), standing, seen);
  ReadEnd(job, standing);
  if (standing.ended()) {
    if (standing.phase == Phase::kFailed && !seen.kubelet.empty())
      standing.reason += (standing.reason.empty() ? "" : "; ") + seen.kubelet;
    return standing;
  }
  const int there = standing.running + standing.succeeded;
  if (there >= standing.wanted) {
    standing.phase = Phase::kRunning;
    return standing;
  }
  standing.phase = standing.bound >= standing.wanted ? Phase::kStarting : Phase::kWaiting;
  const bool suspended = At(job, "spec", "suspend") == true;
  const std::string holder = HolderReason(texts.holders);
  for (const std::string& reason : {seen.kubelet, seen.container, holder, seen.unschedulable}) {
    if (!standing.reason.empty() || reason.empty()) continue;
    standing.reason = reason;
  }
  if (!standing.reason.empty()) return standing;
  if (suspended) {
    standing.reason = "suspended: its queue has not admitted it, and says no reason";
  } else if (standing.pods < standing.wanted) {
    standing.reason = fmt::format(
        "{} of {} pods were made: the controller of the kind is not "
        "running, or not done",
        standing.pods, standing.wanted);
  } else if (!seen.scheduler.empty() && standing.bound == 0) {
    standing.reason = fmt::format("no word from the scheduler {}", seen.scheduler);
  }
  return standing;
}

}  // namespace muster::submit
