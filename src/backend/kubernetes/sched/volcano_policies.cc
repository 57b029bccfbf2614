#include "backend/kubernetes/sched/volcano_policies.h"

#include <map>

#include <fmt/format.h>

#include "manifest/quantity.h"

namespace muster::kubesched::volcano {

namespace {

constexpr int kVolcanosMaxRetry = 3;
constexpr const char* kEvents[] = {"TaskCompleted", "PodFailed", "PodEvicted", "*"};
constexpr const char* kActions[] = {"RestartJob",  "RestartTask", "RestartPod",
                                    "CompleteJob", "AbortJob",    "TerminateJob"};

template <typename Names>
bool Among(const Names& names, const std::string& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// What happened, to whom, and when.
struct Happened {
  std::string event, task, pod;
  std::optional<int> exit_code;
  TimePoint at{};
};

bool Meets(const Json& policy, const Happened& what) {
  const auto code = policy.find("exitCode");
  if (code != policy.end() && code->is_number_integer())
    return what.exit_code && *what.exit_code == code->get<int>();
  const auto named = [&](const std::string& event) { return event == what.event || event == "*"; };
  if (named(TextAt(policy, "event"))) return true;
  const Json& events = ListAt(policy, "events");
  return std::any_of(events.begin(), events.end(), [&](const Json& event) {
    return event.is_string() && named(event.get<std::string>());
  });
}

// A task's own policies stand before the Job's; the first that meets it decides.
const Json* PolicyFor(const Json& spec, const std::vector<Task>& tasks, const Happened& what) {
  const Json* own = nullptr;
  for (const Task& task : tasks) {
    if (task.name == what.task) own = &ListAt(*task.spec, "policies");
  }
  for (const Json* policies : {own, &ListAt(spec, "policies")}) {
    if (policies == nullptr) continue;
    for (const Json& policy : *policies) {
      if (policy.is_object() && Among(kActions, TextAt(policy, "action")) && Meets(policy, what))
        return &policy;
    }
  }
  return nullptr;
}

struct Counts {
  int running = 0, succeeded = 0, failed = 0;
  std::map<std::string, int> succeeded_of;  // by task
};
Counts Count(const std::vector<VolcanoPod>& pods) {
  Counts counts;
  for (const VolcanoPod& pod : pods) {
    counts.running += pod.phase == "Running" ? 1 : 0;
    counts.failed += pod.phase == "Failed" ? 1 : 0;
    if (pod.phase == "Succeeded") ++counts.succeeded, ++counts.succeeded_of[pod.task];
  }
  return counts;
}

std::vector<Happened> WhatHappened(const std::vector<Task>& tasks,
                                   const std::vector<VolcanoPod>& pods, const Counts& counts,
                                   TimePoint now) {
  std::vector<Happened> all;
  for (const Task& task : tasks) {
    const auto done = counts.succeeded_of.find(task.name);
    if (task.replicas > 0 && done != counts.succeeded_of.end() && done->second >= task.replicas)
      all.push_back({"TaskCompleted", task.name, "", {}, now});
  }
  for (const VolcanoPod& pod : pods) {
    const bool over = pod.phase == "Succeeded" || pod.phase == "Failed";
    if (pod.phase == "Failed")
      all.push_back({"PodFailed", pod.task, pod.name, pod.exit_code, pod.ended.value_or(now)});
    // Its node gave it up or never took it; or it is being taken away.
    const bool refused = pod.phase == "Failed" && !pod.reason.empty();
    if (refused || (!over && pod.leaving))
      all.push_back({"PodEvicted", pod.task, pod.name, {}, now});
  }
  return all;
}

bool EnoughOfEachTask(const std::vector<Task>& tasks, const Counts& counts) {
  return std::all_of(tasks.begin(), tasks.end(), [&](const Task& task) {
    if (!task.spec->contains("minAvailable")) return true;
    const auto done = counts.succeeded_of.find(task.name);
    return (done == counts.succeeded_of.end() ? 0 : done->second) >=
           CountAt(*task.spec, "minAvailable", 0);
  });
}

// Where no policy has its say.
std::string PhaseOf(const Json& spec, const std::vector<Task>& tasks, const Counts& counts,
                    const std::string& before) {
  int all = 0;
  for (const Task& task : tasks) all += task.replicas;
  const int enough = CountAt(spec, "minSuccess", 0), least = CountAt(spec, "minAvailable", all);
  if (enough > 0 && counts.succeeded >= enough) return "Completed";
  if (counts.succeeded + counts.failed >= all)
    return enough == 0 && counts.succeeded >= least && EnoughOfEachTask(tasks, counts) ? "Completed"
                                                                                       : "Failed";
  if (counts.running + counts.succeeded + counts.failed >= least) return "Running";
  return before == "Running" ? before : "Pending";
}

void RemoveThoseThatRun(const std::vector<VolcanoPod>& pods, Judged& judged) {
  for (const VolcanoPod& pod : pods) {
    if (pod.phase != "Succeeded" && pod.phase != "Failed" && !pod.leaving)
      judged.remove.insert(pod.name);
  }
}

int MostRetries(const Json& spec) {
  const int asked = CountAt(spec, "maxRetry", 0);
  return asked > 0 ? asked : kVolcanosMaxRetry;
}

// All of the Job, of the task or the one pod go; the next look makes them anew. As in Volcano the
// restart that reaches maxRetry is the end: of 3 there are two more runs, and what failed stays to
// be read.
void Restart(const Json& spec, const std::string& action, const Happened& what,
             const std::vector<VolcanoPod>& pods, Judged& judged) {
  ++judged.retries;
  judged.killed = action == "RestartJob";
  if (judged.retries >= MostRetries(spec)) {
    judged.phase = "Failed";
    return RemoveThoseThatRun(pods, judged);
  }
  judged.phase = "Restarting";
  for (const VolcanoPod& pod : pods) {
    if (action == "RestartJob" || (action == "RestartTask" && pod.task == what.task) ||
        pod.name == what.pod)
      judged.remove.insert(pod.name);
  }
}

}  // namespace

bool HasEnded(const std::string& phase) {
  return phase == "Completed" || phase == "Failed" || phase == "Aborted" || phase == "Terminated";
}

Judged Judge(const Json& spec, const std::vector<Task>& tasks, const std::vector<VolcanoPod>& pods,
             const std::string& before, int retries, TimePoint now) {
  Judged judged;
  judged.retries = retries;
  const Counts counts = Count(pods);
  if (HasEnded(before)) {
    judged.phase = before;
    RemoveThoseThatRun(pods, judged);
    return judged;
  }
  for (const Happened& what : WhatHappened(tasks, pods, counts, now)) {
    const Json* policy = PolicyFor(spec, tasks, what);
    if (policy == nullptr) continue;
    if (const auto wait = GoDurationMs(TextAt(*policy, "timeout"))) {
      const TimePoint due = what.at + std::chrono::milliseconds(*wait);
      if (due > now) {
        judged.look_at = std::min(judged.look_at.value_or(due), due);
        continue;
      }
    }
    const std::string action = TextAt(*policy, "action");
    if (action.starts_with("Restart")) {
      Restart(spec, action, what, pods, judged);
    } else {
      judged.phase = action == "CompleteJob" ? "Completed"
                     : action == "AbortJob"  ? "Aborted"
                                             : "Terminated";
      judged.killed = true;
      RemoveThoseThatRun(pods, judged);
    }
    judged.look_at.reset();
    return judged;
  }
  judged.phase =
      judged.look_at ? (before.empty() ? "Running" : before) : PhaseOf(spec, tasks, counts, before);
  if (HasEnded(judged.phase)) RemoveThoseThatRun(pods, judged);
  return judged;
}

void NotePolicies(const Json& spec, const std::vector<Task>& tasks,
                  std::vector<std::string>& notes) {
  const auto look = [&](const Json& policies, const std::string& where) {
    for (const Json& policy : policies) {
      std::vector<std::string> events = {TextAt(policy, "event")};
      for (const Json& event : ListAt(policy, "events")) {
        if (event.is_string()) events.push_back(event.get<std::string>());
      }
      const std::string action = TextAt(policy, "action");
      for (const std::string& event : events) {
        if (event.empty() ? Among(kActions, action)
                          : Among(kEvents, event) && Among(kActions, action))
          continue;
        notes.push_back(fmt::format("{}: {} on {} is not acted on", where, action,
                                    event.empty() ? "an exit code" : event));
      }
      if (const std::string timeout = TextAt(policy, "timeout");
          !timeout.empty() && !GoDurationMs(timeout))
        notes.push_back(fmt::format("{}: timeout {} is no duration", where, timeout));
    }
  };
  look(ListAt(spec, "policies"), "spec.policies");
  for (const Task& task : tasks)
    look(ListAt(*task.spec, "policies"), "task " + task.name + " policies");
}

}  // namespace muster::kubesched::volcano
