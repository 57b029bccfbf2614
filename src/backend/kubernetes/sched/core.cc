// What changed in the cluster, told to the engine as it comes.
#include "backend/kubernetes/sched/core.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "sched/script_writer.h"

namespace muster::kubesched {

namespace {

std::string TextOfSpec(const sched::NodeAdd& spec) {
  std::string text;
  sched::AppendEvent({0, spec}, false, text);
  return text;
}

}  // namespace

HalfBound JudgeHalfBound(int bound, int waiting, int ended, int min, bool owed) {
  if (bound + ended >= min) return HalfBound::kWhole;
  if (bound + ended + waiting >= min) return HalfBound::kComplete;
  return owed || waiting == 0 || bound == 0 ? HalfBound::kWait : HalfBound::kEvict;
}

Core::Core(CoreOptions options) : options_(std::move(options)) {}
Core::~Core() = default;

void Core::Trouble(std::string text) {
  constexpr size_t kMost = 1000;
  if (troubles_.size() < kMost) troubles_.push_back(std::move(text));
}

// ---- nodes

sched::NodeAdd Core::SpecOf(const NodeFacts& node) const {
  sched::NodeAdd spec = node.spec;
  for (const std::string& level : options_.levels) {
    const auto label = spec.labels.find(level);
    if (label == spec.labels.end()) {
      spec.at.clear();  // in no domain
      break;
    }
    spec.at.push_back(label->second);
  }
  return spec;
}

bool Core::NodeUsable(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found != nodes_.end() && found->second->usable;
}

void Core::SetNode(std::shared_ptr<const NodeFacts> node) {
  const std::string name = node->spec.name;
  auto& place = nodes_[name];
  const std::shared_ptr<const NodeFacts> before = std::exchange(place, std::move(node));
  if (rebuild_) return;
  if (before == nullptr && lost_nodes_.count(name) != 0) {
    rebuild_ = true;  // it comes back, perhaps as another machine
  } else if (before == nullptr) {
    AddNode(*place);
    touched_.insert(rejected_.begin(), rejected_.end());
    rejected_.clear();
  } else if (TextOfSpec(before->spec) != TextOfSpec(place->spec)) {
    rebuild_ = true;
  } else if (before->usable != place->usable) {
    TakeEvent(sched::NodeChange{
        name, place->usable ? sched::NodeVerb::kUncordon : sched::NodeVerb::kCordon});
    if (suspect_nodes_.erase(name) != 0)
      TakeEvent(sched::NodeHealth{name, sched::Health::kAccepted});
    if (!place->usable) LeaveNode(name);
  }
}

// Its pods go one by one, as the cluster removes them; what was about to be bound there is placed
// elsewhere, or its gang waits again.
void Core::RemoveNode(const std::string& name) {
  if (nodes_.erase(name) == 0 || rebuild_) return;
  lost_nodes_.insert(name);
  TakeEvent(sched::NodeHealth{name, sched::Health::kOut});
  LeaveNode(name);
}

void Core::SetUnreadableQueues(std::map<std::string, std::string> why) {
  if (why == unreadable_) return;
  unreadable_ = std::move(why);
  for (auto& [name, gang] : gangs_) {
    if (!TakeBack(gang) && gang.phase == Phase::kSubmitted) Withdraw(gang);
    touched_.insert(name);
  }
}

// ---- groups

void Core::SetGroup(const GroupFacts& group) {
  const std::string key = GroupKey(group.dialect, group.meta.ns, group.meta.name);
  const auto found = groups_.find(key);
  const bool same = found != groups_.end() && found->second.SameWishes(group);
  groups_[key] = group;
  const auto name = gang_names_.find(key);
  if (name == gang_names_.end() || same) return;
  Gang& gang = gangs_.at(name->second);
  // A change of mind does not move what runs.
  if (gang.phase == Phase::kPlaced && !TakeBack(gang)) return;
  if (gang.phase == Phase::kSubmitted) Withdraw(gang);
  touched_.insert(gang.name);
  if ((group.dialect != Dialect::kJob && group.dialect != Dialect::kJobSet) || group.min > 0)
    return;
  // The Job turns out to be none that starts together: its pods are each their own.
  const std::set<std::string> uids = gang.pods;
  for (const std::string& uid : uids) {
    Pod& pod = pods_.at(uid);
    gangs_.at(pod.gang).pods.erase(uid);
    Join(uid, pod);
  }
  DropIfEmpty(name->second);
}

void Core::RemoveGroup(Dialect dialect, const std::string& key) {
  const size_t slash = key.find('/');
  if (slash == std::string::npos) return;
  const std::string group = GroupKey(dialect, key.substr(0, slash), key.substr(slash + 1));
  if (groups_.erase(group) == 0) return;
  const auto name = gang_names_.find(group);
  if (name == gang_names_.end()) return;
  Gang& gang = gangs_.at(name->second);
  if (!TakeBack(gang) && gang.phase == Phase::kSubmitted) Withdraw(gang);
  touched_.insert(gang.name);
}

const GroupFacts* Core::GroupFactsOf(const Gang& gang) const {
  const auto found = groups_.find(GroupKey(gang.dialect, gang.ns, gang.group));
  return found == groups_.end() ? nullptr : &found->second;
}

// Pods that must start together; -1: the object that says it is not there.
int Core::MinOf(const Gang& gang) const {
  if (gang.dialect == Dialect::kNone) return 1;
  if (const GroupFacts* group = GroupFactsOf(gang)) return std::max(1, group->min);
  int size = 0;
  for (const std::string& uid : gang.pods) size = std::max(size, pods_.at(uid).facts->group_size);
  return size > 0 ? size : -1;
}

// ---- pods

Core::Gang& Core::GangOf(const PodFacts& pod) {
  Dialect dialect = pod.dialect;
  std::string group = pod.group;
  if (dialect == Dialect::kJobSet) {
    // One that names no queue is no gang of its own; its Jobs may be.
    const auto set = groups_.find(GroupKey(dialect, pod.id.ns, group));
    if (set != groups_.end() && set->second.min == 0) dialect = Dialect::kNone;
  }
  if (dialect == Dialect::kNone && !pod.owner_job.empty()) {
    // Until its Job was seen it may be one that starts together.
    const auto job = groups_.find(GroupKey(Dialect::kJob, pod.id.ns, pod.owner_job));
    if (job == groups_.end() || job->second.min > 0) dialect = Dialect::kJob, group = pod.owner_job;
  }
  const auto said = groups_.find(GroupKey(dialect, pod.id.ns, group));
  const bool alone = said != groups_.end() && said->second.min == 0 && dialect == Dialect::kNative;
  if (dialect == Dialect::kNone || alone) dialect = Dialect::kNone, group = pod.id.name;
  const std::string key = GroupKey(dialect, pod.id.ns, group);
  const auto known = gang_names_.find(key);
  if (known != gang_names_.end()) return gangs_.at(known->second);
  std::string name = pod.id.ns + "/" + group;
  if (gangs_.count(name) != 0) name = key;
  gang_names_[key] = name;
  Gang& gang = gangs_[name];
  gang.name = name, gang.ns = pod.id.ns, gang.group = group, gang.dialect = dialect;
  return gang;
}

// Of other schedulers, and of none: what they hold is held, nothing else is known of them.
void Core::SetForeign(Pod& pod, const PodFacts* before) {
  if (rebuild_) return;
  const auto holds = [](const PodFacts* facts) {
    return facts != nullptr && !facts->node.empty() && !facts->done;
  };
  const PodFacts& now = *pod.facts;
  if (holds(before) && holds(&now) && before->shape != now.shape) {
    rebuild_ = true;
  } else if (holds(&now) && !holds(before)) {
    if (nodes_.count(now.node) == 0) {
      lost_nodes_.insert(now.node);
      return;
    }
    if (HoldForeign(now)) return;
    LeaveNode(now.node);  // it was faster than what we have not sent yet
    AddForeign(now);
  } else if (holds(before) && !holds(&now)) {
    TakeEvent(sched::JobEnd{"~" + now.id.uid, sched::JobVerb::kFinish});
  }
}

void Core::SetPod(std::shared_ptr<const PodFacts> facts) {
  const std::string uid = facts->id.uid;
  const auto [found, fresh] = pods_.try_emplace(uid);
  Pod& pod = found->second;
  const std::shared_ptr<const PodFacts> before = std::exchange(pod.facts, std::move(facts));
  const PodFacts& now = *pod.facts;
  if (!Ours(now)) return SetForeign(pod, before.get());
  if (fresh) return Join(uid, pod);
  if (pod.at == At::kOver) return;
  if (now.done) {
    if (!now.refusal.empty() && suspect_nodes_.insert(now.node).second) {
      ++stats_.refused_pods;
      Trouble(fmt::format("node {} refused {} ({}): nothing more is placed there until it changes",
                          now.node, now.id.Key(), now.refusal));
      if (!rebuild_) TakeEvent(sched::NodeHealth{now.node, sched::Health::kSuspect});
      if (!rebuild_) LeaveNode(now.node);
    }
    return Leave(uid, pod);
  }
  if (!now.node.empty()) {
    const bool awaited = pod.node == now.node;
    if (pod.at == At::kBinding && awaited) return Bound(uid);
    if (pod.at == At::kBound && awaited) return;
    // Somebody else bound it.
    pod.at = At::kBound, pod.node = now.node;
    rebuild_ = true;
  } else if (now.leaving && (pod.at == At::kWaiting || Unsent(pod))) {
    return Leave(uid, pod);
  }
  touched_.insert(pod.gang);
}

void Core::RemovePod(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  Pod& pod = found->second;
  if (!Ours(*pod.facts)) {
    if (!pod.facts->node.empty() && !pod.facts->done && !rebuild_)
      TakeEvent(sched::JobEnd{"~" + uid, sched::JobVerb::kFinish});
  } else if (pod.at != At::kOver) {
    Leave(uid, pod);
  }
  pods_.erase(uid);
}

void Core::Join(const std::string& uid, Pod& pod) {
  const PodFacts& facts = *pod.facts;
  Gang& gang = GangOf(facts);
  pod.gang = gang.name;
  if (facts.done || (facts.leaving && facts.node.empty())) {
    pod.at = At::kOver;
    gang.ended += facts.done && !facts.failed ? 1 : 0;
    return DropIfEmpty(gang.name);
  }
  gang.pods.insert(uid);
  touched_.insert(gang.name);
  if (!facts.node.empty()) {
    pod.at = At::kBound, pod.node = facts.node;
    rebuild_ = true;
    return;
  }
  pod.at = At::kWaiting;
  if (gang.phase == Phase::kSubmitted) Withdraw(gang);
  if (gang.phase == Phase::kPlaced && !TakeBack(gang) && !TakeKeptSeat(gang, uid, pod))
    rebuild_ = true;
}

// The pod that a controller makes in the place of one that failed sits where that one sat.
bool Core::TakeKeptSeat(Gang& gang, const std::string& uid, Pod& pod) {
  for (auto kept = gang.kept.begin(); kept != gang.kept.end(); ++kept) {
    const auto [task, rank] = kept->first;
    if (kept->second.index != pod.facts->index || !NodeUsable(kept->second.node)) continue;
    pod.task = task, pod.rank = rank, pod.at = At::kSeated, pod.node = kept->second.node;
    gang.seats[static_cast<size_t>(task)][static_cast<size_t>(rank)] = uid;
    ++gang.open;
    QueueToBind(gang, uid);
    gang.kept.erase(kept);
    return true;
  }
  return false;
}

// What the pod held is given back, or kept for a moment for the one that comes in its place.
void Core::EmptySeat(Gang& gang, Pod& pod) {
  if (pod.task < 0) return;
  const size_t task = static_cast<size_t>(pod.task), rank = static_cast<size_t>(pod.rank);
  gang.seats[task][rank].clear();
  const PodFacts& facts = *pod.facts;
  const bool failed = !facts.done || facts.failed;
  const bool comes_back = !gang.apart && failed && facts.controlled && facts.index >= 0 &&
                          gang.pods.size() > 1 && facts.refusal.empty() && NodeUsable(pod.node);
  if (comes_back) {
    gang.kept[{pod.task, pod.rank}] = {now_ + options_.keep_seat_ms, pod.node, facts.index};
    keeping_.insert(gang.name);
  } else if (!rebuild_ && gang.apart) {
    TakeEvent(sched::JobEnd{"~" + facts.id.uid, sched::JobVerb::kFinish});
  } else if (!rebuild_) {
    TakeEvent(sched::TaskEnd{gang.name, gang.task_names[task], pod.rank});
  }
}

// Nothing of it is bound any more: what is left of it waits like any other.
void Core::GatherIfUnseated(Gang& gang) {
  if (gang.phase != Phase::kPlaced || !gang.kept.empty()) return;
  for (const std::string& uid : gang.pods) {
    const Pod& pod = pods_.at(uid);
    if (pod.at != At::kWaiting && !pod.deleting) return;
  }
  Withdraw(gang);
  gang.placed_said = gang.apart = false;
  touched_.insert(gang.name);
}

void Core::Leave(const std::string& uid, Pod& pod) {
  Gang& gang = gangs_.at(pod.gang);
  gang.ended += pod.facts->done && !pod.facts->failed ? 1 : 0;
  if (pod.deleting) {
    if (--leaving_on_[pod.node] <= 0) leaving_on_.erase(pod.node);
    for (auto& [tree, pods] : leaving_in_) pods.erase(uid);
  } else if (TakeBack(gang)) {
    // Nothing of it runs: what is left of it gathers again.
  } else if (pod.at == At::kWaiting) {
    if (gang.phase == Phase::kSubmitted) Withdraw(gang);
    if (gang.phase == Phase::kPlaced) EmptySeat(gang, pod);
  } else {
    if (pod.at != At::kBound) --gang.open;
    EmptySeat(gang, pod);
  }
  gang.to_bind.erase(uid);
  gang.pods.erase(uid);
  pod.at = At::kOver;
  touched_.insert(gang.name);
  GatherIfUnseated(gang);
  DropIfEmpty(gang.name);
}

void Core::DropIfEmpty(const std::string& name) {
  const auto found = gangs_.find(name);
  if (found == gangs_.end() || !found->second.pods.empty()) return;
  Gang& gang = found->second;
  if (gang.phase == Phase::kSubmitted) Withdraw(gang);
  if (gang.phase == Phase::kPlaced && !rebuild_)
    TakeEvent(sched::JobEnd{gang.name, sched::JobVerb::kFinish});
  UnqueueToBind(gang);
  for (auto* set : {&touched_, &waiting_, &keeping_, &rejected_, &condemned_}) set->erase(name);
  gang_names_.erase(GroupKey(gang.dialect, gang.ns, gang.group));
  const std::string copy = name;  // it may be the gang's own
  gangs_.erase(copy);
}

// ---- what became of our writes

void Core::Bound(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  Pod& pod = found->second;
  pod.asked = pod.refused = false;
  if (pod.at != At::kBinding) return;
  pod.at = At::kBound;
  pod.failures = 0;
  if (pod.deleting) return;
  Gang& gang = gangs_.at(pod.gang);
  if (--gang.open > 0 || gang.placed_said || !gang.to_bind.empty()) return;
  gang.placed_said = true;
  gang.refusals = 0;
  std::set<std::string> nodes;
  for (const std::string& member : gang.pods) nodes.insert(pods_.at(member).node);
  SayGang say;
  say.reason = "GangScheduled";
  say.gang = gang.name;
  say.message = fmt::format("{} pods on {} nodes", gang.pods.size(), nodes.size());
  to_say_.push_back(std::move(say));
}

void Core::NotBound(const std::string& uid, const std::string& refusal, bool final,
                    int64_t now_ms) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  Pod& pod = found->second;
  pod.asked = false;
  if (pod.at != At::kBinding) return;
  constexpr int kMostRefusals = 3;
  constexpr int64_t kAgainMs = 1000;
  ++pod.failures;
  pod.refused = !refusal.empty();
  if (pod.refused && !pod.deleting && !rebuild_ && pod.task >= 0 && nodes_.count(pod.node) == 0)
    return SeatAnew(uid, pod);
  if (final && pod.failures >= kMostRefusals) {
    gangs_.at(pod.gang).condemned = "the API server refuses to bind its pods: " + refusal;
    condemned_.insert(pod.gang);
  } else {
    again_.insert({now_ms + kAgainMs, uid});
  }
}

const PodFacts* Core::FindPod(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : found->second.facts.get();
}

std::vector<Core::GangView> Core::Gangs() const {
  std::vector<GangView> views;
  for (const auto& [name, gang] : gangs_) {
    GangView view;
    view.name = name, view.dialect = gang.dialect, view.why = gang.why;
    view.state = gang.phase == Phase::kPlaced      ? "running"
                 : gang.phase == Phase::kSubmitted ? "waiting"
                                                   : "gathering";
    view.min = MinOf(gang), view.pods = static_cast<int>(gang.pods.size());
    std::set<std::string> nodes;
    Job wishes;
    wishes.queue.clear();
    TakeWishes(gang, wishes);
    view.queue = wishes.queue, view.ignored = IgnoredOf(gang);
    for (const std::string& uid : gang.pods) {
      const Pod& pod = pods_.at(uid);
      view.priority = std::max(view.priority, pod.facts->priority);
      if (pod.at != At::kBound) continue;
      ++view.bound;
      nodes.insert(pod.node);
    }
    view.nodes.assign(nodes.begin(), nodes.end());
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace muster::kubesched
