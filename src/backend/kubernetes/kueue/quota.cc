#include "backend/kubernetes/kueue/quota.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/object.h"

namespace muster::kueue {

namespace {

constexpr int64_t kAgainMs = 1000;
constexpr size_t kMostTroubles = 1000;

uint64_t VersionOf(const Ask& ask) { return kube::VersionNumber(ask.meta.resource_version); }

// With the resource as Kueue's objects name it.
std::string Words(sched::Because because) {
  for (auto& [key, value] : because.detail) {
    auto* const word = std::get_if<std::string>(&value);
    if (key == "resource" && word != nullptr) *word = FromEngine(*word);
  }
  return TextOf(because);
}

bool AsksTheSame(const Ask& a, const Ask& b) {
  return a.queue == b.queue && a.priority == b.priority && a.priority_class == b.priority_class &&
         a.sets == b.sets;
}

}  // namespace

bool QuotaCore::TakeEvent(sched::EventBody body) {
  const auto taken = engine_.Take({now_, std::move(body)}, decisions_);
  if (!taken.ok() && troubles_.size() < kMostTroubles) troubles_.push_back(taken.error().message);
  return taken.ok();
}

// ---- what is told

void QuotaCore::SetQueues(Queues queues) {
  if (queues == queues_) return;
  queues_ = std::move(queues);
  queue_at_.clear();
  for (size_t i = 0; i < queues_.queues.size(); ++i) queue_at_[queues_.queues[i].name] = i;
  flavor_keys_.clear();
  for (const Flavor& flavor : queues_.flavors) {
    for (const auto& [key, value] : flavor.labels) flavor_keys_.insert(key);
  }
  rebuild_ = true;
}

void QuotaCore::SetPriorities(std::map<std::string, int> priorities) {
  if (priorities == priorities_) return;
  priorities_ = std::move(priorities);
  for (auto& [uid, one] : all_) {
    if (one.at != At::kSubmitted || one.ask.priority_class.empty()) continue;
    Leave(one, false);
    touched_.insert(uid);
  }
}

void QuotaCore::Set(const Ask& ask) {
  One& one = all_[ask.meta.uid];
  const bool fresh = one.ask.meta.uid.empty();
  const bool same = !fresh && AsksTheSame(one.ask, ask);
  one.ask = ask;
  if (!same && one.at == At::kSubmitted) Leave(one, false);
  touched_.insert(ask.meta.uid);
  if (ask.owner_job.empty()) return;
  workload_of_[ask.owner_job] = ask.meta.uid;
  touched_.insert(ask.owner_job);
}

void QuotaCore::Remove(const std::string& uid) {
  const auto found = all_.find(uid);
  if (found == all_.end()) return;
  Leave(found->second, true);
  const std::string job = found->second.ask.owner_job;
  const auto stands = workload_of_.find(job);
  if (stands != workload_of_.end() && stands->second == uid) {
    workload_of_.erase(stands);
    touched_.insert(job);
  }
  all_.erase(found);
}

void QuotaCore::Done(const std::string& uid, uint64_t version) {
  const auto found = all_.find(uid);
  if (found == all_.end()) return;
  found->second.busy = false;
  found->second.ignore_below = version;
  touched_.insert(uid);
}

void QuotaCore::Failed(const std::string& uid, int64_t now_ms) {
  const auto found = all_.find(uid);
  if (found == all_.end()) return;
  found->second.busy = false;
  again_.insert({now_ms + kAgainMs, uid});
}

const Ask* QuotaCore::Find(const std::string& uid) const {
  const auto found = all_.find(uid);
  return found == all_.end() ? nullptr : &found->second.ask;
}

std::string QuotaCore::StateOf(const std::string& uid) const {
  const auto found = all_.find(uid);
  if (found == all_.end()) return "";
  if (found->second.at == At::kIn) return "admitted";
  const std::string how = found->second.at == At::kSubmitted ? "waiting" : "inadmissible";
  return found->second.why.empty() ? how : how + ": " + found->second.why;
}

// ---- the engine

void QuotaCore::Rebuild() {
  rebuild_ = false;
  engine_ = sched::Engine();
  decisions_.clear();
  admitted_ = 0;
  ChooseTopology();
  TakeEvent(sched::TopologyLevels{rooms_.EngineLevels()});
  AddNodes();
  AddRooms();
  for (Flavor flavor : queues_.flavors) {
    flavor.labels[FlavorLabel(flavor.name)] = "true";
    TakeEvent(sched::FlavorAdd{std::move(flavor)});
  }
  for (const Queue& queue : queues_.queues) {
    if (IsLocalQueue(queue.name)) continue;
    Queue told = queue;
    for (QuotaEntry& entry : told.quota) entry.resource = InEngine(entry.resource);
    TakeEvent(sched::QueueAdd{std::move(told)});
  }
  std::vector<One*> held;
  for (auto& [uid, one] : all_) {
    const bool in = one.at == At::kIn || one.ask.reserved;
    one.at = At::kOut;
    touched_.insert(uid);
    // What was decided and is being written counts as written.
    one.to_admit.reset();
    if (in && !one.evicting && (one.busy || VersionOf(one.ask) < one.ignore_below))
      held.push_back(&one);
  }
  for (One* one : held) Adopt(*one);
}

const Queue* QuotaCore::QueueNamed(const std::string& name) const {
  const auto found = queue_at_.find(name);
  return found == queue_at_.end() ? nullptr : &queues_.queues[found->second];
}

Job QuotaCore::JobOf(const Ask& ask) const {
  Job job;
  job.name = ask.meta.uid;
  const Queue* local = QueueNamed(ask.queue);
  job.queue = local == nullptr ? ask.queue : local->parent;
  job.priority = ask.priority;
  if (const auto known = priorities_.find(ask.priority_class); known != priorities_.end())
    job.priority = known->second;
  for (const PodSetAsk& set : ask.sets) {
    if (set.count == 0) continue;
    TaskGroup task;
    task.name = set.name;
    task.count = task.min = set.count;
    task.shape = InEngine(set.shape);
    task.shape["pods"] = 1;
    task.tolerate = set.tolerate;
    if (ask.kind == AskKind::kJob) {
      task.select[kEndlessKey] = "true";
      task.tolerate.push_back({kEndlessKey, "Exists", "", ""});
    }
    for (const auto& [key, value] : set.select) {
      if (flavor_keys_.count(key) != 0) task.select[key] = value;
    }
    job.tasks.push_back(std::move(task));
    if (set.topology == TopologyWish{} || !rooms_.used()) continue;
    job.topology = set.topology;
    for (std::string* level :
         {&job.topology.required, &job.topology.preferred, &job.topology.slice_level})
      *level = rooms_.EngineLevel(*level);
  }
  return job;
}

// What it holds is held, whatever quota says by now.
bool QuotaCore::Adopt(One& one) {
  sched::JobAdopt adopt;
  adopt.job = JobOf(one.ask);
  const Queue* queue = QueueNamed(one.ask.queue);
  const Queue* cluster_queue = QueueNamed(
      !one.ask.cluster_queue.empty() || queue == nullptr ? one.ask.cluster_queue : queue->parent);
  if (cluster_queue == nullptr || queue == nullptr || adopt.job.tasks.empty()) return false;
  adopt.job.topology = {};
  const auto in = [&] {
    one.at = At::kIn;
    one.why.clear();
    ++admitted_;
    return true;
  };
  if (SeatInRooms(one, adopt.job, adopt.seats) && TakeEvent(adopt)) return in();
  adopt.seats.clear();
  for (const TaskGroup& task : adopt.job.tasks) {
    std::map<std::string, std::string> flavors;
    const Flavors& given = one.ask.reserved ? one.ask.flavors : one.given;
    if (const auto said = given.find(task.name); said != given.end()) flavors = said->second;
    for (const QuotaEntry& entry : cluster_queue->quota) {
      if (task.shape.count(InEngine(entry.resource)) != 0)
        flavors.try_emplace(entry.resource, entry.flavor);
    }
    const std::string node = NodeFor(flavors);
    if (node.empty()) return false;
    for (int rank = 0; rank < task.count; ++rank) adopt.seats.push_back({task.name, rank, node});
  }
  return TakeEvent(std::move(adopt)) && in();
}

void QuotaCore::Leave(One& one, bool finished) {
  if (one.at == At::kOut) return;
  const bool was_in = one.at == At::kIn;
  if (was_in) --admitted_;
  one.to_admit.reset();
  one.at = At::kOut;
  if (rebuild_) return;
  TakeEvent(sched::JobEnd{one.ask.meta.uid,
                          finished && was_in ? sched::JobVerb::kFinish : sched::JobVerb::kCancel});
}

// HoldAndDrain takes back what was let in, Hold what only reserves quota while others check it.
std::optional<Evict> QuotaCore::StoppedUnder(const Ask& ask) const {
  if (!ask.reserved) return std::nullopt;
  const bool running = ask.kind == AskKind::kJob || ask.admitted;
  const auto& stopped = running ? queues_.holds.drained : queues_.holds.stopped;
  const Queue* local = QueueNamed(ask.queue);
  const std::string& cluster_queue =
      ask.cluster_queue.empty() && local != nullptr ? local->parent : ask.cluster_queue;
  for (const std::string& queue : {cluster_queue, ask.queue}) {
    if (stopped.count(queue) != 0)
      return Evict{ask.meta.uid, IsLocalQueue(queue) ? "LocalQueueStopped" : "ClusterQueueStopped",
                   queues_.holds.held.at(queue)};
  }
  return std::nullopt;
}

// Why it cannot even wait; empty where it can.
std::string QuotaCore::Inadmissible(const One& one) const {
  const Ask& ask = one.ask;
  if (ask.queue.empty()) return "no queue is named";
  const Queue* local = QueueNamed(ask.queue);
  const std::string local_name = ask.queue.substr(ask.queue.find('/') + 1);
  if (local == nullptr) return fmt::format("LocalQueue {} doesn't exist", local_name);
  const Queue* cluster_queue = QueueNamed(local->parent);
  if (cluster_queue == nullptr) return fmt::format("ClusterQueue {} doesn't exist", local->parent);
  for (const std::string& queue : {ask.queue, local->parent}) {
    if (const auto held = queues_.holds.held.find(queue); held != queues_.holds.held.end())
      return held->second;
  }
  if (std::string why = TopologyTrouble(ask, *cluster_queue); !why.empty()) return why;
  for (const PodSetAsk& set : ask.sets) {
    for (const auto& [resource, amount] : set.shape) {
      if (std::string why = NoFlavorFor(*cluster_queue, set, resource); !why.empty())
        return fmt::format("couldn't assign flavors to pod set {}: {}", set.name, why);
    }
  }
  return "";
}

void QuotaCore::Refuse(One& one, std::string why, std::vector<Act>& acts) {
  one.why = std::move(why);
  if (one.said == one.why || one.busy) return;
  one.said = one.why;
  if (one.ask.kind == AskKind::kWorkload) one.busy = true;
  acts.push_back(SayWaiting{one.ask.meta.uid, "Inadmissible", one.why});
}

void QuotaCore::Submit(One& one, std::vector<Act>& acts) {
  if (std::string why = Inadmissible(one); !why.empty()) return Refuse(one, std::move(why), acts);
  one.why.clear();
  const Job job = JobOf(one.ask);
  if (job.tasks.empty()) return Refuse(one, "it asks for no pods", acts);
  if (TakeEvent(sched::JobSubmit{job})) {
    one.at = At::kSubmitted;
  } else {
    Refuse(one, troubles_.empty() ? "it cannot be read" : troubles_.back(), acts);
  }
}

// A Job that a Workload stands for: it runs while, and only while, that is let in.
void QuotaCore::LookAtOwner(One& job, One& workload, std::vector<Act>& acts) {
  Leave(job, false);
  if (job.ask.finished) {
    if (workload.ask.finished || workload.busy) return;
    workload.busy = true;
    acts.push_back(Finish{workload.ask.meta.uid, job.ask.succeeded});
  } else if (workload.ask.admitted && !workload.busy && !job.ask.runs) {
    job.busy = true;
    acts.push_back(Start{job.ask.meta.uid, UpdateFor(workload.ask.flavors)});
  } else if (!workload.ask.reserved && !workload.busy && job.ask.runs) {
    job.busy = true;
    acts.push_back(Hold{job.ask.meta.uid});
  }
}

void QuotaCore::Look(One& one, std::vector<Act>& acts) {
  const Ask& ask = one.ask;
  if (one.busy || VersionOf(ask) < one.ignore_below) return;
  if (ask.kind == AskKind::kJob) {
    const auto stands = workload_of_.find(ask.meta.uid);
    if (stands != workload_of_.end()) {
      const auto workload = all_.find(stands->second);
      if (workload != all_.end()) return LookAtOwner(one, workload->second, acts);
    }
  }
  if (ask.finished || ask.meta.deleted || ask.covered) return Leave(one, ask.finished);
  if (!ask.active) {
    Leave(one, false);
    if (!ask.reserved) return;
    one.busy = true;
    acts.push_back(Evict{ask.meta.uid, "Deactivated", "The workload is deactivated"});
    return;
  }
  if (auto stopped = StoppedUnder(ask)) {
    Leave(one, false);
    one.busy = true;
    acts.push_back(std::move(*stopped));
    return;
  }
  if (one.evicting && ask.reserved) {  // its eviction was not written
    one.busy = true;
    acts.push_back(*one.evicting);
    return;
  }
  one.evicting.reset();
  if (one.to_admit) {
    one.busy = true;
    acts.push_back(*std::exchange(one.to_admit, {}));
    return;
  }
  if (ask.reserved) {
    if (one.at == At::kSubmitted) Leave(one, false);
    if (one.at == At::kOut && !Adopt(one))
      one.why = "what it holds cannot be counted: its queue is gone";
    return;
  }
  if (ask.kind == AskKind::kJob && ask.runs) {
    Leave(one, false);
    one.busy = true;
    acts.push_back(Hold{ask.meta.uid});
    return;
  }
  if (one.at == At::kIn) Leave(one, false);  // somebody took it back
  if (one.at == At::kOut) Submit(one, acts);
}

// ---- decisions

void QuotaCore::Follow(const sched::Decision& decision, std::vector<Act>& acts) {
  const auto named = [&](const std::string& uid) -> One* {
    const auto found = all_.find(uid);
    return found == all_.end() ? nullptr : &found->second;
  };
  const auto admit = [&](One& one, Flavors flavors) {
    const Queue* local = QueueNamed(one.ask.queue);
    Admit act;
    act.uid = one.ask.meta.uid;
    act.cluster_queue = local == nullptr ? "" : local->parent;
    act.pods = UpdateFor(flavors);
    act.checked = queues_.checked.count(act.cluster_queue) != 0;
    act.places = TakePlaces(act.uid);
    one.given = flavors, one.placed = act.places;
    act.flavors = std::move(flavors);
    one.at = At::kIn;
    one.why.clear(), one.said.clear();
    ++admitted_;
    if (one.evicting) {  // it was let go a moment ago, and that is still being written
      one.to_admit = std::move(act);
      return;
    }
    one.busy = true;
    acts.push_back(std::move(act));
  };
  if (const auto* let_in = std::get_if<sched::AdmitDecision>(&decision.body)) {
    One* one = named(let_in->job);
    Flavors flavors;
    for (const auto& [set, given] : let_in->flavors) {
      for (const auto& [resource, flavor] : given) flavors[set][FromEngine(resource)] = flavor;
    }
    if (one != nullptr && one->at == At::kSubmitted) admit(*one, std::move(flavors));
  } else if (const auto* bind = std::get_if<sched::BindDecision>(&decision.body)) {
    One* one = named(bind->job);  // of whoever asks for nothing that quota is given in
    if (one != nullptr && one->at == At::kSubmitted) admit(*one, {});
  } else if (const auto* evict = std::get_if<sched::EvictDecision>(&decision.body)) {
    One* one = named(evict->job);
    if (one == nullptr || one->at != At::kIn) return;
    // The engine has it among those who wait, at the place that it had.
    one->at = At::kSubmitted;
    --admitted_;
    one->busy = true;
    one->evicting = Evict{one->ask.meta.uid, "Preempted",
                          evict->for_job.empty()
                              ? "Preempted: " + evict->code
                              : fmt::format("Preempted to accommodate a workload (UID: {}): {}",
                                            evict->for_job, evict->code)};
    acts.push_back(*one->evicting);
  } else if (const auto* pending = std::get_if<sched::PendingDecision>(&decision.body)) {
    One* one = named(pending->job);
    if (one == nullptr || one->at != At::kSubmitted) return;
    std::string why;
    bool never = false;
    for (const sched::Because& because : pending->because) {
      why += (why.empty() ? "" : "; ") + Words(because);
      never = never || because.code == "LIMIT" || because.code == "SHAPE";
    }
    if (never) return Refuse(*one, std::move(why), acts);
    one->why = std::move(why);
  } else if (const auto* reject = std::get_if<sched::RejectDecision>(&decision.body)) {
    One* one = named(reject->job);
    if (one == nullptr || one->at != At::kSubmitted) return;
    one->at = At::kOut;  // the engine has forgotten it; another quota makes the engine anew
    Refuse(*one, Words(reject->why), acts);
  }
}

void QuotaCore::Decide(int64_t now_ms, std::vector<Act>& acts) {
  now_ = std::max(now_, now_ms);
  while (!again_.empty() && again_.begin()->first <= now_) {
    touched_.insert(again_.begin()->second);
    again_.erase(again_.begin());
  }
  constexpr int kMostRounds = 20;
  for (int round = 0; round < kMostRounds; ++round) {
    if (rebuild_) Rebuild();
    std::vector<One*> ready;
    for (const std::string& uid : std::exchange(touched_, {})) {
      const auto one = all_.find(uid);
      if (one != all_.end()) ready.push_back(&one->second);
    }
    // Who holds quota before who asks for some; then first come, first served.
    std::sort(ready.begin(), ready.end(), [](const One* a, const One* b) {
      const auto key = [](const One* one) {
        return std::tuple(!one->ask.reserved, one->ask.meta.created.value_or(TimePoint{}),
                          std::string_view(one->ask.meta.ns), std::string_view(one->ask.meta.name));
      };
      return key(a) < key(b);
    });
    for (One* one : ready) Look(*one, acts);
    engine_.Run(now_, decisions_);
    std::vector<sched::Decision> decisions;
    decisions.swap(decisions_);
    NoteSeats(decisions);
    for (const sched::Decision& decision : decisions) Follow(decision, acts);
    if (touched_.empty() && !rebuild_ && decisions_.empty()) break;
  }
}

}  // namespace muster::kueue
