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
  std::string scheduler;  // as asked; empty = the cluster's default
  std::optional<int64_t> max_retry;
  std::optional<int64_t> ttl_s;        // kept this long after its end
  std::optional<int64_t> min_success;  // pods
  std::vector<LifecyclePolicy> policies;
  std::map<std::string, std::vector<std::string>> plugins;  // Volcano's, with their arguments
};

struct Gangs {
  std::vector<ReadJob> jobs;
  std::vector<Queue> queues;  // ClusterQueues, LocalQueues ("namespace/name"), Cohorts, Queues
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

}  // namespace muster
