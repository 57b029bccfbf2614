#include "backend/kubernetes/kueue/facts.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "kube/json.h"

namespace muster::kueue {

namespace {

using kube::At;
using kube::Dump;
using kube::IntAt;
using kube::Json;
using kube::TextAt;

constexpr const char* kAdmission = "muster.dev/admission";
constexpr const char* kGivenLabels = "muster.dev/given-node-labels";

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

bool IsTrue(const Json& conditions, std::string_view type) {
  return std::any_of(conditions.begin(), conditions.end(), [&](const Json& condition) {
    return TextAt(condition, "type") == type && TextAt(condition, "status") == "True";
  });
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

Json SameObject(const Ask& ask) {
  return {{"uid", ask.meta.uid}, {"resourceVersion", ask.meta.resource_version}};
}

// A condition of ours in the place of the one of its type; the time goes on only with the status.
void SetCondition(Json& conditions, const Ask& ask, const char* type, bool status,
                  const std::string& reason, const std::string& message, const std::string& now) {
  Json condition = {{"type", type},
                    {"status", status ? "True" : "False"},
                    {"reason", reason},
                    {"message", message},
                    {"lastTransitionTime", now},
                    {"observedGeneration", ask.meta.generation}};
  for (Json& other : conditions) {
    if (TextAt(other, "type") != type) continue;
    if (TextAt(other, "status") == TextAt(condition, "status") &&
        other.contains("lastTransitionTime"))
      condition["lastTransitionTime"] = other["lastTransitionTime"];
    other = std::move(condition);
    return;
  }
  conditions.push_back(std::move(condition));
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
  if (given != job.given_labels) body["metadata"]["annotations"][kGivenLabels] = Dump(given);
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
    ReadTopologyRequest(At(set, "topologyRequest"), ask.sets.back());
  }
  const Json& conditions = At(status, "conditions");
  ask.finished = IsTrue(conditions, "Finished");
  ask.reserved = IsTrue(conditions, "QuotaReserved") && !At(status, "admission").is_null();
  ask.admitted = ask.reserved && IsTrue(conditions, "Admitted");
  ask.cluster_queue = TextAt(status, "admission", "clusterQueue");
  ask.flavors = ReadFlavors(At(status, "admission", "podSetAssignments"));
  ask.places = ReadPlaces(At(status, "admission", "podSetAssignments"));
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
  if (const std::string* given = job.meta.Annotation(kGivenLabels)) {
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
  ask.covered = std::any_of(job.meta.owners.begin(), job.meta.owners.end(),
                            [](const kube::Owner& owner) { return owner.controller; });
  if (const std::string* said = job.meta.Annotation(kAdmission); said != nullptr && ask.runs) {
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

std::string AdmitWorkloadBody(const Ask& ask, const std::string& cluster_queue,
                              const Flavors& flavors, const Places& places, bool checked,
                              const std::string& now) {
  Json assignments = Json::array();
  for (const PodSetAsk& set : ask.sets) {
    Json assignment = {{"name", set.name}, {"count", set.count}};
    const auto given = flavors.find(set.name);
    if (given != flavors.end()) {
      for (const auto& [resource, flavor] : given->second) {
        assignment["flavors"][resource] = flavor;
        const auto amount = set.shape.find(resource);
        assignment["resourceUsage"][resource] =
            AmountText(resource, (amount == set.shape.end() ? 0 : amount->second) * set.count);
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
  SetCondition(conditions, ask, "QuotaReserved", true, "QuotaReserved",
               "Quota reserved in ClusterQueue " + cluster_queue, now);
  if (!checked)
    SetCondition(conditions, ask, "Admitted", true, "Admitted", "The workload is admitted", now);
  for (const char* before : {"Evicted", "Preempted"}) {
    if (IsTrue(conditions, before))
      SetCondition(conditions, ask, before, false, "QuotaReserved", "Quota is reserved again", now);
  }
  return Dump(
      {{"metadata", SameObject(ask)},
       {"status",
        {{"conditions", std::move(conditions)},
         {"admission",
          {{"clusterQueue", cluster_queue}, {"podSetAssignments", std::move(assignments)}}}}}});
}

std::string EvictWorkloadBody(const Ask& ask, const std::string& reason, const std::string& message,
                              const std::string& now) {
  Json conditions = ConditionsOf(ask);
  SetCondition(conditions, ask, "QuotaReserved", false, "Pending", message, now);
  SetCondition(conditions, ask, "Admitted", false, "NoReservation",
               "The workload has no reservation", now);
  SetCondition(conditions, ask, "Evicted", true, reason, message, now);
  if (reason == "Preempted")
    SetCondition(conditions, ask, "Preempted", true, "InClusterQueue", message, now);
  return Dump({{"metadata", SameObject(ask)},
               {"status", {{"conditions", std::move(conditions)}, {"admission", nullptr}}}});
}

std::string WaitingWorkloadBody(const Ask& ask, const std::string& reason,
                                const std::string& message, const std::string& now) {
  Json conditions = ConditionsOf(ask);
  SetCondition(conditions, ask, "QuotaReserved", false, reason, message, now);
  return Dump({{"metadata", SameObject(ask)}, {"status", {{"conditions", std::move(conditions)}}}});
}

std::string FinishedWorkloadBody(const Ask& ask, bool succeeded, const std::string& now) {
  Json conditions = ConditionsOf(ask);
  SetCondition(conditions, ask, "Finished", true, succeeded ? "Succeeded" : "Failed",
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
  body["metadata"]["annotations"][kAdmission] = Dump(admission);
  UpdatePods(ask, pods, body);
  return Dump(body);
}

std::string StartJobBody(const Ask& job, const PodUpdate& pods) {
  Json body = {{"metadata", SameObject(job)}, {"spec", {{"suspend", false}}}};
  UpdatePods(job, pods, body);
  return Dump(body);
}

std::string HoldJobBody(const Ask& ask) {
  Json body = {{"metadata", SameObject(ask)}, {"spec", {{"suspend", true}}}};
  if (ask.meta.Annotation(kAdmission) != nullptr)
    body["metadata"]["annotations"][kAdmission] = nullptr;
  return Dump(body);
}

}  // namespace muster::kueue
