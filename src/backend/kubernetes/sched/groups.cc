// The objects of groups, of every dialect, as one kind of facts. A field that is not acted on is
// named in `ignored`, so that whoever asked for it is told.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backend/kubernetes/sched/facts.h"
#include "base/strings.h"
#include "kube/object.h"

namespace muster::kubesched {

namespace {

using GroupJson = nlohmann::json;

struct GroupObject {
  GroupFacts facts;
  kube::Meta meta;
  GroupJson spec;
};

std::string WordAt(const GroupJson& object, const char* pointer) {
  const GroupJson::json_pointer at(pointer);
  return object.contains(at) && object[at].is_string() ? object[at].get<std::string>() : "";
}
int NumberAt(const GroupJson& object, const char* pointer, int otherwise) {
  const GroupJson::json_pointer at(pointer);
  if (!object.contains(at) || !object[at].is_number_integer()) return otherwise;
  return static_cast<int>(std::clamp<int64_t>(object[at].get<int64_t>(), 0, 1'000'000));
}

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
  const GroupJson whole = GroupJson::parse(json, nullptr, false);
  group.spec = GroupJson::object();
  if (whole.is_object() && whole.contains("spec") && whole["spec"].is_object())
    group.spec = whole["spec"];
  group.meta = std::move(object.meta);
  group.facts.priority_class = WordAt(group.spec, "/priorityClassName");
  return group;
}

// What a label of Kueue on a Job or a JobSet says: its queue, its class, and more that is not done.
void ReadKueueLabels(const kube::Meta& meta, GroupFacts& facts) {
  const std::string* queue = meta.Label("kueue.x-k8s.io/queue-name");
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

int PodsOfJob(const GroupJson& spec) {
  const int parallelism = NumberAt(spec, "/parallelism", 1);
  return std::min(parallelism, NumberAt(spec, "/completions", parallelism));
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
  const GroupJson jobs = object.spec.value("replicatedJobs", GroupJson::array());
  int64_t all = 0;
  bool in_turn = WordAt(object.spec, "/startupPolicy/startupPolicyOrder") == "InOrder";
  for (const GroupJson& job : jobs) {
    if (!job.is_object()) continue;
    in_turn = in_turn || (job.contains("dependsOn") && !job["dependsOn"].empty());
    const GroupJson::json_pointer at("/template/spec");
    all += int64_t{NumberAt(job, "/replicas", 1)} *
           PodsOfJob(job.contains(at) ? job[at] : GroupJson::object());
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
  const GroupJson& spec = object.spec;
  group.min = NumberAt(spec, "/minMember", 1);
  group.queue = WordAt(spec, "/queue");
  std::string tier = WordAt(spec, "/networkTopology/highestTierName");
  if (const int number = NumberAt(spec, "/networkTopology/highestTierAllowed", 0);
      tier.empty() && number > 0)
    tier = fmt::format("tier-{}", number);
  (WordAt(spec, "/networkTopology/mode") == "soft" ? group.topology.preferred
                                                   : group.topology.required) = tier;
  if (const auto roles = spec.find("minTaskMember"); roles != spec.end() && roles->is_object()) {
    for (const auto& [role, count] : roles->items()) {
      if (count.is_number_integer())
        group.role_min[role] =
            static_cast<int>(std::clamp<int64_t>(count.get<int64_t>(), 0, 1'000'000));
    }
  }
  // minResources: what the pods ask for is counted, pod by pod.
  IgnoreRest(object, {"minMember", "minTaskMember", "minResources", "queue", "priorityClassName",
                      "networkTopology"});
  return group;
}

Result<GroupFacts> DecodeCoschedulingGroup(std::string_view json) {
  TRY(GroupObject object, ObjectOf(json, Dialect::kCoscheduling));
  object.facts.min = NumberAt(object.spec, "/minMember", 1);
  // scheduleTimeoutSeconds: how long a half of the gang may hold room. No half ever does.
  IgnoreRest(object, {"minMember", "minResources", "scheduleTimeoutSeconds", "priorityClassName"});
  return object.facts;
}

Result<GroupFacts> DecodeKaiGroup(std::string_view json) {
  TRY(GroupObject object, ObjectOf(json, Dialect::kKai));
  GroupFacts& group = object.facts;
  group.min = NumberAt(object.spec, "/minMember", 1);
  group.queue = WordAt(object.spec, "/queue");
  group.topology.required = WordAt(object.spec, "/topologyConstraint/requiredTopologyLevel");
  group.topology.preferred = WordAt(object.spec, "/topologyConstraint/preferredTopologyLevel");
  group.preemptible = WordAt(object.spec, "/preemptibility") != "non-preemptible";
  IgnoreRest(object,
             {"minMember", "queue", "priorityClassName", "topologyConstraint", "preemptibility"});
  return group;
}

Result<GroupFacts> DecodeNativeGroup(std::string_view json) {
  TRY(GroupObject object, ObjectOf(json, Dialect::kNative));
  GroupFacts& group = object.facts;
  group.min = NumberAt(object.spec, "/schedulingPolicy/gang/minCount", 0);
  group.topology.required = WordAt(object.spec, "/schedulingConstraints/topology/0/key");
  if (const auto said = object.spec.find("priority");
      said != object.spec.end() && said->is_number_integer())
    group.priority =
        static_cast<int>(std::clamp<int64_t>(said->get<int64_t>(), INT32_MIN, INT32_MAX));
  // Gangs leave whole, which is disruptionMode "all".
  if (object.spec.contains(GroupJson::json_pointer("/disruptionMode/single")))
    group.ignored.emplace_back("spec.disruptionMode single");
  IgnoreRest(object, {"schedulingPolicy", "schedulingConstraints", "priorityClassName", "priority",
                      "workloadRef", "podGroupTemplateRef", "disruptionMode"});
  return group;
}

}  // namespace muster::kubesched
