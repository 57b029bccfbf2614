// The objects of groups, of every dialect, as one kind of facts. A field that is not acted on is
// named in `ignored`, so that whoever asked for it is told.
#include <algorithm>

#include <fmt/format.h>

#include "backend/kubernetes/kueue/facts.h"
#include "backend/kubernetes/sched/facts.h"
#include "base/strings.h"
#include "kube/json.h"
#include "kube/object.h"

namespace muster::kubesched {

namespace {

using kube::CountAt;
using kube::Json;
using kube::TextAt;

struct GroupObject {
  GroupFacts facts;
  kube::Meta meta;
  Json spec;
};

// Everything under `spec` that is not named here is ignored, and said.
void IgnoreRest(GroupObject& object, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object.spec.items()) {
    const bool nothing =
        value.is_null() || ((value.is_array() || value.is_object()) && value.empty());
    if (!nothing && std::find(known.begin(), known.end(), key) == known.end())
      object.facts.ignored.push_back("spec." + Printable(Shorten(key, 60)));
  }
}

Result<GroupObject> ObjectOf(std::string_view json, Dialect dialect) {
  TRY(kube::Object object, kube::DecodeObject(json));
  GroupObject group;
  group.facts.meta = {object.meta.ns, object.meta.name, object.meta.uid,
                      object.meta.resource_version};
  group.facts.dialect = dialect;
  group.spec = kube::ObjectAt(Json::parse(json, nullptr, false), "spec");
  group.meta = std::move(object.meta);
  group.facts.priority_class = TextAt(group.spec, "priorityClassName");
  return group;
}

// What a label of Kueue on a Job or a JobSet says: its queue, its class, and more that is not done.
void ReadKueueLabels(const kube::Meta& meta, GroupFacts& facts) {
  const std::string* queue = meta.Label(kueue::kQueueLabel);
  if (queue == nullptr || queue->empty()) return;
  facts.queue = meta.ns + "/" + *queue;
  if (const std::string* name = meta.Label("kueue.x-k8s.io/priority-class"))
    facts.priority_class = "kueue/" + *name;
  if (meta.Label("kueue.x-k8s.io/max-exec-time-seconds") != nullptr)
    facts.ignored.emplace_back("label kueue.x-k8s.io/max-exec-time-seconds");
  for (const char* key : {"kueue.x-k8s.io/job-min-parallelism", "kueue.x-k8s.io/elastic-job"}) {
    if (meta.Annotation(key) != nullptr) facts.ignored.push_back(std::string("annotation ") + key);
  }
}

int PodsOfJob(const Json& spec) {
  const int parallelism = CountAt(spec, "parallelism", 1);
  return std::min(parallelism, CountAt(spec, "completions", parallelism));
}

}  // namespace

bool GroupFacts::SameWishes(const GroupFacts& other) const {
  return min == other.min && suspended == other.suspended && queue == other.queue &&
         topology == other.topology && priority_class == other.priority_class &&
         priority == other.priority && preemptible == other.preemptible &&
         role_min == other.role_min && unsupported == other.unsupported && ignored == other.ignored;
}

Result<GroupFacts> DecodeJobGroup(std::string_view json) {
  TRY(const kube::Job job, kube::DecodeJob(json));
  GroupFacts group;
  group.meta = {job.meta.ns, job.meta.name, job.meta.uid, job.meta.resource_version};
  group.dialect = Dialect::kJob;
  group.suspended = job.suspend;
  ReadKueueLabels(job.meta, group);
  if (group.queue.empty()) return group;
  const int64_t parallelism = job.parallelism.value_or(1);
  const int64_t all = std::min(parallelism, job.completions.value_or(parallelism));
  group.min = static_cast<int>(std::clamp<int64_t>(all, 0, 1'000'000));
  return group;
}

