// What is decided and not written yet: it stands on the queues, nodes and groups as they were then,
// so it is decided again when they change. A gang of which nothing was sent goes back whole.
#include <algorithm>
#include <utility>

#include "backend/kubernetes/sched/core.h"

namespace muster::kubesched {

// Known to be unbound, and not asked for at the moment.
bool Core::Unsent(const Pod& pod) {
  return !pod.deleting &&
         (pod.at == At::kSeated || (pod.at == At::kBinding && !pod.asked && pod.refused));
}

// Nothing of it is bound, may be bound, or ran.
bool Core::Unsent(const Gang& gang) const {
  if (gang.phase != Phase::kPlaced || !gang.kept.empty()) return false;
  return std::all_of(gang.pods.begin(), gang.pods.end(), [&](const std::string& uid) {
    const Pod& pod = pods_.at(uid);
    return pod.deleting || pod.at == At::kWaiting || Unsent(pod);
  });
}

void Core::Unseat(Pod& pod) {
  pod.at = At::kWaiting, pod.node.clear();
  pod.task = pod.rank = -1;
  pod.refused = false;
}

// None of its pods has a seat from here on; it gathers.
void Core::Unseat(Gang& gang) {
  for (const std::string& uid : gang.pods) {
    Pod& pod = pods_.at(uid);
    pod.task = pod.rank = -1;
    if (Unsent(pod)) Unseat(pod);
  }
  UnqueueToBind(gang);
  gang.phase = Phase::kGathering;
  gang.to_bind.clear(), gang.kept.clear(), gang.seats.clear(), gang.task_names.clear();
  gang.open = 0;
  gang.placed_said = gang.apart = false;
  keeping_.erase(gang.name);
  touched_.insert(gang.name);
}

// False: some of it may be bound, so it stays as it is.
bool Core::TakeBack(Gang& gang) {
  if (!Unsent(gang)) return false;
  Unseat(gang);
  if (!rebuild_) TakeEvent(sched::JobEnd{gang.name, sched::JobVerb::kCancel});
  return true;
}

// The node is gone or takes nothing more: what is not bound there goes elsewhere.
void Core::LeaveNode(const std::string& name) {
  std::vector<std::string> unsent;
  for (const auto& [turn, gang] : binding_) {
    const auto& uids = gangs_.at(gang).to_bind;
    unsent.insert(unsent.end(), uids.begin(), uids.end());
  }
  for (const auto& [when, uid] : again_) unsent.push_back(uid);
  for (const std::string& uid : unsent) {
    const auto found = pods_.find(uid);
    if (found == pods_.end() || found->second.node != name || !Unsent(found->second)) continue;
    if (!TakeBack(gangs_.at(found->second.gang))) SeatAnew(uid, found->second);
  }
}

// Beside the others of its gang, or the gang leaves whole: the engine's repair decides.
void Core::SeatAnew(const std::string& uid, Pod& pod) {
  Gang& gang = gangs_.at(pod.gang);
  pod.at = At::kWaiting;
  pod.refused = false, pod.failures = 0;
  gang.to_bind.erase(uid);
  --gang.open;
  TakeEvent(sched::TaskFail{gang.name, gang.task_names[static_cast<size_t>(pod.task)], pod.rank});
}

// ---- giving out

void Core::QueueToBind(Gang& gang, const std::string& uid) {
  gang.to_bind.insert(uid);
  if (gang.turn == 0) binding_[gang.turn = ++turns_] = gang.name;
}

void Core::UnqueueToBind(Gang& gang) {
  binding_.erase(gang.turn);
  gang.turn = 0;
}

// Not before those who were told to leave its nodes, and to give up quota of its tree, are gone. A
// gang of which some pods are bound has its quota already.
bool Core::MayBind(const Gang& gang) const {
  for (const std::string& uid : gang.to_bind) {
    if (!leaving_on_.empty() && leaving_on_.count(pods_.at(uid).node) != 0) return false;
  }
  if (leaving_in_.empty()) return true;
  const auto leaving = leaving_in_.find(QuotaTree(gang.queue));
  if (leaving == leaving_in_.end()) return true;
  const bool begun = std::any_of(gang.pods.begin(), gang.pods.end(), [&](const std::string& uid) {
    const Pod& pod = pods_.at(uid);
    return !pod.deleting && (pod.at == At::kBound || pod.at == At::kBinding);
  });
  return begun ||
         std::none_of(leaving->second.begin(), leaving->second.end(),
                      [&](const auto& one) { return one.second + options_.hold_quota_ms > now_; });
}

// A gang's pods are bound together, or wait together. What is begun is ended first, so that of one
// gang at most some is written and some waits for room.
void Core::EmitBinds(size_t room, std::vector<Act>& acts) {
  for (auto at = binding_.begin(); at != binding_.end() && room > 0;) {
    Gang& gang = gangs_.at(at->second);
    if (!MayBind(gang)) {
      ++at;
      continue;
    }
    for (; room > 0 && !gang.to_bind.empty(); --room) {
      Pod& pod = pods_.at(*gang.to_bind.begin());
      pod.at = At::kBinding;
      pod.asked = true;
      ++stats_.binds_asked;
      acts.push_back(BindPod{pod.facts->id, pod.node});
      gang.to_bind.erase(gang.to_bind.begin());
    }
    at = binding_.erase(at);
    const int64_t turn = std::exchange(gang.turn, 0);
    if (!gang.to_bind.empty()) binding_[gang.turn = turn < 0 ? turn : -turn] = gang.name;
  }
}

}  // namespace muster::kubesched
