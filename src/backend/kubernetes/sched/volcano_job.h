// A Volcano Job (batch.volcano.sh/v1alpha1) as what its controller would make of it: a PodGroup, a
// headless Service, pods with what its plugins give them, what its policies do when pods end, and
// its status. Pure: the Job and its pods in, objects to create and pods to delete out. For clusters
// without Volcano's own controllers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/kubernetes/sched/ssh_keys.h"
#include "base/result.h"
#include "base/time.h"
#include "kube/object.h"

namespace muster::kubesched {

struct VolcanoPod {
  std::string name, uid, task;
  std::string phase;  // Pending, Running, Succeeded, Failed
  bool leaving = false;
  std::string reason = {};            // the node's, of one that failed
  std::optional<int> exit_code = {};  // of the first container that failed
  std::optional<TimePoint> ended = {};
};
// With the Job's name as owner; kParse for what is no pod.
struct VolcanoPodSeen {
  kube::Meta meta;
  VolcanoPod pod;
};
Result<VolcanoPodSeen> DecodeVolcanoPod(std::string_view json);

struct VolcanoJobPlan {
  // JSON bodies; what is there already is not among the pods.
  std::string group, service, hosts;  // service, hosts: empty without the plugins
  std::string group_name, service_name;
  std::string secret_name;  // of the ssh plugin: its body is SecretBody's, with new keys
  std::vector<std::string> pods;
  std::vector<VolcanoPod> remove;
  std::string phase;   // of status.state
  int retries = 0;     // of status.retryCount, after this
  int version = 0;     // of status.version: how often the whole Job was told to go
  std::string status;  // a merge patch; empty: it stands so
  bool over = false;   // ttlSecondsAfterFinished has passed: the Job itself goes
  // Something is due then though nothing comes.
  std::optional<TimePoint> look_at;
  // What the Job asks for and is not done: plugins, events, actions. "plugins.mpi: ..."
  std::vector<std::string> notes;
};

// `json`: the Job as the API server shows it. kInvalid for one that cannot be: no tasks, a task
// without a template, more than 10,000 pods.
Result<VolcanoJobPlan> PlanVolcanoJob(std::string_view json, const std::vector<VolcanoPod>& pods,
                                      TimePoint now);
std::string VolcanoSecretBody(std::string_view json, const SshKeys& keys);

}  // namespace muster::kubesched
