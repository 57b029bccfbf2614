#include "backend/kubernetes/kueue/admission.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/kubernetes/kueue/bodies.h"
#include "base/strings.h"
#include "kube/event.h"
#include "kube/json.h"
#include "manifest/gangs.h"
#include "manifest/queue_holds.h"

namespace muster::kueue {

namespace {

constexpr const char* kGroup = "kueue.x-k8s.io";
constexpr const char* kVersion = "v1beta2";
// The one before, where a server may have that alone; Cohorts came late (Kueue 0.10 and 0.11).
std::string OlderThan(const kube::Resource& resource) {
  if (resource.version == kVersion) return "v1beta1";
  return resource.kind == "Cohort" && resource.version == "v1beta1" ? "v1alpha1" : "";
}
constexpr Duration kLookForKindsEvery = std::chrono::seconds(60);
// A write may not arrive after another leads.
constexpr Duration kWriteWithin = std::chrono::seconds(4);
constexpr size_t kMostUnderWay = 200;  // what two connections carry at once

const kube::Resource kPriorityClasses{"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass",
                                      false};

bool Checked(const kube::Object& object) {
  const std::string checks = kube::ValueAt(object.json, "/spec/admissionChecks").value_or("[]");
  const std::string strategy =
      kube::ValueAt(object.json, "/spec/admissionChecksStrategy/admissionChecks").value_or("[]");
  return checks != "[]" || strategy != "[]";
}

}  // namespace

struct Admission::Kind {
  kube::Resource resource;
  std::unique_ptr<kube::Reflector<kube::Object>> objects;
  std::unique_ptr<kube::Reflector<Ask>> workloads;
  void Start() { objects ? objects->Start() : workloads->Start(); }
  bool synced() const { return objects ? objects->synced() : workloads->synced(); }
  bool stopped() const { return objects ? objects->stopped() : workloads->stopped(); }
};

Admission::~Admission() = default;

void Admission::Note(const std::string& text) {
  if (on_note_) on_note_(Printable("kueue: " + text));
}

int64_t Admission::NowMs() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(client_.clock().Monotonic()).count();
}

Admission::Admission(kube::Client& client, std::function<bool()> leads, OnNote on_note,
                     std::optional<WaitForPodsReady> wait)
    : client_(client), leads_(std::move(leads)), on_note_(std::move(on_note)) {
  if (wait) core_.SetWaitForPodsReady(*wait);
  const auto trouble = [this](const Error& error, bool) { Note(error.ToString()); };
  jobs_ = std::make_unique<kube::Reflector<Ask>>(
      client_, kube::Followed{.resource = kube::kJobs, .selector = {kQueueLabel, ""}},
      DecodeQueuedJob, [this](const kube::Change<Ask>& change) { Follow(change); }, trouble);
  priority_classes_ = std::make_unique<kube::Reflector<kube::Object>>(
      client_, kube::Followed{.resource = kPriorityClasses}, kube::DecodeObject,
      [this](const kube::Change<kube::Object>&) { changed_ = priorities_changed_ = true; },
      trouble);
  namespaces_ = std::make_unique<kube::Reflector<kube::Object>>(
      client_, kube::Followed{.resource = kube::kNamespaces}, kube::DecodeObject,
      [this](const kube::Change<kube::Object>&) { changed_ = queues_changed_ = true; }, trouble);
  for (const auto& [plural, kind, namespaced] :
       {std::tuple{"resourceflavors", "ResourceFlavor", false},
        std::tuple{"clusterqueues", "ClusterQueue", false}, std::tuple{"cohorts", "Cohort", false},
        std::tuple{"localqueues", "LocalQueue", true}, std::tuple{"topologies", "Topology", false},
        std::tuple{"workloadpriorityclasses", "WorkloadPriorityClass", false},
        std::tuple{"workloads", "Workload", true}})
    FollowKind(plural, kind, namespaced);
}

void Admission::FollowKind(const std::string& plural, const std::string& kind, bool namespaced) {
  auto one = std::make_unique<Kind>();
  one->resource = {kGroup, kVersion, plural, kind, namespaced};
  kinds_.push_back(std::move(one));
  Restart(*kinds_.back());
}

void Admission::Follow(const kube::Change<Ask>& change) {
  changed_ = true;
  if (change.after != nullptr) return core_.Set(*change.after);
  core_.Remove(change.before->meta.uid);
}

