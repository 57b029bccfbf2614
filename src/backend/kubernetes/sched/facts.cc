#include "backend/kubernetes/sched/facts.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "kube/object.h"

namespace muster::kubesched {

namespace {

using Json = nlohmann::json;

Identity IdentityOf(const kube::Meta& meta) {
  return {meta.ns, meta.name, meta.uid, meta.resource_version};
}

// cpu in milli-CPU, everything else whole, rounded up.
Resources ToResources(const kube::Amounts& amounts) {
  Resources resources;
  for (const auto& [name, milli] : amounts) {
    const int64_t amount = name == "cpu" ? milli : milli / 1000 + (milli % 1000 > 0 ? 1 : 0);
    if (amount > 0) resources[std::string(name)] = amount;
  }
  return resources;
}

int Count(const std::string* text) {
  if (text == nullptr) return 0;
  const auto value = ParseInt(*text);
  return value.ok() && *value > 0 && *value <= 1'000'000 ? static_cast<int>(*value) : 0;
}

void ReadMembership(const kube::Pod& pod, PodFacts& facts) {
  const kube::Meta& meta = pod.meta;
  const auto take = [&](Dialect dialect, const std::string* name) {
    if (facts.dialect != Dialect::kNone || name == nullptr || name->empty()) return;
    facts.dialect = dialect;
    facts.group = *name;
  };
  take(Dialect::kMuster, meta.Label("muster.dev/gang"));
  take(Dialect::kVolcano, meta.Annotation("scheduling.volcano.sh/group-name"));
  take(Dialect::kVolcano, meta.Annotation("scheduling.k8s.io/group-name"));
  take(Dialect::kCoscheduling, meta.Label("scheduling.x-k8s.io/pod-group"));
  take(Dialect::kKai, meta.Annotation("pod-group-name"));
  take(Dialect::kNative, &pod.pod_group);
  take(Dialect::kKueue, meta.Label("kueue.x-k8s.io/pod-group-name"));
  if (facts.dialect == Dialect::kMuster) {
    facts.group_size = Count(meta.Label("muster.dev/gang-size"));
    if (facts.group_size == 0) facts.group_size = Count(meta.Annotation("muster.dev/gang-size"));
  }
  if (facts.dialect == Dialect::kKueue)
    facts.group_size = Count(meta.Annotation("kueue.x-k8s.io/pod-group-total-count"));
}

void ReadWishes(const kube::Meta& meta, PodFacts& facts) {
  const auto text = [&](const char* key) {
    const std::string* found = meta.Annotation(key);
    return found == nullptr ? std::string() : *found;
  };
  facts.topology.required = text("muster.dev/topology-required");
  facts.topology.preferred = text("muster.dev/topology-preferred");
  if (facts.topology.required.empty())
    facts.topology.required = text("kueue.x-k8s.io/podset-required-topology");
  if (facts.topology.preferred.empty())
    facts.topology.preferred = text("kueue.x-k8s.io/podset-preferred-topology");
  if (const std::string* queue = meta.Label("kueue.x-k8s.io/queue-name"))
    facts.queue = meta.ns + "/" + *queue;
  if (const std::string* queue = meta.Label("muster.dev/queue")) facts.queue = *queue;
}

// Rules about where it may run that Muster would break if it placed the pod.
std::string UnsupportedOf(const kube::Pod& pod) {
  if (!pod.affinity_json.empty()) {
    const Json affinity = Json::parse(pod.affinity_json, nullptr, false);
    for (const char* kind : {"nodeAffinity", "podAffinity", "podAntiAffinity"}) {
      if (!affinity.is_object() || !affinity.contains(kind)) continue;
      const Json& rules = affinity[kind];
      if (rules.is_object() && rules.contains("requiredDuringSchedulingIgnoredDuringExecution"))
        return fmt::format("spec.affinity.{} is required and is not modelled", kind);
    }
  }
  if (pod.spread_json.find("DoNotSchedule") != std::string::npos)
    return "spec.topologySpreadConstraints with DoNotSchedule is not modelled";
  if (!pod.resource_claims_json.empty()) return "spec.resourceClaims is not modelled";
  if (!pod.volume_claims.empty()) return "volumes of PersistentVolumeClaims are not modelled";
  for (const kube::Container& container : pod.containers) {
    if (!container.host_ports.empty()) return "hostPort is not modelled";
  }
  return "";
}

std::vector<sched::NumaZoneSpec> ReadZones(const std::string* text) {
  std::vector<sched::NumaZoneSpec> zones;
  if (text == nullptr) return zones;
  const Json list = Json::parse(*text, nullptr, false);
  if (!list.is_array() || list.size() > 8) return zones;
  try {
    for (const Json& one : list) {
      sched::NumaZoneSpec zone;
      zone.amounts = one.value("amounts", Resources{});
      zone.devices = one.value("devices", std::map<std::string, std::vector<int>>{});
      for (const auto& [name, ids] : zone.devices) {
        if (std::any_of(ids.begin(), ids.end(), [](int id) { return id < 0 || id > 63; }))
          return {};
      }
      zones.push_back(std::move(zone));
    }
  } catch (const Json::exception&) {
    return {};
  }
  return zones;
}

int IntAt(std::string_view json, const char* pointer, int otherwise) {
  const auto text = kube::ValueAt(json, pointer);
  if (!text) return otherwise;
  const auto value = ParseInt(*text);
  return value.ok() ? static_cast<int>(std::clamp<int64_t>(*value, 0, 1'000'000)) : otherwise;
}
std::string TextAt(std::string_view json, const char* pointer) {
  return kube::ValueAt(json, pointer).value_or("");
}

Result<GroupFacts> GroupOf(std::string_view json, Dialect dialect) {
  TRY(const kube::Object object, kube::DecodeObject(json));
  GroupFacts group;
  group.meta = IdentityOf(object.meta);
  group.dialect = dialect;
  return group;
}

}  // namespace

std::string_view ToString(Dialect dialect) {
  switch (dialect) {
    case Dialect::kNone:
      return "pod";
    case Dialect::kMuster:
      return "muster";
    case Dialect::kVolcano:
      return "volcano";
    case Dialect::kCoscheduling:
      return "coscheduling";
    case Dialect::kKai:
      return "kai";
    case Dialect::kNative:
      return "native";
    case Dialect::kKueue:
      return "kueue";
    case Dialect::kJob:
      return "job";
  }
  return "pod";
}

std::string GroupKey(Dialect dialect, const std::string& ns, const std::string& name) {
  return fmt::format("{}/{}@{}", ns, name, ToString(dialect));
}

Result<PodSeen> DecodePodSeen(std::string_view json) {
  TRY(const kube::Pod pod, kube::DecodePod(json));
  PodFacts facts;
  facts.id = IdentityOf(pod.meta);
  facts.node = pod.node_name;
  facts.scheduler = pod.scheduler_name;
  facts.done = pod.Finished();
  facts.failed = pod.phase == "Failed";
  if (facts.failed && (pod.reason == "TopologyAffinityError" ||
                       pod.reason == "UnexpectedAdmissionError" || pod.reason.starts_with("OutOf")))
    facts.refusal = pod.reason;
  facts.leaving = pod.meta.deleted.has_value();
  facts.gated = !pod.scheduling_gates.empty();
  facts.created = pod.meta.created.value_or(TimePoint{});
  facts.priority = pod.priority;
  for (const kube::Owner& owner : pod.meta.owners) {
    if (!owner.controller) continue;
    facts.controlled = true;
    facts.owner_uid = owner.uid;
    if (owner.kind == "Job" && owner.api_version == "batch/v1") facts.owner_job = owner.name;
  }
  ReadMembership(pod, facts);
  ReadWishes(pod.meta, facts);
  facts.index = -1;
  if (const std::string* index = pod.meta.Annotation("batch.kubernetes.io/job-completion-index")) {
    const auto value = ParseInt(*index);
    if (value.ok() && *value >= 0 && *value <= 1'000'000) facts.index = static_cast<int>(*value);
  }
  for (const char* key : {"volcano.sh/task-spec", "muster.dev/role"}) {
    if (const std::string* role = pod.meta.Label(key)) facts.role = *role;
    if (const std::string* role = pod.meta.Annotation(key)) facts.role = *role;
  }
  facts.shape = ToResources(pod.Requests());
  facts.shape["pods"] = 1;
  facts.select = {pod.node_selector.begin(), pod.node_selector.end()};
  for (const kube::Toleration& t : pod.tolerations)
    facts.tolerate.push_back({t.key, t.op, t.value, t.effect});
  facts.unsupported = UnsupportedOf(pod);
  PodSeen seen{facts.id, nullptr};
  seen.facts = std::make_shared<const PodFacts>(std::move(facts));
  return seen;
}

Result<NodeSeen> DecodeNodeSeen(std::string_view json) {
  TRY(const kube::Node node, kube::DecodeNode(json));
  NodeFacts facts;
  facts.id = IdentityOf(node.meta);
  facts.usable = node.Ready() && !node.unschedulable;
  facts.spec.name = node.meta.name;
  facts.spec.labels = {node.meta.labels.begin(), node.meta.labels.end()};
  for (const kube::Taint& taint : node.taints) {
    // Said by `usable` already; they come and go with it.
    if (taint.key == "node.kubernetes.io/unschedulable" ||
        taint.key == "node.kubernetes.io/not-ready" ||
        taint.key == "node.kubernetes.io/unreachable")
      continue;
    facts.spec.taints.push_back({taint.key, taint.value, taint.effect});
  }
  facts.spec.capacity = ToResources(node.allocatable);
  const auto word = [&](const char* key, std::string& into) {
    if (const std::string* text = node.meta.Annotation(key)) into = *text;
  };
  facts.spec.numa = ReadZones(node.meta.Annotation("muster.dev/numa-zones"));
  if (!facts.spec.numa.empty()) {
    word("muster.dev/topology-manager-policy", facts.spec.topology_manager.policy);
    word("muster.dev/topology-manager-scope", facts.spec.topology_manager.scope);
    word("muster.dev/cpu-manager-policy", facts.spec.topology_manager.cpu_manager);
  }
  NodeSeen seen{facts.id, nullptr};
  seen.facts = std::make_shared<const NodeFacts>(std::move(facts));
  return seen;
}

Result<GroupFacts> DecodeJobGroup(std::string_view json) {
  TRY(const kube::Job job, kube::DecodeJob(json));
  GroupFacts group;
  group.meta = IdentityOf(job.meta);
  group.dialect = Dialect::kJob;
  if (const std::string* queue = job.meta.Label("kueue.x-k8s.io/queue-name")) {
    group.queue = job.meta.ns + "/" + *queue;
    const int64_t parallelism = job.parallelism.value_or(1);
    const int64_t all = std::min(parallelism, job.completions.value_or(parallelism));
    group.min = static_cast<int>(std::clamp<int64_t>(all, 0, 1'000'000));
  }
  return group;
}

Result<GroupFacts> DecodeVolcanoGroup(std::string_view json) {
  TRY(GroupFacts group, GroupOf(json, Dialect::kVolcano));
  group.min = IntAt(json, "/spec/minMember", 1);
  group.queue = TextAt(json, "/spec/queue");
  const std::string tier = TextAt(json, "/spec/networkTopology/highestTierName");
  (TextAt(json, "/spec/networkTopology/mode") == "soft" ? group.topology.preferred
                                                        : group.topology.required) = tier;
  return group;
}

Result<GroupFacts> DecodeCoschedulingGroup(std::string_view json) {
  TRY(GroupFacts group, GroupOf(json, Dialect::kCoscheduling));
  group.min = IntAt(json, "/spec/minMember", 1);
  return group;
}

Result<GroupFacts> DecodeKaiGroup(std::string_view json) {
  TRY(GroupFacts group, GroupOf(json, Dialect::kKai));
  group.min = IntAt(json, "/spec/minMember", 1);
  group.queue = TextAt(json, "/spec/queue");
  group.topology.required = TextAt(json, "/spec/topologyConstraint/requiredTopologyLevel");
  group.topology.preferred = TextAt(json, "/spec/topologyConstraint/preferredTopologyLevel");
  return group;
}

Result<GroupFacts> DecodeNativeGroup(std::string_view json) {
  TRY(GroupFacts group, GroupOf(json, Dialect::kNative));
  group.min = IntAt(json, "/spec/schedulingPolicy/gang/minCount", 0);
  group.topology.required = TextAt(json, "/spec/schedulingConstraints/topology/0/key");
  return group;
}

}  // namespace muster::kubesched
