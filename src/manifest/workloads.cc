#include "manifest/workloads.h"

#include <algorithm>

#include "manifest/quantity.h"

namespace muster {

namespace {

const std::vector<YamlNode>& ItemsOf(const YamlNode& node) { return node.items; }

constexpr int64_t kMostPods = 1'000'000;  // a count beyond this is a slip, and would overflow sums

PodSet MakeSet(std::string role, const YamlNode& at, const YamlNode& count_at, int64_t otherwise,
               const YamlNode& pod_template) {
  PodSet set;
  set.role = std::move(role);
  set.at = &at;
  set.count_at = &count_at;
  set.count = std::clamp<int64_t>(IntOf(count_at, otherwise), 0, kMostPods);
  set.min = set.count;
  set.pod_template = &pod_template;
  set.pod = &Key(pod_template, "spec");
  return set;
}

int64_t JobPods(const YamlNode& spec) {
  const int64_t parallelism = IntOf(Key(spec, "parallelism"), 1);
  const int64_t completions = IntOf(Key(spec, "completions"), parallelism);
  return std::clamp<int64_t>(std::min(parallelism, completions), 0, kMostPods);
}

void AddJob(const YamlNode& spec, std::string role, int64_t times, Workload& into) {
  const bool says = !Key(spec, "parallelism").IsNull();
  PodSet set = MakeSet(std::move(role), spec, Key(spec, says ? "parallelism" : "completions"), 1,
                       Key(spec, "template"));
  set.count = set.min = std::clamp<int64_t>(JobPods(spec) * times, 0, kMostPods);
  into.sets.push_back(std::move(set));
}

void AddRay(const YamlNode& cluster, Workload& into) {
  const YamlNode& head = Key(cluster, "headGroupSpec");
  if (!head.IsNull())
    into.sets.push_back(MakeSet("head", head, NullNode(), 1, Key(head, "template")));
  for (const YamlNode& group : ItemsOf(Key(cluster, "workerGroupSpecs"))) {
    PodSet set = MakeSet(TextOf(Key(group, "groupName")), group, Key(group, "replicas"), 1,
                         Key(group, "template"));
    const int64_t hosts = std::clamp<int64_t>(IntOf(Key(group, "numOfHosts"), 1), 1, 4096);
    set.min = std::clamp<int64_t>(IntOf(Key(group, "minReplicas"), set.count), 0, set.count);
    set.min = std::min(set.min * hosts, kMostPods);
    set.count = std::min(set.count * hosts, kMostPods);
    into.sets.push_back(std::move(set));
  }
}

void AddVolcano(const YamlNode& spec, Workload& into) {
  int64_t all = 0;
  for (const YamlNode& task : ItemsOf(Key(spec, "tasks"))) {
    PodSet set =
        MakeSet(TextOf(Key(task, "name")), task, Key(task, "replicas"), 1, Key(task, "template"));
    set.min = std::clamp<int64_t>(IntOf(Key(task, "minAvailable"), set.count), 0, set.count);
    all += set.count;
    into.sets.push_back(std::move(set));
  }
  // The job may start with fewer than all: then no task's own count binds unless it says so.
  const int64_t least = IntOf(Key(spec, "minAvailable"), all);
  if (least >= all) return;
  for (PodSet& set : into.sets) {
    if (Key(*set.at, "minAvailable").IsNull()) set.min = 0;
  }
}

}  // namespace

const std::vector<YamlNode>& PodSet::Containers() const { return Key(*pod, "containers").items; }
const std::vector<YamlNode>& PodSet::InitContainers() const {
  return Key(*pod, "initContainers").items;
}

int64_t Workload::PodCount() const {
  int64_t n = 0;
  for (const PodSet& set : sets) n += set.count;
  return n;
}

bool Workload::IsGang() const {
  if (doc->kind == ManifestKind::kDeployment || doc->kind == ManifestKind::kStatefulSet)
    return false;
  if (doc->kind == ManifestKind::kPod) return false;
  if (doc->kind == ManifestKind::kJob)
    return PodCount() > 1 && TextOf(At(doc->root, "spec.completionMode")) == "Indexed";
  return PodCount() > 1;
}

std::optional<Workload> WorkloadOf(const Document& doc) {
  Workload w;
  w.doc = &doc;
  const YamlNode& spec = doc.spec();
  switch (doc.kind) {
    case ManifestKind::kPod:
      w.sets.push_back(MakeSet("", doc.root, NullNode(), 1, doc.root));
      break;
    case ManifestKind::kJob:
      AddJob(spec, "", 1, w);
      break;
    case ManifestKind::kDeployment:
    case ManifestKind::kStatefulSet:
      w.sets.push_back(MakeSet("", spec, Key(spec, "replicas"), 1, Key(spec, "template")));
      break;
    case ManifestKind::kVolcanoJob:
      AddVolcano(spec, w);
      break;
    case ManifestKind::kJobSet:
      for (const YamlNode& job : ItemsOf(Key(spec, "replicatedJobs"))) {
        AddJob(At(job, "template.spec"), TextOf(Key(job, "name")),
               std::clamp<int64_t>(IntOf(Key(job, "replicas"), 1), 0, kMostPods), w);
      }
      break;
    case ManifestKind::kMpiJob:
    case ManifestKind::kPytorchJob:
      for (const YamlEntry& role :
           Key(spec, doc.kind == ManifestKind::kMpiJob ? "mpiReplicaSpecs" : "pytorchReplicaSpecs")
               .entries) {
        w.sets.push_back(MakeSet(role.key, role.value, Key(role.value, "replicas"), 1,
                                 Key(role.value, "template")));
      }
      break;
    case ManifestKind::kTrainJob: {
      const YamlNode& trainer = Key(spec, "trainer");
      PodSet set = MakeSet("node", trainer, Key(trainer, "numNodes"), 1, NullNode());
      set.pod = &trainer;
      w.sets.push_back(std::move(set));
      break;
    }
    case ManifestKind::kRayCluster:
      AddRay(spec, w);
      break;
    case ManifestKind::kRayJob:
      AddRay(Key(spec, "rayClusterSpec"), w);
      break;
    case ManifestKind::kKueueWorkload:
      for (const YamlNode& pods : ItemsOf(Key(spec, "podSets"))) {
        PodSet set =
            MakeSet(TextOf(Key(pods, "name")), pods, Key(pods, "count"), 1, Key(pods, "template"));
        set.min = std::clamp<int64_t>(IntOf(Key(pods, "minCount"), set.count), 0, set.count);
        w.sets.push_back(std::move(set));
      }
      break;
    default:
      return std::nullopt;
  }
  return w;
}

std::string QueueOf(const Document& doc) {
  if (doc.kind == ManifestKind::kVolcanoJob || doc.kind == ManifestKind::kVolcanoPodGroup ||
      doc.kind == ManifestKind::kKaiPodGroup) {
    return TextOf(At(doc.root, "spec.queue"));
  }
  if (doc.kind == ManifestKind::kKueueWorkload) return TextOf(At(doc.root, "spec.queueName"));
  for (const std::string_view key : {"kueue.x-k8s.io/queue-name", "kai.scheduler/queue"}) {
    if (const std::string& queue = TextOf(Label(doc.root, key)); !queue.empty()) return queue;
  }
  return "";
}

// ---- amounts ----

namespace {

void AddAmounts(const YamlNode& resources, Resources& into, const BadAmount& bad) {
  const YamlNode& requests = Key(resources, "requests");
  const auto add = [&](const YamlEntry& entry) {
    const auto amount = ParseResourceAmount(entry.key, TextOf(entry.value));
    if (!amount.ok() || *amount < 0) {
      if (bad) {
        bad(entry.value,
            entry.key + ": " +
                (amount.ok() ? "expected no negative amount" : amount.error().message));
      }
    } else if (__builtin_add_overflow(into[entry.key], *amount, &into[entry.key])) {
      into[entry.key] = INT64_MAX;
    }
  };
  for (const YamlEntry& entry : requests.entries) add(entry);
  for (const YamlEntry& entry : Key(resources, "limits").entries) {
    if (requests.Find(entry.key) == nullptr) add(entry);
  }
}

void TakeLarger(const Resources& other, Resources& into) {
  for (const auto& [name, amount] : other) into[name] = std::max(into[name], amount);
}

}  // namespace

Resources PodShape(const PodSet& set, const BadAmount& bad) {
  Resources sum;
  if (set.pod_template->IsNull() && !Key(*set.pod, "resourcesPerNode").IsNull()) {
    AddAmounts(Key(*set.pod, "resourcesPerNode"), sum, bad);
    return sum;
  }
  for (const YamlNode& c : set.Containers()) AddAmounts(Key(c, "resources"), sum, bad);
  Resources largest_init;
  for (const YamlNode& c : set.InitContainers()) {
    if (TextOf(Key(c, "restartPolicy")) == "Always") {  // a sidecar runs beside all the rest
      AddAmounts(Key(c, "resources"), sum, bad);
      continue;
    }
    Resources one;
    AddAmounts(Key(c, "resources"), one, bad);
    TakeLarger(one, largest_init);
  }
  TakeLarger(largest_init, sum);
  YamlNode overhead;
  overhead.kind = YamlNode::Kind::kMapping;
  if (const YamlNode& asked = Key(*set.pod, "overhead"); !asked.IsNull()) {
    overhead.entries.push_back({"requests", asked.at, asked});
    AddAmounts(overhead, sum, bad);
  }
  return sum;
}

std::optional<int64_t> ContainerAmount(const YamlNode& container, std::string_view field,
                                       std::string_view resource) {
  const YamlNode& node = Key(Key(Key(container, "resources"), field), resource);
  if (node.kind != YamlNode::Kind::kScalar) return std::nullopt;
  const auto amount = ParseResourceAmount(resource, node.text);
  return amount.ok() ? std::optional(*amount) : std::nullopt;
}

int64_t ContainerGpus(const YamlNode& container) {
  const YamlNode& resources = Key(container, "resources");
  int64_t most = 0;
  for (const char* field : {"limits", "requests"}) {
    int64_t sum = 0;
    for (const YamlEntry& entry : Key(resources, field).entries) {
      if (!IsWholeGpuResource(entry.key)) continue;
      sum += std::clamp<int64_t>(ContainerAmount(container, field, entry.key).value_or(0), 0,
                                 kMostPods);
    }
    most = std::max(most, sum);
  }
  return most;
}

int64_t PodGpus(const PodSet& set) {
  if (set.pod_template->IsNull()) {
    int64_t most = 0;
    for (const auto& [name, amount] : PodShape(set, {})) {
      if (IsWholeGpuResource(name)) most += std::min(amount, kMostPods);
    }
    return most;
  }
  int64_t sum = 0;
  for (const YamlNode& c : set.Containers()) sum += ContainerGpus(c);
  return sum;
}

}  // namespace muster
