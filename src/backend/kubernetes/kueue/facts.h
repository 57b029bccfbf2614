// What asks for quota: Kueue's Workloads, made by whoever makes them, and batch/v1 Jobs that name a
// queue; as small values, and what is written to them as bodies of patches.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/kubernetes/kueue/topology_assignment.h"
#include "kube/core.h"
#include "model/workload.h"

namespace muster::kueue {

// On a Job: the LocalQueue of its namespace that it waits in.
inline constexpr const char* kQueueLabel = "kueue.x-k8s.io/queue-name";

struct PodSetAsk {
  std::string name = "main";
  int count = 1;
  Resources shape;  // of one pod: cpu in thousandths, everything else whole
  std::map<std::string, std::string> select;
  std::vector<Toleration> tolerate;
  TopologyWish topology;           // by node labels
  bool asks_for_topology = false;  // also one that asks for no compactness
  bool operator==(const PodSetAsk&) const = default;
};

// Pod set -> where its pods go.
using Places = std::map<std::string, TopologyAssignment>;

// What pods get from the flavors that they were given.
struct PodUpdate {
  std::map<std::string, std::string> select;  // node labels
  std::vector<Toleration> tolerate;
};

// Pod set -> resource -> flavor.
using Flavors = std::map<std::string, std::map<std::string, std::string>>;

enum class AskKind : uint8_t { kWorkload, kJob };

struct Ask {
  kube::Meta meta;
  AskKind kind = AskKind::kWorkload;
  std::string queue;  // "namespace/name" of the LocalQueue; empty: none said
  int priority = 0;   // of a Job: known once its class is (priority_class)
  std::string priority_class;
  std::vector<PodSetAsk> sets;
  bool active = true;     // spec.active of a Workload
  bool finished = false;  // it ran to its end, well or not
  bool succeeded = false;
  bool reserved = false;  // it holds quota: QuotaReserved, or a Job that Muster let go
  bool admitted = false;  // of a Workload: also those who check it agree
  bool runs = false;      // a Job that is not suspended
  bool covered = false;   // a Job whose owner is queued in its place
  std::string cluster_queue;
  Flavors flavors;                                  // of what is reserved
  Places places;                                    // the same
  std::string owner_job;                            // uid of the Job that a Workload stands for
  std::string conditions_json;                      // a Workload's, as they stand
  std::map<std::string, std::string> given_labels;  // of a Job's pods, by the flavor it had
  // Of a Job's template, as they stand: a patch of a list writes all of it.
  std::string tolerations_json;
  std::string api_version;
};

// cpu in thousandths, everything else whole; rounded up.
Resources AmountsOf(const kube::Amounts& milli);

// kParse for what is no such object. A Workload of v1beta1 or v1beta2.
Result<Ask> DecodeWorkload(std::string_view json);
Result<Ask> DecodeQueuedJob(std::string_view json);

// ---- what is written: JSON merge patches with the object's uid and resourceVersion, so that
// nothing is written over what somebody else has said since. `now` is RFC 3339.

// status: QuotaReserved, Admitted (unless `checked` by others first), the assignment.
std::string AdmitWorkloadBody(const Ask& ask, const std::string& cluster_queue,
                              const Flavors& flavors, const Places& places, bool checked,
                              const std::string& now);
// status: Evicted with the reason, no quota, no assignment.
std::string EvictWorkloadBody(const Ask& ask, const std::string& reason, const std::string& message,
                              const std::string& now);
// status: QuotaReserved is False, with the reason.
std::string WaitingWorkloadBody(const Ask& ask, const std::string& reason,
                                const std::string& message, const std::string& now);
std::string FinishedWorkloadBody(const Ask& ask, bool succeeded, const std::string& now);
// spec: not suspended, its pods on nodes with the flavors' labels and with their tolerations; what
// it was given is remembered in the annotation muster.dev/admission.
std::string AdmitJobBody(const Ask& ask, const std::string& cluster_queue, const Flavors& flavors,
                         const PodUpdate& pods);
// A Job that a Workload stands for: no annotation, for the Workload remembers.
std::string StartJobBody(const Ask& job, const PodUpdate& pods);
std::string HoldJobBody(const Ask& ask);

}  // namespace muster::kueue