// A reflector of the kind in its present version; what it brings, and what it does when the server
// has no such version.
void Admission::Restart(Kind& kind) {
  const auto trouble = [this, &kind](const Error& error, bool fatal) {
    if (error.code != Code::kNotFound) return Note(error.ToString());
    if (!fatal || OlderThan(kind.resource).empty()) return;
    // Not from here: this is called by the reflector that it replaces.
    client_.After(Duration::zero(), [this, &kind, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.expired()) return;
      kind.resource.version = OlderThan(kind.resource);
      Restart(kind);
      kind.Start();
    });
  };
  if (kind.resource.kind == "Workload") {
    kind.workloads = std::make_unique<kube::Reflector<Ask>>(
        client_, kube::Followed{.resource = kind.resource}, DecodeWorkload,
        [this](const kube::Change<Ask>& change) { Follow(change); }, trouble);
    return;
  }
  const bool priorities = kind.resource.kind == "WorkloadPriorityClass";
  kind.objects = std::make_unique<kube::Reflector<kube::Object>>(
      client_, kube::Followed{.resource = kind.resource}, kube::DecodeObject,
      [this, priorities](const kube::Change<kube::Object>&) {
        changed_ = true;
        (priorities ? priorities_changed_ : queues_changed_) = true;
      },
      trouble);
}

void Admission::Start() {
  for (const auto& kind : kinds_) kind->Start();
  jobs_->Start();
  priority_classes_->Start();
  namespaces_->Start();
  const auto again = [this](auto self) -> void {
    client_.After(kLookForKindsEvery, [this, self, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.expired()) return;
      for (const auto& kind : kinds_) {
        if (!kind->stopped()) continue;
        kind->resource.version = kVersion;
        Restart(*kind);
        kind->Start();
      }
      self(self);
    });
  };
  again(again);
}

bool Admission::synced() const {
  for (const auto& kind : kinds_) {
    const bool absent = kind->stopped() && OlderThan(kind->resource).empty();
    if (!kind->synced() && !absent) return false;
  }
  // Who may not read namespaces lets nobody in whose queue selects by their labels.
  return jobs_->synced() && priority_classes_->synced() &&
         (namespaces_->synced() || namespaces_->stopped()) &&
         (nodes_ == nullptr || (nodes_->synced() && pods_->synced()));
}

bool Admission::idle() const {
  return synced() && !changed_ && under_way_ == 0 && held_back_.empty() && due_.empty() &&
         !core_.repeats();
}

// Few and seldom: all of them are read again, by the reader that lint and simulate use.
void Admission::ReadQueues() {
  std::string list = R"({"apiVersion":"v1","kind":"List","items":[)";
  Queues queues;
  bool first = true;
  for (const auto& kind : kinds_) {
    if (!kind->objects || kind->resource.kind == "WorkloadPriorityClass") continue;
    for (const auto& [key, entry] : kind->objects->known().all()) {
      list += (first ? "" : ",") + entry.value.json;
      first = false;
      if (Checked(entry.value)) queues.checked.insert(key);
      if (const auto topology = kube::ValueAt(entry.value.json, "/spec/topologyName");
          topology && kind->resource.kind == "ResourceFlavor")
        queues.topology_of[key] = *topology;
    }
  }
  auto file = ParseManifestFile(list + "]}", "queues of the cluster");
  if (!file.ok()) return Note(file.error().ToString());
  std::vector<ManifestFile> files;
  files.push_back(std::move(*file));
  Gangs gangs = ReadGangs(files);
  for (const std::string& error : gangs.errors) Note(error);
  NamespaceLabels labels;
  for (const auto& [name, entry] : namespaces_->known().all())
    labels[name] = {entry.value.meta.labels.begin(), entry.value.meta.labels.end()};
  queues.holds = HoldsOf(gangs, labels);
  queues.queues = std::move(gangs.queues);
  queues.flavors = std::move(gangs.flavors);
  queues.topologies = std::move(gangs.topologies);
  if (!queues.topology_of.empty()) FollowRooms();
  core_.SetQueues(std::move(queues));
}

