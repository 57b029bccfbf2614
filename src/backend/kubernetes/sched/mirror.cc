#include "backend/kubernetes/sched/mirror.h"

#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "manifest/gangs.h"

namespace muster::kubesched {

namespace {
constexpr Duration kLookForKindsEvery = std::chrono::seconds(60);
}

// Absent kinds stop their reflector; it is tried again now and then, for a CRD may come.
struct Mirror::Optional {
  std::unique_ptr<kube::Reflector<GroupFacts>> groups;
  std::unique_ptr<kube::Reflector<kube::Object>> queues;
  std::vector<std::string> older;  // versions to try where this one is not served
  kube::Resource resource;
  // Not absent: they may be there, and we may not read them.
  bool forbidden() const {
    const auto& trouble = groups ? groups->trouble() : queues->trouble();
    const bool stopped = groups ? groups->stopped() : queues->stopped();
    return stopped && trouble && trouble->code == Code::kPermission;
  }
  std::string why_forbidden() const {
    return Printable((groups ? groups->trouble() : queues->trouble())->message);
  }
  bool known() const {
    return groups ? groups->synced() || groups->stopped() : queues->synced() || queues->stopped();
  }
};

Mirror::~Mirror() = default;

void Mirror::Note(const std::string& text) {
  if (on_note_) on_note_(Printable(text));
}

kube::Followed Mirror::All(const kube::Resource& resource) const {
  return {.resource = resource, .watch = reads_ == Reads::kFollow};
}

Mirror::Mirror(kube::Client& client, Core& core, OnNote on_note, Reads reads)
    : client_(client), core_(core), on_note_(std::move(on_note)), reads_(reads) {
  const auto needed = [this](const Error& error, bool fatal) {
    Note(error.ToString());
    if (fatal) fatal_ = error;
  };
  nodes_ = std::make_unique<kube::Reflector<NodeSeen>>(
      client_, All(kube::kNodes), DecodeNodeSeen,
      [this](const kube::Change<NodeSeen>& change) {
        changed_ = true;
        if (change.kind == kube::ChangeKind::kDeleted) {
          core_.RemoveNode(change.before->meta.name);
        } else {
          core_.SetNode(change.after->facts);
        }
      },
      needed);
  pods_ = std::make_unique<kube::Reflector<PodSeen>>(
      client_, All(kube::kPods), DecodePodSeen,
      [this](const kube::Change<PodSeen>& change) {
        changed_ = true;
        if (change.kind == kube::ChangeKind::kDeleted) {
          core_.RemovePod(change.before->meta.uid);
        } else {
          core_.SetPod(change.after->facts);
        }
      },
      needed);
  const auto group = [this](const kube::Change<GroupFacts>& change) {
    changed_ = true;
    if (change.kind == kube::ChangeKind::kDeleted) {
      core_.RemoveGroup(change.before->dialect, change.before->meta.Key());
    } else {
      core_.SetGroup(*change.after);
    }
  };
  jobs_ = std::make_unique<kube::Reflector<GroupFacts>>(client_, All(kube::kJobs), DecodeJobGroup,
                                                        group, needed);

  AddGroupKind({"scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"}, DecodeVolcanoGroup,
               Dialect::kVolcano);
  AddGroupKind({"scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup"},
               DecodeCoschedulingGroup, Dialect::kCoscheduling);
  AddGroupKind({"scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup"}, DecodeKaiGroup,
               Dialect::kKai);
  AddGroupKind({"scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup"}, DecodeNativeGroup,
               Dialect::kNative);
  AddGroupKind({"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"}, DecodeJobSetGroup,
               Dialect::kJobSet);
  AddQueueKind(kube::kNamespaces, {});
  AddQueueKind({"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false}, {});
  AddQueueKind({"scheduling.volcano.sh", "v1beta1", "queues", "Queue", false}, {});
  AddQueueKind({"scheduling.run.ai", "v2", "queues", "Queue", false}, {});
  for (const auto& [plural, kind, namespaced] :
       {std::tuple{"resourceflavors", "ResourceFlavor", false},
        std::tuple{"clusterqueues", "ClusterQueue", false}, std::tuple{"cohorts", "Cohort", false},
        std::tuple{"localqueues", "LocalQueue", true},
        std::tuple{"workloadpriorityclasses", "WorkloadPriorityClass", false}})
    AddQueueKind(
        {"kueue.x-k8s.io", "v1beta2", plural, kind, namespaced},
        std::string_view(kind) == "Cohort"  // Kueue 0.10 and 0.11 have it in v1alpha1 alone
            ? std::vector<std::string>{"v1beta1", "v1alpha1"}
            : std::vector<std::string>{"v1beta1"});
}

void Mirror::AddGroupKind(const kube::Resource& resource,
                          kube::KnownObjects<GroupFacts>::Decode decode, Dialect dialect) {
  auto one = std::make_unique<Optional>();
  one->resource = resource;
  one->groups = std::make_unique<kube::Reflector<GroupFacts>>(
      client_, All(resource), decode,
      [this, dialect](const kube::Change<GroupFacts>& change) {
        changed_ = true;
        if (change.kind == kube::ChangeKind::kDeleted) {
          core_.RemoveGroup(dialect, change.before->meta.Key());
        } else {
          core_.SetGroup(*change.after);
        }
      },
      [this](const Error& error, bool) {
        if (error.code != Code::kNotFound) Note(error.ToString());
      });
  optional_.push_back(std::move(one));
}

void Mirror::AddQueueKind(const kube::Resource& resource, std::vector<std::string> older) {
  auto one = std::make_unique<Optional>();
  one->resource = resource;
  one->older = std::move(older);
  one->queues = std::make_unique<kube::Reflector<kube::Object>>(
      client_, All(resource), kube::DecodeObject,
      [this](const kube::Change<kube::Object>&) { changed_ = queues_changed_ = true; },
      [this, kind = one.get()](const Error& error, bool fatal) {
        if (error.code != Code::kNotFound) return Note(error.ToString());
        if (!fatal || kind->older.empty()) return;
        // Not from here: this is called by the reflector that it replaces.
        client_.After(Duration::zero(), [this, kind, alive = std::weak_ptr<bool>(alive_)] {
          if (alive.expired() || kind->older.empty()) return;
          kube::Resource before = kind->resource;
          before.version = kind->older.front();
          std::vector<std::string> rest(kind->older.begin() + 1, kind->older.end());
          kind->older.clear();
          AddQueueKind(before, std::move(rest));
          optional_.back()->queues->Start();
        });
      });
  optional_.push_back(std::move(one));
}

void Mirror::Start() {
  nodes_->Start();
  jobs_->Start();
  pods_->Start();
  for (const auto& one : optional_) {
    if (one->groups) one->groups->Start();
    if (one->queues) one->queues->Start();
  }
  const auto again = [this](auto self) -> void {
    client_.After(kLookForKindsEvery, [this, self, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.expired()) return;
      for (const auto& one : optional_) {
        if (one->groups && one->groups->stopped()) one->groups->Start();
        // What was served once is waited for: its quotas would stand for ever.
        const bool queues_ended = one->queues && one->queues->stopped();
        if (queues_ended && (one->forbidden() || one->queues->synced())) one->queues->Start();
      }
      self(self);
    });
  };
  again(again);
}

bool Mirror::synced() const {
  if (!nodes_->synced() || !pods_->synced() || !jobs_->synced()) return false;
  for (const auto& one : optional_) {
    // A kind whose older version is still to be asked for is not known yet.
    const bool absent =
        one->queues && one->queues->stopped() && !one->queues->synced() && !one->forbidden();
    if (!one->known() || (absent && !one->older.empty())) return false;
  }
  return true;
}

std::optional<Mirror::Lost> Mirror::lost() const {
  std::optional<Lost> first;
  const auto look = [&](const kube::Resource& resource, std::optional<Duration> since) {
    if (since && (!first || *since < first->since)) first = Lost{resource.Title(), *since};
  };
  look(kube::kNodes, nodes_->lost_since());
  look(kube::kPods, pods_->lost_since());
  look(kube::kJobs, jobs_->lost_since());
  for (const auto& one : optional_)
    look(one->resource, one->groups ? one->groups->lost_since() : one->queues->lost_since());
  return first;
}

std::vector<std::string> Mirror::Unread() const {
  std::vector<std::string> unread;
  for (const auto& one : optional_) {
    if (one->forbidden()) unread.push_back(one->why_forbidden());
  }
  return unread;
}

std::vector<ManifestFile> Mirror::QueueFiles() const {
  std::vector<ManifestFile> files;
  for (const auto& one : optional_) {
    if (!one->queues || one->resource == kube::kNamespaces) continue;
    for (const auto& [key, entry] : one->queues->known().all()) {
      auto file = ParseManifestFile(entry.value.json, one->resource.Title() + "/" + key);
      if (file.ok()) files.push_back(std::move(*file));
    }
  }
  return files;
}

void Mirror::NoteQueues(const Gangs& gangs) {
  std::map<std::string, std::string> by_object;
  for (const ManifestNote& note : gangs.notes) {
    std::string& text = by_object[note.file];
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", note.field, note.what);
  }
  queue_notes_.clear();
  for (const auto& one : optional_) {
    if (!one->queues) continue;
    for (const auto& [key, entry] : one->queues->known().all()) {
      const auto text = by_object.find(one->resource.Title() + "/" + key);
      const kube::Meta& meta = entry.value.meta;
      if (text != by_object.end())
        queue_notes_.push_back(
            {one->resource, {meta.ns, meta.name, meta.uid, meta.resource_version}, text->second});
    }
  }
}

QueueWords Mirror::WordsFrom(const Gangs& gangs) const {
  NamespaceLabels namespaces;
  for (const auto& one : optional_) {
    if (!one->queues || one->resource != kube::kNamespaces) continue;
    for (const auto& [name, entry] : one->queues->known().all()) {
      const auto& labels = entry.value.meta.labels;
      namespaces[name] = {labels.begin(), labels.end()};
    }
  }
  return {HoldsOf(gangs, namespaces), gangs.renamed, gangs.priorities};
}

// Few and seldom: all of them are read again, by the reader that lint and simulate use.
bool Mirror::Prepare() {
  std::map<std::string, std::string> unreadable;
  for (const auto& one : optional_) {
    // Who cannot read namespaces or classes is told where one of them decides.
    const std::string& group = one->resource.group;
    if (group.empty() || group == "scheduling.k8s.io") continue;
    if (one->queues && one->forbidden()) unreadable[one->resource.group] = one->why_forbidden();
  }
  core_.SetUnreadableQueues(std::move(unreadable));
  if (!queues_changed_) return false;
  queues_changed_ = false;
  const std::vector<ManifestFile> files = QueueFiles();
  Gangs gangs = ReadGangs(files);
  for (const std::string& error : gangs.errors) Note(error);
  NoteQueues(gangs);
  QueueWords words = WordsFrom(gangs);
  Told told{std::move(gangs.queues), std::move(gangs.flavors), std::move(words)};
  // The status of a queue changes with each job, and making the engine again takes O(cluster).
  if (told == told_) return true;
  told_ = told;
  core_.SetQueues(std::move(told.queues), std::move(told.flavors), std::move(told.words));
  return true;
}

}  // namespace muster::kubesched
