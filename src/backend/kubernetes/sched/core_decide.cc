// One round: the engine made again where it must be, gangs handed in, decisions followed.
#include <algorithm>

#include <fmt/format.h>

#include "backend/kubernetes/sched/core.h"
#include "base/strings.h"

namespace muster::kubesched {

bool Core::TakeEvent(sched::EventBody body) {
  const auto taken = engine_.Take({now_, std::move(body)}, decisions_);
  if (!taken.ok()) Trouble(taken.error().message);
  return taken.ok();
}

// ---- the engine from what is there

void Core::AddNode(const NodeFacts& node) {
  const sched::NodeAdd spec = SpecOf(node);
  if (!TakeEvent(spec)) return;
  if (!node.usable) TakeEvent(sched::NodeChange{spec.name, sched::NodeVerb::kCordon});
  if (suspect_nodes_.count(spec.name) != 0)
    TakeEvent(sched::NodeHealth{spec.name, sched::Health::kSuspect});
}

// It holds its room, and nothing may take it from it.
bool Core::HoldForeign(const PodFacts& pod) {
  sched::JobAdopt adopt;
  adopt.job.name = "~" + pod.id.uid;
  adopt.job.queue = "";
  adopt.job.preemptible = false;
  TaskGroup task;
  task.name = "pod";
  task.shape = pod.shape;
  adopt.job.tasks.push_back(std::move(task));
  adopt.seats.push_back({"pod", 0, pod.node});
  return engine_.Take({now_, std::move(adopt)}, decisions_).ok();
}

// Where it does not fit as we count, nothing more is placed on that node: what we do not understand
// is not risked.
void Core::AddForeign(const PodFacts& pod) {
  if (nodes_.count(pod.node) == 0 || HoldForeign(pod)) return;
  if (suspect_nodes_.insert(pod.node).second)
    Trouble(
        fmt::format("node {}: {} and what else runs there does not fit as its kubelet counts; "
                    "nothing more is placed there",
                    pod.node, pod.id.Key()));
  TakeEvent(sched::NodeHealth{pod.node, sched::Health::kSuspect});
}

TimePoint Core::Age(const Gang& gang) const {
  TimePoint first = TimePoint::max();
  for (const std::string& uid : gang.pods) first = std::min(first, pods_.at(uid).facts->created);
  return first;
}

void Core::Rebuild() {
  ++stats_.rebuilds;
  rebuild_ = false;
  engine_ = sched::Engine();
  decisions_.clear();
  lost_nodes_.clear(), rejected_.clear(), waiting_.clear();
  std::vector<std::string> levels = options_.levels;
  levels.emplace_back("node");
  TakeEvent(sched::TopologyLevels{levels});
  for (const auto& [name, node] : nodes_) AddNode(*node);
  for (const Flavor& flavor : flavors_) TakeEvent(sched::FlavorAdd{flavor});
  for (const Queue& queue : queues_) {
    // One that cannot be in the tree limits nobody: nothing goes through it.
    if (!TakeEvent(sched::QueueAdd{queue}))
      words_.held.try_emplace(queue.name, "its queue cannot be used: " + troubles_.back());
  }
  for (const auto& [uid, pod] : pods_) {
    const PodFacts& facts = *pod.facts;
    const std::string& node = facts.node.empty() ? pod.node : facts.node;
    if (!facts.done && !node.empty() && nodes_.count(node) == 0) lost_nodes_.insert(node);
    if (!Ours(facts) && !facts.node.empty() && !facts.done) AddForeign(facts);
  }
  std::vector<std::pair<TimePoint, Gang*>> seated;
  for (auto& [name, gang] : gangs_) {
    bool sits = false;
    for (const std::string& uid : gang.pods) {
      Pod& pod = pods_.at(uid);
      if (Unsent(pod)) Unseat(pod);  // decided again
      if (pod.at == At::kWaiting) pod.task = pod.rank = -1;
      sits = sits || (!pod.deleting && pod.at != At::kWaiting);
    }
    gang.to_bind.clear(), gang.kept.clear(), gang.seats.clear(), gang.task_names.clear();
    gang.open = 0, gang.turn = 0;
    gang.apart = false;
    gang.phase = Phase::kGathering;
    touched_.insert(name);
    if (sits) seated.emplace_back(Age(gang), &gang);
  }
  binding_.clear(), keeping_.clear();
  // Of one age in the order of names, in which they are already.
  std::stable_sort(seated.begin(), seated.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [age, gang] : seated) AdoptGang(*gang);
}

void Core::AdoptGang(Gang& gang) {
  std::vector<std::string> uids;
  int waiting = 0;
  for (const std::string& uid : gang.pods) {
    const Pod& pod = pods_.at(uid);
    if (pod.deleting) continue;
    const bool waits = pod.at == At::kWaiting;
    if (waits && (pod.facts->gated || !pod.facts->unsupported.empty())) continue;
    waiting += waits ? 1 : 0;
    uids.push_back(uid);
  }
  sched::JobAdopt adopt;
  adopt.job = JobFor(gang, uids);
  for (const std::string& uid : uids) {
    const Pod& pod = pods_.at(uid);
    if (pod.at == At::kWaiting || nodes_.count(pod.node) == 0) continue;
    gang.open += pod.at == At::kBinding ? 1 : 0;
    adopt.seats.push_back({gang.task_names[static_cast<size_t>(pod.task)], pod.rank, pod.node});
  }
  gang.phase = Phase::kPlaced;
  const int bound = static_cast<int>(uids.size()) - waiting;
  const int min = std::max(1, MinOf(gang));
  gang.placed_said = waiting == 0;
  if (adopt.seats.empty()) return;
  if (!engine_.Take({now_, adopt}, decisions_).ok()) {
    // Its nodes hold more than we count: each pod for itself, and the node in question is left
    // alone.
    for (const std::string& uid : uids) {
      const Pod& pod = pods_.at(uid);
      PodFacts facts = *pod.facts;
      facts.node = pod.node;
      if (pod.at != At::kWaiting) AddForeign(facts);
    }
    gang.apart = true;
    gang.why = "its nodes hold more than their kubelets would admit; it is left as it is";
    return;
  }
  const bool owed = std::any_of(uids.begin(), uids.end(), [&](const std::string& uid) {
    return pods_.at(uid).facts->controlled;
  });
  const HalfBound judged = JudgeHalfBound(bound, waiting, gang.ended, min, owed);
  if (judged == HalfBound::kEvict) {
    gang.condemned = "some of its pods are gone, and nobody makes them anew";
    condemned_.insert(gang.name);
  }
  if (judged == HalfBound::kWait || judged == HalfBound::kEvict) return;
  for (const std::string& uid : uids) {
    const Pod& pod = pods_.at(uid);
    if (pod.at == At::kWaiting)
      TakeEvent(
          sched::TaskAgain{gang.name, gang.task_names[static_cast<size_t>(pod.task)], pod.rank});
  }
}

// ---- gangs into the engine

int Core::Need(const Gang& gang) const { return std::max(1, MinOf(gang) - gang.ended); }

// Tasks of pods that are alike; ranks in the order of index and name. Says who sits where in
// gang.seats.
Job Core::JobFor(Gang& gang, const std::vector<std::string>& uids) {
  std::vector<Pod*> members;
  for (const std::string& uid : uids) members.push_back(&pods_.at(uid));
  std::sort(members.begin(), members.end(), [](const Pod* a, const Pod* b) {
    return std::tie(a->facts->role, a->facts->index, a->facts->id.name) <
           std::tie(b->facts->role, b->facts->index, b->facts->id.name);
  });
  Job job;
  job.name = gang.name;
  job.queue = "";
  job.priority = members.empty() ? 0 : INT32_MIN;
  gang.seats.clear(), gang.task_names.clear();
  std::vector<const PodFacts*> like;
  for (Pod* pod : members) {
    const PodFacts& facts = *pod->facts;
    const auto same = std::find_if(like.begin(), like.end(), [&](const PodFacts* other) {
      return other->role == facts.role && other->shape == facts.shape &&
             other->select == facts.select && other->tolerate == facts.tolerate;
    });
    const size_t task = static_cast<size_t>(same - like.begin());
    if (same == like.end()) {
      like.push_back(&facts);
      TaskGroup group;
      group.name = fmt::format("{}{}", facts.role.empty() ? "pods" : facts.role,
                               task == 0 ? "" : fmt::format("-{}", task));
      group.count = 0;
      group.shape = facts.shape, group.select = facts.select, group.tolerate = facts.tolerate;
      gang.task_names.push_back(group.name);
      gang.seats.emplace_back();
      job.tasks.push_back(std::move(group));
    }
    pod->task = static_cast<int>(task);
    pod->rank = job.tasks[task].count++;
    gang.seats[task].push_back(facts.id.uid);
    job.priority = std::max(job.priority, facts.priority);
  }
  const int all = static_cast<int>(members.size()), need = std::min(Need(gang), all);
  for (TaskGroup& task : job.tasks) task.min = need < all ? 0 : task.count;
  if (need < all) job.elastic_min = need, job.elastic_max = all;
  TakeWishes(gang, job);
  TakeRoleMinima(gang, like, job);
  gang.queue = job.queue;
  job.queue = QuotaQueue(job.queue);
  return job;
}

void Core::Submit(Gang& gang) {
  std::vector<std::string> uids;
  for (const std::string& uid : gang.pods) {
    const Pod& pod = pods_.at(uid);
    if (pod.deleting || pod.facts->gated || pod.facts->leaving || pod.at != At::kWaiting) continue;
    if (!pod.facts->unsupported.empty()) {
      gang.why = pod.facts->id.name + ": " + pod.facts->unsupported;
      waiting_.insert(gang.name);
      return;
    }
    uids.push_back(uid);
  }
  const auto waits = [&](std::string why) {
    if (gang.waits_since < 0) gang.waits_since = now_;
    gang.why = std::move(why);
    waiting_.insert(gang.name);
  };
  if (uids.empty()) return;
  if (now_ < gang.rests_until) return waits(gang.condemned);
  if (const GroupFacts* group = GroupFactsOf(gang); group != nullptr && group->suspended)
    return waits(fmt::format("its Job {} is suspended", gang.group));
  if (MinOf(gang) < 0)
    return waits(fmt::format("its {} {} is not there: nobody says how many pods start together",
                             gang.dialect == Dialect::kJob      ? "Job"
                             : gang.dialect == Dialect::kJobSet ? "JobSet"
                                                                : "PodGroup",
                             gang.group));
  if (const GroupFacts* group = GroupFactsOf(gang); group != nullptr && !group->unsupported.empty())
    return waits(group->unsupported);
  if (static_cast<int>(uids.size()) < Need(gang))
    return waits(fmt::format("{} pods start together, {} are there", Need(gang), uids.size()));
  const Job job = JobFor(gang, uids);
  if (std::string trouble = QueueTrouble(gang); !trouble.empty()) return waits(std::move(trouble));
  gang.phase = Phase::kSubmitted;
  gang.why.clear();
  if (!TakeEvent(sched::JobSubmit{job})) {
    gang.phase = Phase::kGathering;
    return waits("the scheduler cannot take it: " + troubles_.back());
  }
  if (gang.waits_since < 0) gang.waits_since = now_;
  waiting_.insert(gang.name);
}

void Core::Withdraw(Gang& gang) {
  gang.phase = Phase::kGathering;
  if (!rebuild_) TakeEvent(sched::JobEnd{gang.name, sched::JobVerb::kCancel});
}

// ---- decisions

void Core::Seat(const sched::BindDecision& bind) {
  const auto found = gangs_.find(bind.job);
  if (found == gangs_.end()) return;
  Gang& gang = found->second;
  const auto task = std::find(gang.task_names.begin(), gang.task_names.end(), bind.task);
  if (task == gang.task_names.end()) return;
  const size_t t = static_cast<size_t>(task - gang.task_names.begin());
  const std::string uid = gang.seats[t][static_cast<size_t>(bind.rank)];
  if (uid.empty()) {
    TakeEvent(sched::TaskEnd{bind.job, bind.task, bind.rank});
    return;
  }
  Pod& pod = pods_.at(uid);
  if (pod.at == At::kBound || pod.at == At::kBinding) {
    if (pod.node != bind.node) rebuild_ = true;  // a bound pod cannot move
    return;
  }
  if (gang.phase == Phase::kSubmitted) ++stats_.gangs_placed;
  gang.phase = Phase::kPlaced;
  gang.why.clear();
  gang.waits_since = -1;
  waiting_.erase(gang.name);
  gang.open += pod.at == At::kSeated ? 0 : 1;
  pod.at = At::kSeated, pod.node = bind.node;
  QueueToBind(gang, uid);
}

void Core::Follow(const sched::Decision& decision, std::vector<Act>& acts) {
  const auto gang_of = [&](const std::string& name) -> Gang* {
    const auto found = gangs_.find(name);
    return found == gangs_.end() ? nullptr : &found->second;
  };
  const auto& body = decision.body;
  if (const auto* bind = std::get_if<sched::BindDecision>(&body)) {
    Seat(*bind);
  } else if (const auto* evict = std::get_if<sched::EvictDecision>(&body)) {
    if (Gang* gang = gang_of(evict->job))
      Evict(*gang,
            evict->for_job.empty() ? evict->code
                                   : fmt::format("{} for {}", evict->code, evict->for_job),
            acts);
  } else if (const auto* shrink = std::get_if<sched::ShrinkDecision>(&body)) {
    Gang* gang = gang_of(shrink->job);
    for (size_t t = 0; gang != nullptr && t < gang->task_names.size(); ++t) {
      if (gang->task_names[t] != shrink->task) continue;
      for (const int rank : shrink->ranks) {
        const std::string uid = gang->seats[t][static_cast<size_t>(rank)];
        if (uid.empty() || pods_.at(uid).deleting || pods_.at(uid).at == At::kWaiting) continue;
        Pod& pod = pods_.at(uid);
        if (pod.at != At::kBound) --gang->open;
        gang->to_bind.erase(uid);
        gang->seats[t][static_cast<size_t>(rank)].clear();
        pod.task = pod.rank = -1;
        if (pod.at == At::kSeated) {
          pod.at = At::kWaiting, pod.node.clear();
          continue;
        }
        TellToLeave(*gang, pod, shrink->code, acts);
      }
    }
  } else if (const auto* pending = std::get_if<sched::PendingDecision>(&body)) {
    if (Gang* gang = gang_of(pending->job)) {
      gang->why.clear();
      for (const sched::Because& because : pending->because)
        gang->why += (gang->why.empty() ? "" : "; ") + TextOf(because);
    }
  } else if (const auto* reject = std::get_if<sched::RejectDecision>(&body)) {
    if (Gang* gang = gang_of(reject->job)) {
      gang->phase = Phase::kGathering;
      gang->why = TextOf(reject->why);
      rejected_.insert(gang->name);
      Say(*gang, "GangRefused", "no node of this cluster could hold it: " + gang->why, true, acts);
    }
  }
}

void Core::FollowAll(std::vector<Act>& acts) {
  while (!decisions_.empty()) {
    std::vector<sched::Decision> decisions;
    decisions.swap(decisions_);
    for (const sched::Decision& decision : decisions) Follow(decision, acts);
  }
}

void Core::ForgetKept() {
  for (auto at = keeping_.begin(); at != keeping_.end();) {
    Gang& gang = gangs_.at(*at);
    for (auto kept = gang.kept.begin(); kept != gang.kept.end();) {
      if (kept->second.until > now_) {
        ++kept;
        continue;
      }
      const auto [task, rank] = kept->first;
      TakeEvent(sched::TaskEnd{gang.name, gang.task_names[static_cast<size_t>(task)], rank});
      kept = gang.kept.erase(kept);
    }
    GatherIfUnseated(gang);
    at = gang.kept.empty() ? keeping_.erase(at) : std::next(at);
  }
}

void Core::Decide(int64_t now_ms, std::vector<Act>& acts, size_t room) {
  now_ = std::max(now_, now_ms);
  ForgetKept();
  RepeatBinds(acts);
  for (; !resting_.empty() && resting_.begin()->first <= now_; resting_.erase(resting_.begin()))
    touched_.insert(resting_.begin()->second);
  constexpr int kMostRounds = 20;
  for (int round = 0; round < kMostRounds; ++round) {
    if (rebuild_) Rebuild();
    EvictCondemned(acts);
    EvictDrained(acts);
    std::vector<Gang*> ready;
    for (const std::string& name : std::exchange(touched_, {})) {
      const auto gang = gangs_.find(name);
      if (gang != gangs_.end() && gang->second.phase == Phase::kGathering)
        ready.push_back(&gang->second);
    }
    if (ready.size() > 1) {
      std::vector<std::pair<TimePoint, Gang*>> by_age;
      for (Gang* gang : ready) by_age.emplace_back(Age(*gang), gang);
      std::stable_sort(by_age.begin(), by_age.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t i = 0; i < ready.size(); ++i) ready[i] = by_age[i].second;
    }
    for (Gang* gang : ready) Submit(*gang);
    engine_.Run(now_, decisions_);
    FollowAll(acts);
    if (!rebuild_ && touched_.empty()) break;
  }
  EmitBinds(room, acts);
  SayAll(acts);
}

int64_t Core::NextAt() const {
  int64_t next = -1;
  const auto at = [&](int64_t t) { next = next < 0 ? t : std::min(next, t); };
  if (!again_.empty()) at(again_.begin()->first);
  if (!resting_.empty()) at(resting_.begin()->first);
  for (const std::string& name : keeping_) {
    for (const auto& [seat, kept] : gangs_.at(name).kept) at(kept.until);
  }
  for (const auto& [tree, pods] : leaving_in_) {
    for (const auto& [uid, since] : pods) {
      if (!binding_.empty() && since + options_.hold_quota_ms > now_)
        at(since + options_.hold_quota_ms);
    }
  }
  if (!waiting_.empty()) at(std::max(look_at_waiting_, now_ + 1000));
  return next;
}

}  // namespace muster::kubesched