// Nodes and pods are watched from the first topology on.
void Admission::FollowRooms() {
  if (nodes_ != nullptr) return;
  const auto trouble = [this](const Error& error, bool) { Note(error.ToString()); };
  core_.SetRoomSource({[this](const auto& use) {
                         for (const auto& [key, entry] : nodes_->known().all())
                           use(entry.value.node, entry.value.usable);
                       },
                       [this](const auto& use) {
                         for (const auto& [key, entry] : pods_->known().all()) {
                           if (entry.value.holds) use(entry.value);
                         }
                       }});
  nodes_ = std::make_unique<kube::Reflector<RoomNode>>(
      client_, kube::Followed{.resource = kube::kNodes}, DecodeRoomNode,
      [this](const kube::Change<RoomNode>& change) {
        changed_ = true;
        if (change.after == nullptr) return core_.RemoveNode(change.before->meta.name);
        core_.SetNode(change.after->node, change.after->usable);
      },
      trouble);
  pods_ = std::make_unique<kube::Reflector<RoomPod>>(
      client_, kube::Followed{.resource = kube::kPods}, DecodeRoomPod,
      [this](const kube::Change<RoomPod>& change) {
        changed_ = true;
        if (change.after != nullptr && change.after->holds) return core_.SetPod(*change.after);
        core_.RemovePod((change.after != nullptr ? change.after : change.before)->meta.uid);
      },
      trouble);
  nodes_->Start();
  pods_->Start();
}

void Admission::ReadPriorities() {
  std::map<std::string, int> priorities;
  const auto read = [&](const std::string& prefix, const kube::KnownObjects<kube::Object>& known) {
    for (const auto& [key, entry] : known.all()) {
      const auto value = ParseInt(kube::ValueAt(entry.value.json, "/value").value_or(""));
      if (value.ok())
        priorities[prefix + key] =
            static_cast<int>(std::clamp<int64_t>(*value, INT32_MIN, INT32_MAX));
    }
  };
  read("pod/", priority_classes_->known());
  for (const auto& kind : kinds_) {
    if (kind->resource.kind == "WorkloadPriorityClass") read("kueue/", kind->objects->known());
  }
  core_.SetPriorities(std::move(priorities));
}

void Admission::Turn() {
  if (!synced() || !leads_()) return;
  DecideDue();
  // What waits longer is not sent once somebody else leads.
  while (!due_.empty() && under_way_ < kMostUnderWay && leads_()) {
    const Act act = std::move(due_.front());
    due_.pop_front();
    Do(act);
  }
}

void Admission::DecideDue() {
  const int64_t next = core_.NextAt(), now = NowMs();
  if (!changed_ && (next < 0 || next > now)) return;
  changed_ = false;
  if (std::exchange(priorities_changed_, false)) ReadPriorities();
  if (std::exchange(queues_changed_, false)) ReadQueues();
  if (!synced()) {
    changed_ = true;
    return;
  }
  std::vector<Act> acts;
  core_.Decide(now, client_.clock().Now(), acts);
  std::stable_partition(acts.begin(), acts.end(),
                        [](const Act& act) { return std::holds_alternative<Evict>(act); });
  for (Act& act : acts) {
    evictions_ += std::holds_alternative<Evict>(act) ? 1 : 0;
    holding_ += std::holds_alternative<Hold>(act) ? 1 : 0;
    const bool waits = std::holds_alternative<Admit>(act) && evictions_ > 0;
    (waits ? held_back_ : due_).push_back(std::move(act));
  }
  const auto& troubles = core_.troubles();
  for (; troubles_said_ < troubles.size(); ++troubles_said_) Note(troubles[troubles_said_]);
}

void Admission::SendHeldBack() {
  if (evictions_ > 0) return;
  for (Act& act : std::exchange(held_back_, {})) due_.push_back(std::move(act));
}

kube::Request Admission::Patch(const Ask& ask, std::string body, const char* part) const {
  if (ask.kind == AskKind::kJob)
    return kube::MergePatch(kube::kJobs, ask.meta.ns, ask.meta.name, std::move(body));
  kube::Resource resource{kGroup, kVersion, "workloads", "Workload"};
  resource.version = ask.api_version.substr(ask.api_version.find('/') + 1);
  return kube::MergePatch(resource, ask.meta.ns, ask.meta.name, std::move(body), part);
}

