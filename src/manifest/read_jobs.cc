// Jobs of every dialect as one model.
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "manifest/gangs_internal.h"

namespace muster::manifest {

namespace {

constexpr int64_t kMostSeconds = 1'000'000'000;

std::optional<int64_t> MillisecondsOf(const YamlNode& seconds) {
  if (seconds.IsNull()) return std::nullopt;
  const int64_t s = IntOf(seconds, -1);
  if (s < 0 || s > kMostSeconds) return std::nullopt;
  return s * 1000;
}

std::vector<Toleration> TolerationsOf(const YamlNode& pod) {
  std::vector<Toleration> all;
  for (const YamlNode& t : Key(pod, "tolerations").items) {
    all.push_back({TextOf(Key(t, "key")), TextOf(Key(t, "operator")), TextOf(Key(t, "value")),
                   TextOf(Key(t, "effect"))});
  }
  return all;
}

// What of a pod's spec has a part in placing it, or none at all; the rest is noted.
void NotePod(const Document& doc, const PodSet& set, GangReader& reader) {
  if (set.pod_template->IsNull()) return;
  reader.NoteRest(doc, *set.pod, set.role.empty() ? "template.spec" : set.role + ": template.spec",
                  {"containers",
                   "initContainers",
                   "ephemeralContainers",
                   "volumes",
                   "restartPolicy",
                   "terminationGracePeriodSeconds",
                   "dnsPolicy",
                   "dnsConfig",
                   "nodeSelector",
                   "serviceAccountName",
                   "serviceAccount",
                   "automountServiceAccountToken",
                   "hostNetwork",
                   "hostPID",
                   "hostIPC",
                   "shareProcessNamespace",
                   "securityContext",
                   "imagePullSecrets",
                   "hostname",
                   "subdomain",
                   "schedulerName",
                   "tolerations",
                   "hostAliases",
                   "priorityClassName",
                   "enableServiceLinks",
                   "overhead",
                   "setHostnameAsFQDN",
                   "os",
                   "hostUsers",
                   "schedulingGroup"});
}

void ReadTopology(const Document& doc, const YamlNode& object, TopologyWish& wish,
                  GangReader& reader) {
  const auto text = [&](const char* key) { return TextOf(Annotation(object, key)); };
  if (auto t = text("kueue.x-k8s.io/podset-required-topology"); !t.empty()) wish.required = t;
  if (auto t = text("kueue.x-k8s.io/podset-preferred-topology"); !t.empty()) wish.preferred = t;
  if (auto t = text("kai.scheduler/topology-required-placement"); !t.empty()) wish.required = t;
  if (auto t = text("kai.scheduler/topology-preferred-placement"); !t.empty()) wish.preferred = t;
  if (auto t = text("kueue.x-k8s.io/podset-slice-required-topology"); !t.empty())
    wish.slice_level = t;
  if (const YamlNode& size = Annotation(object, "kueue.x-k8s.io/podset-slice-size"); !size.IsNull())
    wish.slice_size = static_cast<int>(std::clamp<int64_t>(IntOf(size, 0), 0, 1'000'000));
  if (auto t = text("alpha.jobset.sigs.k8s.io/exclusive-topology"); !t.empty()) {
    wish.required = t;
    reader.Note(doc, Annotation(object, "alpha.jobset.sigs.k8s.io/exclusive-topology"),
                "exclusive-topology",
                "each job in one domain; that no other shares it is not kept");
  }
  for (const char* key :
       {"kueue.x-k8s.io/podset-group-name", "kueue.x-k8s.io/job-min-parallelism",
        "kueue.x-k8s.io/elastic-job", "kueue.x-k8s.io/podset-unconstrained-topology",
        "kueue.x-k8s.io/podset-slice-required-topology-constraints"}) {
    const YamlNode& asked = Annotation(object, key);
    if (!asked.IsNull()) reader.Note(doc, asked, key, "read, and not acted on");
  }
}

// Volcano: a mode and the highest tier that may be crossed.
void ReadTiers(const YamlNode& topology, TopologyWish& wish) {
  if (topology.IsNull()) return;
  std::string tier = TextOf(Key(topology, "highestTierName"));
  if (tier.empty() && !Key(topology, "highestTierAllowed").IsNull())
    tier = "tier-" + TextOf(Key(topology, "highestTierAllowed"));
  (TextOf(Key(topology, "mode")) == "soft" ? wish.preferred : wish.required) = tier;
}

void ReadPolicies(const YamlNode& list, const std::string& task, ReadJob& job) {
  for (const YamlNode& policy : list.items) {
    LifecyclePolicy one;
    one.task = task;
    one.action = TextOf(Key(policy, "action"));
    if (!Key(policy, "exitCode").IsNull()) one.exit_code = IntOf(Key(policy, "exitCode"), 0);
    one.timeout_ms = GoDurationMs(TextOf(Key(policy, "timeout")));
    std::vector<std::string> events;
    if (const std::string& event = TextOf(Key(policy, "event")); !event.empty())
      events.push_back(event);
    for (const YamlNode& event : Key(policy, "events").items) events.push_back(TextOf(event));
    if (events.empty()) events.emplace_back();
    for (std::string& event : events) {
      one.event = std::move(event);
      job.policies.push_back(one);
    }
  }
}

// Volcano's controllers do all of a Job; `muster sched serve --volcano-jobs`, in their place, less.
void NoteVolcanoControllers(const Document& doc, const ReadJob& job, GangReader& reader) {
  const auto note = [&](const YamlNode& at, std::string field) {
    if (!at.IsNull())
      reader.Note(doc, at, std::move(field),
                  "done by Volcano's controllers, not by `muster sched serve --volcano-jobs`");
  };
  const YamlNode& spec = doc.spec();
  note(Key(spec, "ttlSecondsAfterFinished"), "spec.ttlSecondsAfterFinished");
  note(Key(spec, "volumes"), "spec.volumes");
  for (const YamlEntry& plugin : Key(spec, "plugins").entries) {
    if (plugin.key != "pytorch" && plugin.key != "svc" && plugin.key != "env")
      note(plugin.value, "spec.plugins." + Printable(plugin.key));
  }
  for (const LifecyclePolicy& policy : job.policies) {
    const bool event = policy.event == "PodFailed" || policy.event == "PodEvicted" ||
                       policy.event == "TaskCompleted" || policy.event == "*";
    const bool action = policy.action == "RestartJob" || policy.action == "CompleteJob" ||
                        policy.action == "AbortJob" || policy.action == "TerminateJob";
    if (!event || !action || policy.exit_code || policy.timeout_ms)
      note(spec, fmt::format("{}policy {} on {}{}", policy.task.empty() ? "" : policy.task + ": ",
                             policy.action, policy.event.empty() ? "an exit code" : policy.event,
                             policy.timeout_ms ? " after a time-out" : ""));
  }
}

void ReadVolcano(const Workload& w, ReadJob& job, GangReader& reader) {
  const Document& doc = *w.doc;
  const YamlNode& spec = doc.spec();
  job.scheduler = TextOf(Key(spec, "schedulerName"));
  if (job.job.queue.empty()) job.job.queue = "default";
  job.job.priority = PriorityOf(doc, Key(spec, "priorityClassName"), false, reader);
  job.max_retry = IntOf(Key(spec, "maxRetry"), 3);
  if (!Key(spec, "minSuccess").IsNull()) job.min_success = IntOf(Key(spec, "minSuccess"), 0);
  job.job.duration_ms = GoDurationMs(TextOf(Key(spec, "runningEstimate")));
  ReadTiers(Key(spec, "networkTopology"), job.job.topology);
  ReadPolicies(Key(spec, "policies"), "", job);
  for (const YamlEntry& plugin : Key(spec, "plugins").entries) {
    auto& args = job.plugins[plugin.key];
    for (const YamlNode& arg : plugin.value.items) args.push_back(TextOf(arg));
  }
  const int64_t all = w.PodCount();
  const int64_t least = IntOf(Key(spec, "minAvailable"), all);
  if (least < all) {
    job.job.elastic_min = static_cast<int>(std::max<int64_t>(least, 0));
    job.job.elastic_max = static_cast<int>(all);
  }
  reader.NoteRest(doc, spec, "spec",
                  {"schedulerName", "minAvailable", "tasks", "policies", "plugins", "queue",
                   "maxRetry", "ttlSecondsAfterFinished", "priorityClassName", "minSuccess",
                   "runningEstimate", "networkTopology", "volumes"});
  for (const PodSet& set : w.sets) {
    ReadPolicies(Key(*set.at, "policies"), set.role, job);
    reader.NoteRest(doc, *set.at, "task " + set.role,
                    {"name", "replicas", "minAvailable", "template", "policies"});
  }
  NoteVolcanoControllers(doc, job, reader);
}

void ReadNativeJob(const Workload& w, ReadJob& job, GangReader& reader) {
  const YamlNode& spec = w.doc->spec();
  job.job.limit_ms = MillisecondsOf(Key(spec, "activeDeadlineSeconds"));
  if (!Key(spec, "backoffLimit").IsNull()) job.max_retry = IntOf(Key(spec, "backoffLimit"), 6);
  reader.NoteRest(*w.doc, spec, "spec",
                  {"parallelism", "completions", "completionMode", "template", "backoffLimit",
                   "activeDeadlineSeconds", "ttlSecondsAfterFinished", "suspend"});
}

void ReadJobSet(const Workload& w, ReadJob& job, GangReader& reader) {
  const YamlNode& spec = w.doc->spec();
  const YamlNode& failure = Key(spec, "failurePolicy");
  if (!failure.IsNull()) {
    job.max_retry = IntOf(Key(failure, "maxRestarts"), 0);
    job.policies.push_back({"", "PodFailed", std::nullopt, "RestartJob", std::nullopt});
    reader.NoteRest(*w.doc, failure, "spec.failurePolicy", {"maxRestarts"});
  }
  reader.NoteRest(
      *w.doc, spec, "spec",
      {"replicatedJobs", "failurePolicy", "network", "suspend", "ttlSecondsAfterFinished"});
}

// kubeflow.org: the common run policy, and the replicas' own restart policy.
void ReadKubeflow(const Workload& w, ReadJob& job, GangReader& reader) {
  const YamlNode& spec = w.doc->spec();
  const YamlNode& run = Key(spec, "runPolicy");
  job.job.limit_ms = MillisecondsOf(Key(run, "activeDeadlineSeconds"));
  if (!Key(run, "backoffLimit").IsNull()) job.max_retry = IntOf(Key(run, "backoffLimit"), 0);
  if (const YamlNode& ttl = Key(run, "ttlSecondsAfterFinished"); !ttl.IsNull())
    job.ttl_s = IntOf(ttl, 0);
  const YamlNode& scheduling = Key(run, "schedulingPolicy");
  if (const std::string& queue = TextOf(Key(scheduling, "queue")); !queue.empty())
    job.job.queue = queue, job.queue_kind = "volcano";
  if (job.job.priority == 0)
    job.job.priority = PriorityOf(*w.doc, Key(scheduling, "priorityClass"), false, reader);
  const int64_t all = w.PodCount(), least = IntOf(Key(scheduling, "minAvailable"), all);
  if (least < all) {
    job.job.elastic_min = static_cast<int>(std::max<int64_t>(least, 0));
    job.job.elastic_max = static_cast<int>(all);
  }
  reader.NoteRest(*w.doc, run, "spec.runPolicy",
                  {"activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
                   "schedulingPolicy", "cleanPodPolicy", "suspend"});
  reader.NoteRest(*w.doc, spec, "spec",
                  {"runPolicy", "mpiReplicaSpecs", "pytorchReplicaSpecs", "slotsPerWorker",
                   "nprocPerNode", "sshAuthMountPath", "mpiImplementation"});
}

void ReadKueueWorkload(const Workload& w, ReadJob& job, GangReader& reader) {
  const YamlNode& spec = w.doc->spec();
  job.job.limit_ms = MillisecondsOf(Key(spec, "maximumExecutionTimeSeconds"));
  job.job.priority = static_cast<int>(
      std::clamp<int64_t>(IntOf(Key(spec, "priority"), 0), -2147483648LL, 2147483647LL));
  for (const PodSet& set : w.sets) {
    const YamlNode& topology = Key(*set.at, "topologyRequest");
    if (!Key(topology, "required").IsNull())
      job.job.topology.required = TextOf(Key(topology, "required"));
    if (!Key(topology, "preferred").IsNull())
      job.job.topology.preferred = TextOf(Key(topology, "preferred"));
    reader.NoteRest(*w.doc, topology, "topologyRequest", {"required", "preferred"});
  }
  reader.NoteRest(*w.doc, spec, "spec",
                  {"podSets", "queueName", "priority", "maximumExecutionTimeSeconds"});
}

void ReadOthers(const Workload& w, ReadJob& job, GangReader& reader) {
  const YamlNode& spec = w.doc->spec();
  if (w.doc->kind == ManifestKind::kTrainJob) {
    reader.Note(*w.doc, Key(spec, "runtimeRef"), "spec.runtimeRef",
                "the pod template is the runtime's and is not in this file; only numNodes and "
                "resourcesPerNode are counted");
    reader.NoteRest(*w.doc, spec, "spec", {"trainer", "runtimeRef"});
  }
  if (w.doc->kind == ManifestKind::kRayCluster || w.doc->kind == ManifestKind::kRayJob) {
    int64_t least = 0;
    for (const PodSet& set : w.sets) least += set.min;
    if (least < w.PodCount()) {
      job.job.elastic_min = static_cast<int>(least);
      job.job.elastic_max = static_cast<int>(w.PodCount());
    }
    const bool cluster = w.doc->kind == ManifestKind::kRayCluster;
    reader.NoteRest(*w.doc, cluster ? spec : Key(spec, "rayClusterSpec"), "spec",
                    {"headGroupSpec", "workerGroupSpecs", "rayVersion"});
    if (!cluster) {
      reader.NoteRest(*w.doc, spec, "spec",
                      {"rayClusterSpec", "entrypoint", "ttlSecondsAfterFinished"});
    }
  }
}

}  // namespace

TaskGroup GroupOf(const Document& doc, const PodSet& set, GangReader& reader) {
  TaskGroup group;
  group.name = set.role;
  group.count = static_cast<int>(set.count);
  group.min = static_cast<int>(set.min);
  group.shape = PodShape(set, reader.Bad(doc));
  for (const YamlEntry& entry : Key(*set.pod, "nodeSelector").entries)
    group.select[entry.key] = TextOf(entry.value);
  group.tolerate = TolerationsOf(*set.pod);
  return group;
}

void ReadJobObject(const Document& doc, GangReader& reader) {
  if (doc.kind == ManifestKind::kPod || doc.kind == ManifestKind::kDeployment ||
      doc.kind == ManifestKind::kStatefulSet) {
    return;  // pods come through their groups; the others are no gangs
  }
  const auto w = WorkloadOf(doc);
  if (!w) return;
  ReadJob read;
  read.kind = doc.kind_name;
  read.ns = doc.ns;
  read.file = doc.file;
  read.job.name = doc.name;
  read.job.queue = QueueOf(doc);
  const YamlNode& label = Label(doc.root, "kueue.x-k8s.io/queue-name");
  if (doc.kind == ManifestKind::kVolcanoJob) read.queue_kind = "volcano";
  if (label.IsNull() && !Label(doc.root, "kai.scheduler/queue").IsNull()) read.queue_kind = "kai";
  if (!label.IsNull() || doc.kind == ManifestKind::kKueueWorkload)
    read.job.queue = LocalQueueName(doc.ns, read.job.queue);
  const YamlNode& kueue_class = Label(doc.root, "kueue.x-k8s.io/priority-class");
  if (!kueue_class.IsNull()) read.job.priority = PriorityOf(doc, kueue_class, true, reader);
  if (const YamlNode& limit = Label(doc.root, "kueue.x-k8s.io/max-exec-time-seconds");
      !limit.IsNull()) {
    read.job.limit_ms = MillisecondsOf(limit);
  }
  if (const YamlNode& ttl = At(doc.root, "spec.ttlSecondsAfterFinished"); !ttl.IsNull())
    read.ttl_s = IntOf(ttl, 0);
  ReadTopology(doc, doc.root, read.job.topology, reader);
  for (const PodSet& set : w->sets) {
    NotePod(doc, set, reader);
    read.job.tasks.push_back(GroupOf(doc, set, reader));
    ReadTopology(doc, *set.pod_template, read.job.topology, reader);
    if (read.scheduler.empty()) read.scheduler = TextOf(Key(*set.pod, "schedulerName"));
    if (kueue_class.IsNull() && read.job.priority == 0)
      read.job.priority = PriorityOf(doc, Key(*set.pod, "priorityClassName"), false, reader);
  }
  switch (doc.kind) {
    case ManifestKind::kVolcanoJob:
      ReadVolcano(*w, read, reader);
      break;
    case ManifestKind::kJob:
      ReadNativeJob(*w, read, reader);
      break;
    case ManifestKind::kJobSet:
      ReadJobSet(*w, read, reader);
      break;
    case ManifestKind::kMpiJob:
    case ManifestKind::kPytorchJob:
      ReadKubeflow(*w, read, reader);
      break;
    case ManifestKind::kKueueWorkload:
      ReadKueueWorkload(*w, read, reader);
      break;
    default:
      ReadOthers(*w, read, reader);
  }
  if (read.job.queue.empty()) read.job.queue = "default";
  reader.into.jobs.push_back(std::move(read));
}

}  // namespace muster::manifest
