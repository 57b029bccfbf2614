// Pods that belong to a group of one of the four dialects (or Kueue's plain-pod groups) become one
// job for each group. Group and kind together say which dialect it is.
#include <algorithm>

#include <fmt/format.h>

#include "manifest/gangs_internal.h"

namespace muster::manifest {

namespace {

struct Membership {
  std::string dialect;  // "volcano", "coscheduling", "kai", "native", "kueue"
  std::string group;
};

Membership MembershipOf(const Document& pod) {
  const auto annotation = [&](const char* key) { return TextOf(Annotation(pod.root, key)); };
  const auto label = [&](const char* key) { return TextOf(Label(pod.root, key)); };
  if (auto g = annotation("scheduling.volcano.sh/group-name"); !g.empty()) return {"volcano", g};
  if (auto g = annotation("scheduling.k8s.io/group-name"); !g.empty()) return {"volcano", g};
  if (auto g = label("scheduling.x-k8s.io/pod-group"); !g.empty()) return {"coscheduling", g};
  if (auto g = annotation("pod-group-name"); !g.empty()) return {"kai", g};
  if (auto g = TextOf(At(pod.root, "spec.schedulingGroup.podGroupName")); !g.empty())
    return {"native", g};
  if (auto g = label("kueue.x-k8s.io/pod-group-name"); !g.empty()) return {"kueue", g};
  return {};
}

std::string DialectOf(ManifestKind kind) {
  switch (kind) {
    case ManifestKind::kVolcanoPodGroup:
      return "volcano";
    case ManifestKind::kCoschedulingPodGroup:
      return "coscheduling";
    case ManifestKind::kKaiPodGroup:
      return "kai";
    case ManifestKind::kNativePodGroup:
      return "native";
    default:
      return "";
  }
}

void ReadGroupObject(const Document& doc, const std::string& dialect, ReadJob& read, int pods,
                     GangReader& reader) {
  const YamlNode& spec = doc.spec();
  const YamlNode& least =
      dialect == "native" ? At(spec, "schedulingPolicy.gang.minCount") : Key(spec, "minMember");
  const int64_t min = std::clamp<int64_t>(IntOf(least, dialect == "native" ? 0 : 1), 0, 1'000'000);
  if (min < pods) {
    read.job.elastic_min = static_cast<int>(min);
    read.job.elastic_max = pods;
    for (TaskGroup& group : read.job.tasks) group.min = 0;
  } else if (min > pods) {
    reader.Note(doc, least, "minMember",
                fmt::format("{} pods are wanted together and {} are in these files", min, pods));
  }
  if (const std::string queue = QueueOf(doc); !queue.empty())
    read.job.queue = queue, read.queue_kind = dialect;
  if (read.job.priority == 0)
    read.job.priority = PriorityOf(doc, Key(spec, "priorityClassName"), false, reader);
  if (dialect == "volcano") {
    const YamlNode& topology = Key(spec, "networkTopology");
    std::string tier = TextOf(Key(topology, "highestTierName"));
    if (tier.empty() && !Key(topology, "highestTierAllowed").IsNull())
      tier = "tier-" + TextOf(Key(topology, "highestTierAllowed"));
    (TextOf(Key(topology, "mode")) == "soft" ? read.job.topology.preferred
                                             : read.job.topology.required) = tier;
  }
  if (dialect == "kai") {
    read.job.topology.required = TextOf(At(spec, "topologyConstraint.requiredTopologyLevel"));
    read.job.topology.preferred = TextOf(At(spec, "topologyConstraint.preferredTopologyLevel"));
  }
  if (dialect == "native") {
    const auto& keys = At(spec, "schedulingConstraints.topology").items;
    if (!keys.empty()) read.job.topology.required = TextOf(Key(keys.front(), "key"));
  }
  if (dialect == "coscheduling") {
    const YamlNode& wait = Key(spec, "scheduleTimeoutSeconds");
    if (!wait.IsNull())
      read.job.max_wait_ms = std::clamp<int64_t>(IntOf(wait, 0), 0, 1'000'000'000) * 1000;
  }
  reader.NoteRest(doc, spec, "spec",
                  {"minMember", "minTaskMember", "minResources", "queue", "priorityClassName",
                   "networkTopology", "topologyConstraint", "preemptibility", "schedulingPolicy",
                   "schedulingConstraints", "scheduleTimeoutSeconds", "workloadRef",
                   "podGroupTemplateRef", "priority"});
}

// A native Workload names groups of a controller; they say how many of that job start together.
void ReadNativeWorkload(const Document& doc, GangReader& reader) {
  const std::string& controller = TextOf(At(doc.root, "spec.controllerRef.name"));
  // v1alpha1 had podGroups where later versions have podGroupTemplates.
  const YamlNode& later = At(doc.root, "spec.podGroupTemplates");
  const YamlNode& groups = later.IsNull() ? At(doc.root, "spec.podGroups") : later;
  const auto job =
      std::find_if(reader.into.jobs.begin(), reader.into.jobs.end(),
                   [&](const ReadJob& j) { return j.job.name == controller && j.ns == doc.ns; });
  if (job == reader.into.jobs.end()) {
    reader.Note(doc, doc.spec(), "spec.controllerRef",
                "the job it belongs to is not in these files; nothing is placed for it");
    return;
  }
  for (const YamlNode& group : groups.items) {
    const YamlNode& count = At(group, "schedulingPolicy.gang.minCount").IsNull()
                                ? At(group, "policy.gang.minCount")
                                : At(group, "schedulingPolicy.gang.minCount");
    if (count.IsNull()) {
      for (TaskGroup& tasks : job->job.tasks) tasks.min = 0;  // "basic": pod by pod
      job->job.elastic_max = 0;
      for (const TaskGroup& tasks : job->job.tasks) job->job.elastic_max += tasks.count;
      continue;
    }
    int all = 0;
    for (const TaskGroup& tasks : job->job.tasks) all += tasks.count;
    const int64_t min = std::clamp<int64_t>(IntOf(count, all), 0, 1'000'000);
    if (min < all) {
      job->job.elastic_min = static_cast<int>(min);
      job->job.elastic_max = all;
    }
    const auto& keys = At(group, "schedulingConstraints.topology").items;
    if (!keys.empty()) job->job.topology.required = TextOf(Key(keys.front(), "key"));
    reader.NoteRest(doc, group, "podGroup",
                    {"name", "schedulingPolicy", "policy", "schedulingConstraints"});
  }
  reader.NoteRest(doc, doc.spec(), "spec", {"controllerRef", "podGroupTemplates", "podGroups"});
}

}  // namespace

void ReadPodGroups(std::span<const ManifestFile> files, GangReader& reader) {
  struct Found {
    ReadJob read;
    int pods = 0;
  };
  std::map<std::string, Found> groups;  // by dialect, namespace and name
  const auto name_of = [](const std::string& dialect, const std::string& ns,
                          const std::string& group) { return dialect + "/" + ns + "/" + group; };
  for (const ManifestFile& file : files) {
    for (const Document& doc : file.documents) {
      if (doc.kind != ManifestKind::kPod) continue;
      const Membership member = MembershipOf(doc);
      if (member.dialect.empty()) continue;
      Found& found = groups[name_of(member.dialect, doc.ns, member.group)];
      if (found.pods == 0) {
        found.read.kind = "Pod";
        found.read.ns = doc.ns;
        found.read.file = doc.file;
        found.read.job.name = member.group;
        found.read.job.queue = QueueOf(doc);
        if (member.dialect == "kueue")
          found.read.job.queue = LocalQueueName(doc.ns, found.read.job.queue);
        found.read.scheduler = TextOf(At(doc.root, "spec.schedulerName"));
      }
      ++found.pods;
      const auto w = WorkloadOf(doc);
      TaskGroup one = GroupOf(doc, w->sets.front(), reader);
      const auto same = std::find_if(
          found.read.job.tasks.begin(), found.read.job.tasks.end(), [&](const TaskGroup& g) {
            return g.shape == one.shape && g.select == one.select && g.tolerate == one.tolerate;
          });
      if (same != found.read.job.tasks.end()) {
        ++same->count;
        ++same->min;
      } else {
        one.name = found.read.job.tasks.empty() ? "" : doc.name;
        found.read.job.tasks.push_back(std::move(one));
      }
    }
  }
  for (const ManifestFile& file : files) {
    for (const Document& doc : file.documents) {
      if (doc.kind == ManifestKind::kNativeWorkload) ReadNativeWorkload(doc, reader);
      const std::string dialect = DialectOf(doc.kind);
      if (dialect.empty()) continue;
      const auto found = groups.find(name_of(dialect, doc.ns, doc.name));
      if (found == groups.end()) {
        reader.Note(doc, doc.root, doc.Title(), "a group whose pods are not in these files");
        continue;
      }
      ReadGroupObject(doc, dialect, found->second.read, found->second.pods, reader);
    }
  }
  for (auto& [key, found] : groups) {
    if (found.read.job.queue.empty()) found.read.job.queue = "default";
    reader.into.jobs.push_back(std::move(found.read));
  }
}

}  // namespace muster::manifest
