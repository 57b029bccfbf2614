// Every dialect's objects as the one model of jobs, queues and flavors. What a manifest asks for
// that the model does not carry is said as a note, never dropped.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "manifest/document.h"
#include "manifest/workloads.h"
#include "model/workload.h"

namespace muster {

// Something a manifest says that has no part in the model: read, understood or not, not acted on.
struct ManifestNote {
  std::string file;
  YamlMark at;
  std::string field;             // "spec.podFailurePolicy"
  std::string what;              // one sentence
  std::string ToString() const;  // "job.yaml:7:3: spec.podFailurePolicy: ..."
};

// What is done when something happens to a gang (Volcano's policies; Job's and JobSet's
// equivalents).
struct LifecyclePolicy {
  std::string task;   // empty = the whole job
  std::string event;  // "PodEvicted", "TaskCompleted", ...; empty with an exit code
  std::optional<int64_t> exit_code;
  std::string action;  // "RestartJob", "CompleteJob", ...
  std::optional<int64_t> timeout_ms;
};

struct ReadJob {
  Job job;
  std::string kind, ns, file;
  std::string queue_kind;  // whose queue job.queue is: "kueue", "volcano", "kai", or empty
  std::string scheduler;   // as asked; empty = the cluster's default
  std::optional<int64_t> max_retry;
  std::optional<int64_t> ttl_s;        // kept this long after its end
  std::optional<int64_t> min_success;  // pods
  std::vector<LifecyclePolicy> policies;
  std::map<std::string, std::vector<std::string>> plugins;  // Volcano's, with their arguments
};

// One requirement of a label selector: op is In, NotIn, Exists or DoesNotExist.
struct LabelRule {
  std::string key, op;
  std::vector<std::string> values;
};
bool Matches(const std::vector<LabelRule>& rules, const std::map<std::string, std::string>& labels);

// What a queue asks for that is no amount.
struct QueueRules {
  std::string held;      // why nothing may start through it: stopPolicy, a closed queue
  bool stopped = false;  // by a stopPolicy
  bool drain = false;    // and what runs is to leave
  // A ClusterQueue's namespaceSelector: without one no namespace may use it, as in Kueue.
  std::optional<std::vector<LabelRule>> namespaces;
  bool is_cluster_queue = false;
};

// Queues of different kinds may have one name. Names are unique in the model: of those that two
// kinds share, all but the ClusterQueue's are called "name@kind" (volcano, kai, cohort).
struct Gangs {
  std::vector<ReadJob> jobs;
  std::vector<Queue> queues;  // ClusterQueues, LocalQueues ("namespace/name"), Cohorts, Queues
  std::map<std::string, QueueRules> rules;  // by the queue's name in the model; absent = none
  std::map<std::pair<std::string, std::string>, std::string> renamed;  // (kind, name) -> model's
  std::map<std::string, int> priorities;  // by class name; Kueue's as "kueue/<name>"
  std::vector<Flavor> flavors;
  std::map<std::string, std::vector<std::string>>
      topologies;  // levels' node labels, outermost first
  std::vector<ManifestNote> notes;
  // Amounts that are no quantities: nothing that holds one can be placed. "file:line:column: what".
  std::vector<std::string> errors;
};

// O(documents + fields). Never fails: what cannot be read is in `errors`.
Gangs ReadGangs(std::span<const ManifestFile> files);

// How a LocalQueue is called in the model; namespaces left out are "default".
std::string LocalQueueName(std::string_view ns, std::string_view name);
// Volcano bounds a gang by tiers of its network, 1 the nearest; the model by names of levels.
// "tier-2" is the second level from below of `levels` (outermost first), the nodes not counted; a
// tier above all of them bounds nothing (empty). Any other name stays as it is.
std::string LevelOfTier(const std::string& tier, const std::vector<std::string>& levels);

}  // namespace muster