// 409: it has changed since; the watch brings it, and it is looked at again. Anything else may have
// been written or not.
void Admission::Write(kube::Request request, const std::string& uid,
                      uint64_t AdmissionStats::* counter) {
  request.EndWithin(kWriteWithin);
  ++under_way_;
  client_.Start(std::move(request), [this, uid, counter, alive = std::weak_ptr<bool>(alive_)](
                                        const kube::Answer& answer) {
    if (alive.expired()) return;
    --under_way_;
    changed_ = true;
    if (counter == &AdmissionStats::evicted) --evictions_;
    if (counter == &AdmissionStats::held) --holding_;
    if (answer.ok()) {
      ++(stats_.*counter);
      const auto written = kube::ReadIdent(answer.body);
      core_.Done(uid, written.ok() ? written->version : 0);
    } else {
      ++(answer.status == 409 ? stats_.conflicts : stats_.failed);
      if (answer.status != 409 && answer.status != 404) Note(answer.error->ToString());
      core_.Failed(uid, NowMs());
    }
    SendHeldBack();
  });
}

void Admission::SayOfJob(const Ask& ask, const SayWaiting& say) {
  kube::Request request =
      kube::CreateEvent({.about = kube::kJobs,
                         .ns = ask.meta.ns,
                         .name = ask.meta.name,
                         .uid = ask.meta.uid,
                         .reason = say.reason,
                         .message = say.message},
                        fmt::format("{:016x}", client_.random().Next()), client_.clock().Now());
  ++under_way_;
  ++stats_.said;
  client_.Start(std::move(request), [this, alive = std::weak_ptr<bool>(alive_)](const auto&) {
    if (!alive.expired()) --under_way_;
  });
}

void Admission::Do(const Act& act) {
  const std::string uid = std::visit([](const auto& one) { return one.uid; }, act);
  const Ask* ask = core_.Find(uid);
  if (ask == nullptr) {
    evictions_ -= std::holds_alternative<Evict>(act) ? 1 : 0;
    holding_ -= std::holds_alternative<Hold>(act) ? 1 : 0;
    return SendHeldBack();
  }
  const std::string now = kube::WholeSeconds(client_.clock().Now());
  const bool job = ask->kind == AskKind::kJob;
  if (const auto* admit = std::get_if<Admit>(&act)) {
    Write(Patch(*ask, job ? AdmitJobBody(*ask, admit->cluster_queue, admit->flavors, admit->pods)
                          : AdmitWorkloadBody(*ask, admit->cluster_queue, admit->flavors,
                                              admit->counts, admit->places, admit->checked, now)),
          uid, &AdmissionStats::admitted);
  } else if (const auto* evict = std::get_if<Evict>(&act)) {
    Write(Patch(*ask, job ? HoldJobBody(*ask)
                          : EvictWorkloadBody(*ask, evict->reason, evict->message, evict->requeue,
                                              client_.clock().Now())),
          uid, &AdmissionStats::evicted);
  } else if (const auto* hold = std::get_if<Hold>(&act)) {
    Write(Patch(*ask, HoldJobBody(*ask, hold->parallelism)), uid, &AdmissionStats::held);
  } else if (const auto* start = std::get_if<kueue::Start>(&act)) {
    Write(Patch(*ask, StartJobBody(*ask, start->pods, start->parallelism)), uid,
          &AdmissionStats::started);
  } else if (const auto* finish = std::get_if<Finish>(&act)) {
    Write(Patch(*ask, FinishedWorkloadBody(*ask, finish->succeeded, now)), uid,
          &AdmissionStats::finished);
  } else if (const auto* say = std::get_if<SayWaiting>(&act)) {
    if (job) return SayOfJob(*ask, *say);
    Write(Patch(*ask, WaitingWorkloadBody(*ask, say->reason, say->message, now)), uid,
          &AdmissionStats::said);
  } else if (const auto* target = std::get_if<SayDeactivation>(&act)) {
    Write(Patch(*ask, DeactivationTargetBody(*ask, target->reason, target->message, now)), uid,
          &AdmissionStats::timed);
  } else if (std::holds_alternative<Deactivate>(act)) {
    Write(Patch(*ask, DeactivateBody(*ask), ""), uid, &AdmissionStats::timed);
  } else if (std::holds_alternative<SayRequeued>(act)) {
    Write(Patch(*ask, RequeuedBody(*ask, now)), uid, &AdmissionStats::timed);
  } else if (const auto* pods = std::get_if<SayPodsReady>(&act)) {
    Write(Patch(*ask, PodsReadyBody(*ask, pods->ready, now)), uid, &AdmissionStats::timed);
  }
}

}  // namespace muster::kueue
