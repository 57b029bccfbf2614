// A Volcano Job (batch.volcano.sh/v1alpha1) as what its controller would make of it: a PodGroup, a
// headless Service, pods with the environment of its plugins, and what its policies do when pods
// end. Pure: the Job and its pods in, objects to create and pods to delete out. For clusters
// without Volcano's own controllers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::kubesched {

struct VolcanoPod {
  std::string name, uid, task;
  std::string phase;  // Pending, Running, Succeeded, Failed
  bool leaving = false;
};

struct VolcanoJobPlan {
  // JSON bodies; what is there already is not among the pods.
  std::string group, service;  // service: empty without the svc or pytorch plugin
  std::string group_name, service_name;
  std::vector<std::string> pods;
  std::vector<VolcanoPod> remove;
  std::string phase;  // Pending, Running, Completed, Failed: of status.state
  int retries = 0;    // of status.retryCount, after this
  // What the Job asks for and is not done: plugins, events, actions. "plugins.mpi: ..."
  std::vector<std::string> notes;
};

// `json`: the Job as the API server shows it. kInvalid for one that cannot be: no tasks, a task
// without a template, more than 10,000 pods.
Result<VolcanoJobPlan> PlanVolcanoJob(std::string_view json, const std::vector<VolcanoPod>& pods);

}  // namespace muster::kubesched
