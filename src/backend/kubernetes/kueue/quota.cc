#include "backend/kubernetes/kueue/quota.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/object.h"

namespace muster::kueue {

namespace {

constexpr int64_t kAgainMs = 1000;
constexpr size_t kMostTroubles = 1000;

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
  if (!ask.owner_job.empty()) workload_of_[ask.owner_job] = ask.meta.uid;
  LookAgainAt(ask.meta.uid);
}

void QuotaCore::LookAgainAt(const std::string& uid) {
  const auto found = all_.find(uid);
  if (found == all_.end()) return;
  touched_.insert(uid);
  if (!found->second.ask.owner_job.empty()) touched_.insert(found->second.ask.owner_job);
}

void QuotaCore::Remove(const std::string& uid) {
  const auto found = all_.find(uid);
  if (found == all_.end()) return;
  Leave(found->second, true);
  wake_.erase({found->second.wake_at, uid});
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
  LookAgainAt(uid);
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
    FixCounts(one);
    act.counts = one.counts;
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
    // One that may get fewer asks for all of them again.
    if (MayGetFewer(one->ask)) Leave(*one, false);
    one->busy = true;
    one->evicting = Evict{one->ask.meta.uid,
                          "Preempted",
                          evict->for_job.empty()
                              ? "Preempted: " + evict->code
                              : fmt::format("Preempted to accommodate a workload (UID: {}): {}",
                                            evict->for_job, evict->code),
                          {}};
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

int64_t QuotaCore::NextAt() const {
  int64_t next = -1;
  for (const auto* due : {&again_, &wake_}) {
    if (!due->empty() && (next < 0 || due->begin()->first < next)) next = due->begin()->first;
  }
  return next;
}

void QuotaCore::Decide(int64_t now_ms, TimePoint wall, std::vector<Act>& acts) {
  now_ = std::max(now_, now_ms);
  wall_ = wall;
  for (auto* due : {&again_, &wake_}) {
    for (; !due->empty() && due->begin()->first <= now_; due->erase(due->begin()))
      LookAgainAt(due->begin()->second);
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
        // Who came in vain stands behind who came since (RequeuingTimestamp "Eviction").
        const TimePoint came = one->ask.meta.created.value_or(TimePoint{});
        return std::tuple(!one->ask.reserved, one->ask.timed_out_at.value_or(came),
                          std::string_view(one->ask.meta.ns), std::string_view(one->ask.meta.name));
      };
      return key(a) < key(b);
    });
    for (One* one : ready) Look(*one, acts);
    engine_.Run(now_, decisions_);
    std::vector<sched::Decision> decisions;
    decisions.swap(decisions_);
    NoteSeats(decisions);
    CountSeats(decisions);
    for (const sched::Decision& decision : decisions) Follow(decision, acts);
    if (touched_.empty() && !rebuild_ && decisions_.empty()) break;
  }
}

}  // namespace muster::kueue
