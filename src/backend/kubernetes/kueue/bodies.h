// What is written to Workloads and Jobs. JSON merge patches with the object's uid and
// resourceVersion, so that nothing is written over what somebody else has said since. Conditions,
// reasons and messages are those of kubernetes-sigs/kueue (pkg/controller/core, pkg/workload,
// pkg/controller/jobframework). `now` as a text is RFC 3339.
#pragma once

#include <optional>
#include <string>

#include "backend/kubernetes/kueue/facts.h"

namespace muster::kueue {

// status: QuotaReserved, Admitted (unless `checked` by others first), the assignment.
std::string AdmitWorkloadBody(const Ask& ask, const std::string& cluster_queue,
                              const Flavors& flavors, const Counts& counts, const Places& places,
                              bool checked, const std::string& now);
// status: Evicted with the reason, no quota, no assignment; `requeue`: not before then.
std::string EvictWorkloadBody(const Ask& ask, const std::string& reason, const std::string& message,
                              const std::optional<Requeue>& requeue, TimePoint now);
// status: it is about to be deactivated; then spec: it is.
std::string DeactivationTargetBody(const Ask& ask, const std::string& reason,
                                   const std::string& message, const std::string& now);
std::string DeactivateBody(const Ask& ask);
// status: its time to back off is over.
std::string RequeuedBody(const Ask& ask, const std::string& now);
std::string PodsReadyBody(const Ask& ask, const PodsReady& ready, const std::string& now);
// status: QuotaReserved is False, with the reason.
std::string WaitingWorkloadBody(const Ask& ask, const std::string& reason,
                                const std::string& message, const std::string& now);
std::string FinishedWorkloadBody(const Ask& ask, bool succeeded, const std::string& now);
// spec: not suspended, its pods on nodes with the flavors' labels and with their tolerations; what
// it was given is remembered in the annotation muster.dev/admission.
std::string AdmitJobBody(const Ask& ask, const std::string& cluster_queue, const Flavors& flavors,
                         const PodUpdate& pods);
// A Job that a Workload stands for: no annotation, for the Workload remembers.
std::string StartJobBody(const Ask& job, const PodUpdate& pods,
                         std::optional<int> parallelism = {});
std::string HoldJobBody(const Ask& ask, std::optional<int> parallelism = {});

}  // namespace muster::kueue