Result<GroupFacts> DecodeJobSetGroup(std::string_view json) {
  TRY(GroupObject object, ObjectOf(json, Dialect::kJobSet));
  GroupFacts& group = object.facts;
  ReadKueueLabels(object.meta, group);
  if (group.queue.empty()) return group;
  int64_t all = 0;
  bool in_turn = TextAt(object.spec, "startupPolicy", "startupPolicyOrder") == "InOrder";
  for (const Json& job : kube::ListAt(object.spec, "replicatedJobs")) {
    if (!job.is_object()) continue;
    in_turn = in_turn || !kube::At(job, "dependsOn").empty();
    all += int64_t{CountAt(job, "replicas", 1)} * PodsOfJob(kube::At(job, "template", "spec"));
  }
  group.min = static_cast<int>(std::min<int64_t>(all, 1'000'000));
  if (in_turn)
    group.unsupported =
        "its Jobs are made one after another (startupPolicy InOrder or dependsOn), and a Kueue "
        "queue admits them together: that is not done";
  if (object.meta.Annotation("alpha.jobset.sigs.k8s.io/exclusive-topology") != nullptr)
    group.ignored.emplace_back("annotation alpha.jobset.sigs.k8s.io/exclusive-topology");
  return group;
}

Result<GroupFacts> DecodeVolcanoGroup(std::string_view json) {
  TRY(GroupObject object, ObjectOf(json, Dialect::kVolcano));
  GroupFacts& group = object.facts;
  const Json& spec = object.spec;
  group.min = CountAt(spec, "minMember", 1);
  group.queue = TextAt(spec, "queue");
  std::string tier = TextAt(spec, "networkTopology", "highestTierName");
  if (const int number = CountAt(kube::At(spec, "networkTopology"), "highestTierAllowed", 0);
      tier.empty() && number > 0)
    tier = fmt::format("tier-{}", number);
  (TextAt(spec, "networkTopology", "mode") == "soft" ? group.topology.preferred
                                                     : group.topology.required) = tier;
  const Json& roles = kube::ObjectAt(spec, "minTaskMember");
  for (const auto& [role, count] : roles.items()) {
    if (count.is_number_integer()) group.role_min[role] = CountAt(roles, role, 0);
  }
  // minResources: what the pods ask for is counted, pod by pod.
  IgnoreRest(object, {"minMember", "minTaskMember", "minResources", "queue", "priorityClassName",
                      "networkTopology"});
  return group;
}

Result<GroupFacts> DecodeCoschedulingGroup(std::string_view json) {
  TRY(GroupObject object, ObjectOf(json, Dialect::kCoscheduling));
  object.facts.min = CountAt(object.spec, "minMember", 1);
  // scheduleTimeoutSeconds: how long a half of the gang may hold room. No half ever does.
  IgnoreRest(object, {"minMember", "minResources", "scheduleTimeoutSeconds", "priorityClassName"});
  return object.facts;
}

Result<GroupFacts> DecodeKaiGroup(std::string_view json) {
  TRY(GroupObject object, ObjectOf(json, Dialect::kKai));
  GroupFacts& group = object.facts;
  group.min = CountAt(object.spec, "minMember", 1);
  group.queue = TextAt(object.spec, "queue");
  group.topology.required = TextAt(object.spec, "topologyConstraint", "requiredTopologyLevel");
  group.topology.preferred = TextAt(object.spec, "topologyConstraint", "preferredTopologyLevel");
  group.preemptible = TextAt(object.spec, "preemptibility") != "non-preemptible";
  IgnoreRest(object,
             {"minMember", "queue", "priorityClassName", "topologyConstraint", "preemptibility"});
  return group;
}

Result<GroupFacts> DecodeNativeGroup(std::string_view json) {
  TRY(GroupObject object, ObjectOf(json, Dialect::kNative));
  GroupFacts& group = object.facts;
  group.min = CountAt(kube::At(object.spec, "schedulingPolicy", "gang"), "minCount", 0);
  const Json& levels = kube::ListAt(object.spec, "schedulingConstraints", "topology");
  if (!levels.empty()) group.topology.required = TextAt(levels.front(), "key");
  if (const Json& said = kube::At(object.spec, "priority"); said.is_number_integer())
    group.priority =
        static_cast<int>(std::clamp<int64_t>(said.get<int64_t>(), INT32_MIN, INT32_MAX));
  // Gangs leave whole, which is disruptionMode "all".
  if (kube::ObjectAt(object.spec, "disruptionMode").contains("single"))
    group.ignored.emplace_back("spec.disruptionMode single");
  IgnoreRest(object, {"schedulingPolicy", "schedulingConstraints", "priorityClassName", "priority",
                      "workloadRef", "podGroupTemplateRef", "disruptionMode"});
  return group;
}

}  // namespace muster::kubesched
