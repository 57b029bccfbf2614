#include "backend/kubernetes/kueue/facts.h"

#include <algorithm>

#include "backend/kubernetes/kueue/conditions.h"
#include "kube/object.h"

namespace muster::kueue {

namespace {

using kube::At;
using kube::Dump;
using kube::IntAt;
using kube::Json;
using kube::TextAt;

// Limits where no requests are said: the API server does that for pods, not for templates.
kube::Pod TemplatePod(const Json& pod_template) {
  Json object = {{"metadata", {{"name", "pod"}}}};
  if (const Json& spec = At(pod_template, "spec"); !spec.is_null()) object["spec"] = spec;
  auto pod = kube::DecodePod(object.dump());
  if (!pod.ok()) return {};
  for (auto* list : {&pod->containers, &pod->init_containers}) {
    for (kube::Container& container : *list) {
      for (const auto& [name, milli] : container.limits)
        container.requests.try_emplace(name, milli);
    }
  }
  return std::move(*pod);
}

}  // namespace

uint64_t VersionOf(const Ask& ask) { return kube::VersionNumber(ask.meta.resource_version); }

bool MayGetFewer(const Ask& ask) {
  return std::any_of(ask.sets.begin(), ask.sets.end(),
                     [](const PodSetAsk& set) { return set.min_count > 0; });
}

int CountOf(const PodSetAsk& set, const Counts& counts) {
  const auto found = counts.find(set.name);
  return found == counts.end() ? set.count : found->second;
}

Resources AmountsOf(const kube::Amounts& milli) {
  Resources amounts;
  for (const auto& [resource, value] : milli) {
    const int64_t amount = resource == "cpu" ? value : value / 1000 + (value % 1000 > 0 ? 1 : 0);
    if (amount > 0) amounts[std::string(resource)] = amount;
  }
  return amounts;
}

namespace {

PodSetAsk SetOf(const Json& pod_template, std::string name, int64_t count) {
  const kube::Pod pod = TemplatePod(pod_template);
  PodSetAsk set;
  set.name = std::move(name);
  set.count = static_cast<int>(std::clamp<int64_t>(count, 0, 1'000'000));
  set.shape = AmountsOf(pod.Requests());
  set.select = {pod.node_selector.begin(), pod.node_selector.end()};
  for (const kube::Toleration& t : pod.tolerations)
    set.tolerate.push_back({t.key, t.op, t.value, t.effect});
  return set;
}

Flavors ReadFlavors(const Json& assignments) {
  Flavors flavors;
  for (const Json& assignment : assignments) {
    for (const auto& [resource, flavor] : At(assignment, "flavors").items()) {
      if (flavor.is_string())
        flavors[TextAt(assignment, "name")][resource] = flavor.get<std::string>();
    }
  }
  return flavors;
}

Counts ReadCounts(const Json& assignments) {
  Counts counts;
  for (const Json& assignment : assignments) {
    if (At(assignment, "count").is_number_integer())
      counts[TextAt(assignment, "name")] = kube::CountAt(assignment, "count", 0);
  }
  return counts;
}

// What times it: apis/kueue/v1beta2/workload_types.go and pkg/controller/core/
// workload_controller.go of kubernetes-sigs/kueue.
void ReadTimes(const Json& spec, const Json& status, Ask& ask) {
  const Json& conditions = At(status, "conditions");
  if (const int64_t most = IntAt(spec, "maximumExecutionTimeSeconds", 0); most > 0)
    ask.max_execution_s = most;
  for (const char* key :
       {"accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds"})
    ask.past_execution_s = std::max<int64_t>(ask.past_execution_s, IntAt(status, key, 0));
  if (ask.admitted) ask.admitted_at = SinceOf(ConditionOf(conditions, "Admitted"));
  if (const Json& ready = ConditionOf(conditions, "PodsReady"); !ready.is_null())
    ask.pods_ready = PodsReady{TextAt(ready, "status") == "True", TextAt(ready, "reason"),
                               SinceOf(ready).value_or(TimePoint{})};
  if (IsTrue(conditions, "DeactivationTarget")) {
    const Json& target = ConditionOf(conditions, "DeactivationTarget");
    ask.deactivate = {TextAt(target, "reason"), TextAt(target, "message")};
  }
  const Json& requeued = ConditionOf(conditions, "Requeued");
  const std::string why = TextAt(requeued, "reason");
  ask.backs_off = TextAt(requeued, "status") == "False" &&
                  (why == "PodsReadyTimeout" || why == "AdmissionCheck");
  const Json& requeue = At(status, "requeueState");
  ask.requeue.count = kube::CountAt(requeue, "count", 0);
  if (const auto at = ParseTime(TextAt(requeue, "requeueAt")); at.ok()) ask.requeue.at = *at;
  const Json& evicted = ConditionOf(conditions, "Evicted");
  if (IsTrue(conditions, "Evicted") && TextAt(evicted, "reason") == "PodsReadyTimeout")
    ask.timed_out_at = SinceOf(evicted);
}

Places ReadPlaces(const Json& assignments) {
  Places places;
  for (const Json& assignment : assignments) {
    const Json& place = At(assignment, "topologyAssignment");
    if (place.is_null()) continue;
    auto read = DecodeTopologyAssignment(place.dump());
    if (read.ok()) places[TextAt(assignment, "name")] = std::move(*read);
  }
  return places;
}

// topologyRequest of a pod set (since v1beta1).
void ReadTopologyRequest(const Json& request, PodSetAsk& set) {
  if (!request.is_object()) return;
  set.topology.required = TextAt(request, "required");
  set.topology.preferred = TextAt(request, "preferred");
  set.topology.slice_level = TextAt(request, "podSetSliceRequiredTopology");
  if (!set.topology.slice_level.empty())
    set.topology.slice_size =
        static_cast<int>(std::clamp<int64_t>(IntAt(request, "podSetSliceSize", 0), 0, 1'000'000));
  set.asks_for_topology =
      set.topology != TopologyWish{} || At(request, "unconstrained") == Json(true);
}

}  // namespace

Result<Ask> DecodeWorkload(std::string_view json) {
  TRY(kube::Object object, kube::DecodeObject(json));
  const Json root = Json::parse(json, nullptr, false);
  const Json &spec = At(root, "spec"), &status = At(root, "status");
  Ask ask;
  ask.kind = AskKind::kWorkload;
  ask.api_version = object.api_version;
  ask.meta = std::move(object.meta);
  if (const std::string queue = TextAt(spec, "queueName"); !queue.empty())
    ask.queue = ask.meta.ns + "/" + queue;
  ask.priority =
      static_cast<int>(std::clamp<int64_t>(IntAt(spec, "priority", 0), INT32_MIN, INT32_MAX));
  ask.active = At(spec, "active") != Json(false);
  for (const Json& set : At(spec, "podSets")) {
    const std::string name = TextAt(set, "name");
    ask.sets.push_back(
        SetOf(At(set, "template"), name.empty() ? "main" : name, IntAt(set, "count", 1)));
    ask.sets.back().min_count = std::min(kube::CountAt(set, "minCount", 0), ask.sets.back().count);
    ReadTopologyRequest(At(set, "topologyRequest"), ask.sets.back());
  }
  const Json& conditions = At(status, "conditions");
  ask.finished = IsTrue(conditions, "Finished");
  ask.reserved = IsTrue(conditions, "QuotaReserved") && !At(status, "admission").is_null();
  ask.admitted = ask.reserved && IsTrue(conditions, "Admitted");
  ask.cluster_queue = TextAt(status, "admission", "clusterQueue");
  ask.flavors = ReadFlavors(At(status, "admission", "podSetAssignments"));
  ask.counts = ReadCounts(At(status, "admission", "podSetAssignments"));
  ask.places = ReadPlaces(At(status, "admission", "podSetAssignments"));
  ReadTimes(spec, status, ask);
  if (!conditions.is_null()) ask.conditions_json = conditions.dump();
  for (const kube::Owner& owner : ask.meta.owners) {
    if (owner.kind == "Job" && owner.api_version == "batch/v1") ask.owner_job = owner.uid;
  }
  return ask;
}

Result<Ask> DecodeQueuedJob(std::string_view json) {
  TRY(kube::Job job, kube::DecodeJob(json));
  Ask ask;
  ask.kind = AskKind::kJob;
  ask.api_version = "batch/v1";
  if (const std::string* queue = job.meta.Label(kQueueLabel))
    ask.queue = job.meta.ns + "/" + *queue;
  const Json pod_template = Json::parse(job.template_json, nullptr, false);
  if (const std::string* name = job.meta.Label("kueue.x-k8s.io/priority-class")) {
    ask.priority_class = "kueue/" + *name;
  } else if (const std::string pods = TextAt(pod_template, "spec", "priorityClassName");
             !pods.empty()) {
    ask.priority_class = "pod/" + pods;
  }
  const int64_t parallelism = job.parallelism.value_or(1);
  ask.sets.push_back(
      SetOf(pod_template, "main", std::min(parallelism, job.completions.value_or(parallelism))));
  for (const kube::Condition& condition : job.conditions) {
    if (condition.status != "True") continue;
    ask.finished = ask.finished || condition.type == "Complete" || condition.type == "Failed";
    ask.succeeded = ask.succeeded || condition.type == "Complete";
  }
  // What another flavor gave it is no choice of its own.
  if (const std::string* given = job.meta.Annotation(kGivenLabelsAnnotation)) {
    const Json labels = Json::parse(*given, nullptr, false);
    for (const auto& [key, value] : labels.items()) {
      auto& select = ask.sets[0].select;
      if (!value.is_string() || select.count(key) == 0 || select[key] != value.get<std::string>())
        continue;
      ask.given_labels[key] = value.get<std::string>();
      select.erase(key);
    }
  }
  const Json& tolerations = At(pod_template, "spec", "tolerations");
  if (tolerations.is_array()) ask.tolerations_json = tolerations.dump();
  ask.runs = !job.suspend;
  ask.pods_are_ready = job.ready + job.succeeded >= ask.sets[0].count;
  ask.covered = std::any_of(job.meta.owners.begin(), job.meta.owners.end(),
                            [](const kube::Owner& owner) { return owner.controller; });
  if (const std::string* said = job.meta.Annotation(kAdmissionAnnotation);
      said != nullptr && ask.runs) {
    const Json admission = Json::parse(*said, nullptr, false);
    ask.cluster_queue = TextAt(admission, "clusterQueue");
    for (const auto& [resource, flavor] : At(admission, "flavors").items()) {
      if (flavor.is_string()) ask.flavors["main"][resource] = flavor.get<std::string>();
    }
    ask.reserved = true;
  }
  ask.meta = std::move(job.meta);
  return ask;
}

}  // namespace muster::kueue
