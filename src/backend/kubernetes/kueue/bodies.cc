#include "backend/kubernetes/kueue/bodies.h"

#include <algorithm>
#include <array>

#include "backend/kubernetes/kueue/conditions.h"
#include "kube/core.h"
#include "kube/json.h"

namespace muster::kueue {

namespace {

using kube::Dump;
using kube::Json;

// v1beta1 has a slip of the pen in the name (apis/kueue/v1beta1/workload_types.go).
const char* PastExecutionKey(const std::string& api_version) {
  return api_version.ends_with("v1beta1") ? "accumulatedPastExexcutionTimeSeconds"
                                          : "accumulatedPastExecutionTimeSeconds";
}

Json SameObject(const Ask& ask) {
  return {{"uid", ask.meta.uid}, {"resourceVersion", ask.meta.resource_version}};
}

Json ConditionsOf(const Ask& ask) {
  Json conditions = Json::parse(ask.conditions_json, nullptr, false);
  return conditions.is_array() ? conditions : Json::array();
}

// What an earlier flavor gave goes again. What a toleration of a flavor says that the template says
// already is not said twice.
void UpdatePods(const Ask& job, const PodUpdate& pods, Json& body) {
  std::map<std::string, std::string> given;
  Json& spec = body["spec"]["template"]["spec"];
  for (const auto& [key, value] : job.given_labels) spec["nodeSelector"][key] = nullptr;
  for (const auto& [key, value] : pods.select) {
    spec["nodeSelector"][key] = value;
    if (job.sets.empty() || job.sets[0].select.count(key) == 0) given[key] = value;
  }
  if (given != job.given_labels)
    body["metadata"]["annotations"][kGivenLabelsAnnotation] = Dump(given);
  if (spec.empty()) body["spec"].erase("template");
  if (pods.tolerate.empty()) return;
  Json all = Json::parse(job.tolerations_json, nullptr, false);
  if (!all.is_array()) all = Json::array();
  const size_t before = all.size();
  for (const Toleration& one : pods.tolerate) {
    Json said = Json::object();
    for (const auto& [key, value] :
         {std::pair{"key", &one.key}, std::pair{"operator", &one.op},
          std::pair{"value", &one.value}, std::pair{"effect", &one.effect}}) {
      if (!value->empty()) said[key] = *value;
    }
    if (std::find(all.begin(), all.end(), said) == all.end()) all.push_back(std::move(said));
  }
  if (all.size() > before) body["spec"]["template"]["spec"]["tolerations"] = std::move(all);
}

std::string AmountText(const std::string& resource, int64_t amount) {
  return kube::FormatMilli(resource == "cpu" ? amount : amount * 1000);
}

}  // namespace

std::string AdmitWorkloadBody(const Ask& ask, const std::string& cluster_queue,
                              const Flavors& flavors, const Counts& counts, const Places& places,
                              bool checked, const std::string& now) {
  Json assignments = Json::array();
  for (const PodSetAsk& set : ask.sets) {
    const int count = CountOf(set, counts);
    Json assignment = {{"name", set.name}, {"count", count}};
    const auto given = flavors.find(set.name);
    if (given != flavors.end()) {
      for (const auto& [resource, flavor] : given->second) {
        assignment["flavors"][resource] = flavor;
        const auto amount = set.shape.find(resource);
        assignment["resourceUsage"][resource] =
            AmountText(resource, (amount == set.shape.end() ? 0 : amount->second) * count);
      }
    }
    if (const auto place = places.find(set.name); place != places.end()) {
      const std::string version = ask.api_version.substr(ask.api_version.find('/') + 1);
      assignment["topologyAssignment"] =
          Json::parse(EncodeTopologyAssignment(place->second, version));
    }
    assignments.push_back(std::move(assignment));
  }
  Json conditions = ConditionsOf(ask);
  SetCondition(conditions, ask.meta.generation, "QuotaReserved", true, "QuotaReserved",
               "Quota reserved in ClusterQueue " + cluster_queue, now);
  if (!checked)
    SetCondition(conditions, ask.meta.generation, "Admitted", true, "Admitted",
                 "The workload is admitted", now);
  for (const char* before : {"Evicted", "Preempted"}) {
    if (IsTrue(conditions, before))
      SetCondition(conditions, ask.meta.generation, before, false, "QuotaReserved",
                   "Quota is reserved again", now);
  }
  return Dump(
      {{"metadata", SameObject(ask)},
       {"status",
        {{"conditions", std::move(conditions)},
         {"admission",
          {{"clusterQueue", cluster_queue}, {"podSetAssignments", std::move(assignments)}}}}}});
}

std::string EvictWorkloadBody(const Ask& ask, const std::string& reason, const std::string& message,
                              const std::optional<Requeue>& requeue, TimePoint now) {
  const std::string at = kube::WholeSeconds(now);
  const bool deactivated = reason.starts_with("Deactivated");
  Json conditions = ConditionsOf(ask);
  const auto set = [&](const char* type, bool is, const std::string& why, const std::string& text) {
    SetCondition(conditions, ask.meta.generation, type, is, why, text, at);
  };
  set("QuotaReserved", false, "Pending", message);
  set("Admitted", false, "NoReservation", "The workload has no reservation");
  set("Evicted", true, reason, message);
  if (reason == "Preempted") set("Preempted", true, "InClusterQueue", message);
  if (!ConditionOf(conditions, "PodsReady").is_null())
    set("PodsReady", false, "WaitForStart", "Not all pods are ready or succeeded");
  RemoveCondition(conditions, "DeactivationTarget");
  Json status = {{"admission", nullptr}};
  if (requeue) {
    set("Requeued", false, reason, message);
    status["requeueState"] = {{"count", requeue->count},
                              {"requeueAt", kube::WholeSeconds(requeue->at)}};
  } else if (deactivated) {
    status["requeueState"] = nullptr;
  }
  // What it ran counts on, unless somebody has to activate it again.
  if (ask.max_execution_s && ask.admitted_at) {
    const auto ran = std::chrono::duration_cast<std::chrono::seconds>(now - *ask.admitted_at);
    Json& past = status[PastExecutionKey(ask.api_version)];
    if (!deactivated) past = ask.past_execution_s + std::max<int64_t>(0, ran.count());
  }
  status["conditions"] = std::move(conditions);
  return Dump({{"metadata", SameObject(ask)}, {"status", std::move(status)}});
}

std::string DeactivationTargetBody(const Ask& ask, const std::string& reason,
                                   const std::string& message, const std::string& now) {
  Json conditions = ConditionsOf(ask);
  SetCondition(conditions, ask.meta.generation, "DeactivationTarget", true, reason, message, now);
  return Dump({{"metadata", SameObject(ask)}, {"status", {{"conditions", std::move(conditions)}}}});
}

std::string DeactivateBody(const Ask& ask) {
  return Dump({{"metadata", SameObject(ask)}, {"spec", {{"active", false}}}});
}

std::string RequeuedBody(const Ask& ask, const std::string& now) {
  Json conditions = ConditionsOf(ask);
  SetCondition(conditions, ask.meta.generation, "Requeued", true, "BackoffFinished",
               "The workload backoff was finished", now);
  return Dump(
      {{"metadata", SameObject(ask)},
       {"status",
        {{"conditions", std::move(conditions)}, {"requeueState", {{"requeueAt", nullptr}}}}}});
}

std::string PodsReadyBody(const Ask& ask, const PodsReady& ready, const std::string& now) {
  Json conditions = ConditionsOf(ask);
  SetCondition(conditions, ask.meta.generation, "PodsReady", ready.is, ready.reason,
               ready.is ? "All pods reached readiness and the workload is running"
               : ready.reason == "WaitForRecovery"
                   ? "At least one pod has failed, waiting for recovery"
                   : "Not all pods are ready or succeeded",
               now);
  return Dump({{"metadata", SameObject(ask)}, {"status", {{"conditions", std::move(conditions)}}}});
}

std::string WaitingWorkloadBody(const Ask& ask, const std::string& reason,
                                const std::string& message, const std::string& now) {
  Json conditions = ConditionsOf(ask);
  SetCondition(conditions, ask.meta.generation, "QuotaReserved", false, reason, message, now);
  return Dump({{"metadata", SameObject(ask)}, {"status", {{"conditions", std::move(conditions)}}}});
}

std::string FinishedWorkloadBody(const Ask& ask, bool succeeded, const std::string& now) {
  Json conditions = ConditionsOf(ask);
  SetCondition(conditions, ask.meta.generation, "Finished", true,
               succeeded ? "Succeeded" : "Failed",
               succeeded ? "Job finished successfully" : "Job failed", now);
  return Dump({{"metadata", SameObject(ask)}, {"status", {{"conditions", std::move(conditions)}}}});
}

std::string AdmitJobBody(const Ask& ask, const std::string& cluster_queue, const Flavors& flavors,
                         const PodUpdate& pods) {
  Json admission = {{"clusterQueue", cluster_queue}};
  for (const auto& [set, given] : flavors) {
    for (const auto& [resource, flavor] : given) admission["flavors"][resource] = flavor;
  }
  Json body = {{"metadata", SameObject(ask)}, {"spec", {{"suspend", false}}}};
  body["metadata"]["annotations"][kAdmissionAnnotation] = Dump(admission);
  UpdatePods(ask, pods, body);
  return Dump(body);
}

std::string StartJobBody(const Ask& job, const PodUpdate& pods, std::optional<int> parallelism) {
  Json body = {{"metadata", SameObject(job)}, {"spec", {{"suspend", false}}}};
  if (parallelism) body["spec"]["parallelism"] = *parallelism;
  UpdatePods(job, pods, body);
  return Dump(body);
}

std::string HoldJobBody(const Ask& ask, std::optional<int> parallelism) {
  Json body = {{"metadata", SameObject(ask)}, {"spec", {{"suspend", true}}}};
  if (parallelism) body["spec"]["parallelism"] = *parallelism;
  if (ask.meta.Annotation(kAdmissionAnnotation) != nullptr)
    body["metadata"]["annotations"][kAdmissionAnnotation] = nullptr;
  return Dump(body);
}

}  // namespace muster::kueue
