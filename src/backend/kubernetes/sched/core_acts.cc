// What a round writes: bindings, the removal of a gang that cannot stay, and what is said of it.
#include <algorithm>

#include "backend/kubernetes/sched/core.h"

namespace muster::kubesched {

// All of it leaves; what a controller makes anew gathers and waits again.
void Core::Evict(Gang& gang, const std::string& why, std::vector<Act>& acts) {
  ++stats_.evicted;
  int deleted = 0;
  for (const std::string& uid : gang.pods) {
    Pod& pod = pods_.at(uid);
    if (Unsent(pod)) pod.failures = 0;
    if (pod.deleting || pod.at == At::kWaiting || Unsent(pod)) continue;
    ++deleted;
    TellToLeave(gang, pod, why, acts);
  }
  Unseat(gang);
  TakeEvent(sched::JobEnd{gang.name, sched::JobVerb::kCancel});
  if (deleted > 0) Say(gang, "GangEvicted", why, true, acts);
}

void Core::TellToLeave(const Gang& gang, Pod& pod, const std::string& why, std::vector<Act>& acts) {
  pod.deleting = true;
  ++leaving_on_[pod.node];
  if (const std::string tree = QuotaTree(gang.queue); !tree.empty())
    leaving_in_[tree][pod.facts->id.uid] = now_;
  acts.push_back(DeletePod{pod.facts->id, gang.name, why});
}

// The root above a queue; empty for a queue that nobody defined.
std::string Core::QuotaTree(const std::string& queue) const {
  std::string root, at = queue;
  for (size_t step = 0; step <= queues_.size(); ++step) {
    const auto found = std::find_if(queues_.begin(), queues_.end(),
                                    [&](const Queue& one) { return one.name == at; });
    if (found == queues_.end()) return at.empty() || at == queue ? root : at;
    root = at;
    at = found->parent;
  }
  return root;
}

void Core::Say(const Gang& gang, const char* reason, std::string message, bool warning,
               std::vector<Act>& acts) {
  SayGang say;
  say.gang = gang.name, say.reason = reason, say.message = std::move(message);
  say.warning = warning, say.dialect = gang.dialect;
  if (say.reason == "GangScheduled" || say.reason == "GangWaiting") say.ignored = IgnoredOf(gang);
  if (const GroupFacts* group = GroupFactsOf(gang)) {
    say.about = group->meta, say.is_pod = false;
  } else if (!gang.pods.empty()) {
    say.about = pods_.at(*gang.pods.begin()).facts->id;
  } else {
    return;
  }
  acts.push_back(std::move(say));
}

void Core::SayAll(std::vector<Act>& acts) {
  for (const SayGang& say : to_say_) {
    const auto gang = gangs_.find(say.gang);
    if (gang != gangs_.end()) Say(gang->second, "GangScheduled", say.message, false, acts);
  }
  to_say_.clear();
  if (now_ < look_at_waiting_) return;
  constexpr int64_t kLookEveryMs = 1000, kSayEveryMs = 60'000;
  look_at_waiting_ = now_ + kLookEveryMs;
  for (const std::string& name : waiting_) {
    Gang& gang = gangs_.at(name);
    if (gang.why.empty() || gang.why == gang.said) continue;
    if (now_ - gang.waits_since < options_.say_waiting_after_ms) continue;
    if (gang.said_at >= 0 && now_ - gang.said_at < kSayEveryMs) continue;
    gang.said = gang.why, gang.said_at = now_;
    Say(gang, "GangWaiting", gang.why, false, acts);
  }
}

void Core::RepeatBinds(std::vector<Act>& acts) {
  while (!again_.empty() && again_.begin()->first <= now_) {
    const auto found = pods_.find(again_.begin()->second);
    again_.erase(again_.begin());
    if (found == pods_.end()) continue;
    Pod& pod = found->second;
    if (pod.at != At::kBinding || pod.asked || pod.deleting || condemned_.count(pod.gang) != 0)
      continue;
    pod.asked = true;
    acts.push_back(BindPod{pod.facts->id, pod.node});
  }
}

// Nothing of a gang stays of which the server refuses a pod; a pod that was never bound is not
// removed for it. A server that refuses everything (a right that is missing) is not asked for ever.
void Core::EvictCondemned(std::vector<Act>& acts) {
  constexpr int64_t kFirstRestMs = 5000, kLongestRestMs = 300'000;
  for (auto at = condemned_.begin(); at != condemned_.end();) {
    const auto found = gangs_.find(*at);
    const bool open = found != gangs_.end() &&
                      std::any_of(found->second.pods.begin(), found->second.pods.end(),
                                  [&](const std::string& uid) { return pods_.at(uid).asked; });
    if (open) {  // what becomes of the others is known in a moment
      ++at;
      continue;
    }
    at = condemned_.erase(at);
    if (found == gangs_.end()) continue;
    Gang& gang = found->second;
    gang.rests_until =
        now_ + std::min(kLongestRestMs, kFirstRestMs << std::min(gang.refusals++, 10));
    resting_.insert({gang.rests_until, gang.name});
    Evict(gang, gang.condemned, acts);
  }
}

}  // namespace muster::kubesched
