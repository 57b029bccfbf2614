// What asks for quota: Kueue's Workloads, made by whoever makes them, and batch/v1 Jobs that name a
// queue; as small values.
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

inline constexpr const char* kAdmissionAnnotation = "muster.dev/admission";
inline constexpr const char* kGivenLabelsAnnotation = "muster.dev/given-node-labels";
// On a Job: the LocalQueue of its namespace that it waits in.
inline constexpr const char* kQueueLabel = "kueue.x-k8s.io/queue-name";

struct PodSetAsk {
  std::string name = "main";
  int count = 1;
  int min_count = 0;  // of its pods, so many do (partial admission); 0: all or none
  Resources shape;    // of one pod: cpu in thousandths, everything else whole
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

// Pod set -> pods that it was let in with, where that is not all of them.
using Counts = std::map<std::string, int>;

// The condition PodsReady.
struct PodsReady {
  bool is = false;
  std::string reason;  // WaitForStart, Started, WaitForRecovery, Recovered
  TimePoint since{};
};
struct Requeue {  // status.requeueState
  int count = 0;
  TimePoint at{};
};
struct Deactivation {  // why spec.active is to be false
  std::string reason, message;
};

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
  Counts counts;                                    // the same
  std::string owner_job;                            // uid of the Job that a Workload stands for
  std::string conditions_json;                      // a Workload's, as they stand
  std::map<std::string, std::string> given_labels;  // of a Job's pods, by the flavor it had
  // What times a Workload.
  std::optional<int64_t> max_execution_s;              // spec.maximumExecutionTimeSeconds
  int64_t past_execution_s = 0;                        // admitted before, and evicted since
  std::optional<TimePoint> admitted_at, timed_out_at;  // timed_out_at: evicted, PodsReadyTimeout
  std::optional<PodsReady> pods_ready;
  std::optional<Deactivation> deactivate;
  bool backs_off = false;  // until requeue.at
  Requeue requeue;
  bool pods_are_ready = false;  // of a Job: ready or succeeded
  // Of a Job's template, as they stand: a patch of a list writes all of it.
  std::string tolerations_json;
  std::string api_version;
};

uint64_t VersionOf(const Ask& ask);
int CountOf(const PodSetAsk& set, const Counts& counts);
bool MayGetFewer(const Ask& ask);

// cpu in thousandths, everything else whole; rounded up.
Resources AmountsOf(const kube::Amounts& milli);

// kParse for what is no such object. A Workload of v1beta1 or v1beta2.
Result<Ask> DecodeWorkload(std::string_view json);
Result<Ask> DecodeQueuedJob(std::string_view json);

}  // namespace muster::kueue
