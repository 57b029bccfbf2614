#include "backend/kubernetes/sched/facts.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/kubernetes/kueue/facts.h"
#include "base/strings.h"
#include "kube/json.h"
#include "kube/object.h"

namespace muster::kubesched {

namespace {

using kube::Json;

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
  take(Dialect::kJobSet, meta.Label("jobset.sigs.k8s.io/jobset-name"));
  if (facts.dialect == Dialect::kMuster) {
    facts.group_size = Count(meta.Label("muster.dev/gang-size"));
    if (facts.group_size == 0) facts.group_size = Count(meta.Annotation("muster.dev/gang-size"));
  }
  if (facts.dialect == Dialect::kVolcano)
    facts.group_size = Count(meta.Annotation("scheduling.volcano.sh/group-min-member"));
  if (facts.dialect == Dialect::kKueue)
    facts.group_size = Count(meta.Annotation("kueue.x-k8s.io/pod-group-total-count"));
}

void ReadQueue(const kube::Meta& meta, PodFacts& facts) {
  const auto take = [&](Dialect of, const std::string* name) {
    if (name != nullptr && !name->empty()) facts.queue = *name, facts.queue_of = of;
  };
  take(Dialect::kVolcano, meta.Annotation("scheduling.volcano.sh/queue-name"));
  take(Dialect::kKai, meta.Label("kai.scheduler/queue"));
  if (const std::string* queue = meta.Label(kueue::kQueueLabel))
    facts.queue = meta.ns + "/" + *queue, facts.queue_of = Dialect::kKueue;
  take(Dialect::kMuster, meta.Label("muster.dev/queue"));
  if (const std::string* name = meta.Label("kueue.x-k8s.io/priority-class"))
    facts.priority_class = "kueue/" + *name;
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
  if (!pod.workload.empty())
    return "spec.workloadRef, the gang API of Kubernetes 1.35, is not read; 1.36 and later are";
  if (pod.meta.Label("pod-group.scheduling.sigs.k8s.io") != nullptr ||
      pod.meta.Label("pod-group.scheduling.sigs.k8s.io/name") != nullptr)
    return "PodGroups of scheduling.sigs.k8s.io are not read; those of scheduling.x-k8s.io are";
  for (const char* share : {"gpu-fraction", "gpu-memory"}) {
    if (pod.meta.Annotation(share) != nullptr)
      return fmt::format("annotation {}: shares of a GPU are not placed on a cluster", share);
  }
  if (!pod.resource_claims_json.empty()) return "spec.resourceClaims is not modelled";
  if (!pod.volume_claims.empty()) return "volumes of PersistentVolumeClaims are not modelled";
  for (const kube::Container& container : pod.containers) {
    if (!container.host_ports.empty()) return "hostPort is not modelled";
  }
  return "";
}

// Controllers that make gangs of their pods only where they are told to.
bool MakesGroups(const std::string& kind) {
  return kind == "PyTorchJob" || kind == "MPIJob" || kind == "RayCluster" || kind == "TrainJob";
}

std::string IgnoredOf(const kube::Pod& pod, const PodFacts& facts) {
  std::string all;
  const auto add = [&](const std::string& text) { all += (all.empty() ? "" : "; ") + text; };
  if (pod.affinity_json.find("preferredDuringScheduling") != std::string::npos)
    add("spec.affinity: preferences");
  if (pod.spread_json.find("ScheduleAnyway") != std::string::npos)
    add("spec.topologySpreadConstraints: ScheduleAnyway");
  for (const char* key : {"kueue.x-k8s.io/podset-group-name",
                          "kueue.x-k8s.io/podset-slice-required-topology-constraints",
                          "volcano.sh/numa-topology-policy", "volcano.sh/sla-waiting-time"}) {
    if (pod.meta.Annotation(key) != nullptr) add(key);
  }
  for (const kube::Owner& owner : pod.meta.owners) {
    if (facts.dialect == Dialect::kNone && owner.controller && MakesGroups(owner.kind))
      add(fmt::format("{} {} names no pod group: its pods are placed one by one", owner.kind,
                      owner.name));
  }
  return all;
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
    case Dialect::kJobSet:
      return "jobset";
  }
  return "pod";
}

std::string GroupKey(Dialect dialect, const std::string& ns, const std::string& name) {
  return fmt::format("{}/{}@{}", ns, name, ToString(dialect));
}

TopologyWish TopologyOf(const kube::Meta& meta) {
  const auto first = [&](std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
      if (const std::string* found = meta.Annotation(key); found != nullptr && !found->empty())
        return *found;
    }
    return std::string();
  };
  TopologyWish wish;
  wish.required = first({"muster.dev/topology-required", "kueue.x-k8s.io/podset-required-topology",
                         "kai.scheduler/topology-required-placement"});
  wish.preferred =
      first({"muster.dev/topology-preferred", "kueue.x-k8s.io/podset-preferred-topology",
             "kai.scheduler/topology-preferred-placement"});
  wish.slice_size = Count(meta.Annotation("kueue.x-k8s.io/podset-slice-size"));
  if (wish.slice_size > 0)
    wish.slice_level = first({"kueue.x-k8s.io/podset-slice-required-topology"});
  if (wish.slice_level.empty()) wish.slice_size = 0;
  return wish;
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
  ReadQueue(pod.meta, facts);
  facts.topology = TopologyOf(pod.meta);
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
  facts.ignored = IgnoredOf(pod, facts);
  return PodSeen(std::move(facts));
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
  return NodeSeen(std::move(facts));
}

}  // namespace muster::kubesched
