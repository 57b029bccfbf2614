// What runs out: the time that a Workload may be admitted, the time its pods may take to be ready,
// the time it backs off. And pod sets that are let in with fewer pods than they asked for.
#include <algorithm>

#include <fmt/format.h>

#include "backend/kubernetes/kueue/quota.h"

namespace muster::kueue {

Duration BackoffOf(const WaitForPodsReady& wait, int nth) {
  Duration pause = std::min(wait.backoff_base, wait.backoff_most);
  for (int i = 1; i < nth && pause < wait.backoff_most; ++i)
    pause = std::min(pause * 2, wait.backoff_most);
  return pause;
}

PodsReady ReadinessOf(const Ask& workload, bool pods_are_ready) {
  const auto& before = workload.pods_ready;
  if (!workload.admitted) return {false, "WaitForStart"};
  const bool failed =
      before && (before->reason == "WaitForRecovery" || before->reason == "Recovered");
  if (pods_are_ready) return {true, failed ? "Recovered" : "Started"};
  return {false, before && (before->is || before->reason == "WaitForRecovery") ? "WaitForRecovery"
                                                                               : "WaitForStart"};
}

void QuotaCore::WakeAt(One& one, TimePoint wall) {
  const std::string& uid = one.ask.meta.uid;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(wall - wall_).count();
  const int64_t at = now_ + std::max<int64_t>(1, left);
  // What comes sooner is looked at first, and this again then.
  if (const auto before = wake_.find({one.wake_at, uid}); before != wake_.end()) {
    if (one.wake_at <= at) return;
    wake_.erase(before);
  }
  one.wake_at = at;
  wake_.insert({at, uid});
}

// maximumExecutionTimeSeconds: what it was admitted for before counts.
bool QuotaCore::TimeIsUp(One& one, std::vector<Act>& acts) {
  const Ask& ask = one.ask;
  if (!ask.admitted || !ask.max_execution_s || !ask.admitted_at) return false;
  const TimePoint end =
      *ask.admitted_at + std::chrono::seconds(*ask.max_execution_s - ask.past_execution_s);
  if (end > wall_) {
    WakeAt(one, end);
    return false;
  }
  one.busy = true;
  acts.push_back(SayDeactivation{ask.meta.uid, "MaximumExecutionTimeExceeded",
                                 "exceeding the maximum execution time"});
  return true;
}

void QuotaCore::PodsAreLate(One& one, std::vector<Act>& acts) {
  const Ask& ask = one.ask;
  if (!wait_ || ask.kind != AskKind::kWorkload || !ask.admitted || !ask.admitted_at) return;
  TimePoint end = *ask.admitted_at + wait_->timeout;
  if (ask.pods_ready) {
    const bool recovers = ask.pods_ready->reason == "WaitForRecovery";
    if (ask.pods_ready->is || (recovers && !wait_->recovery_timeout)) return;
    if (recovers) end = ask.pods_ready->since + *wait_->recovery_timeout;
  }
  if (end > wall_) return WakeAt(one, end);
  const int nth = ask.requeue.count + 1;
  one.busy = true;
  if (wait_->backoff_limit && nth > *wait_->backoff_limit) {
    acts.push_back(SayDeactivation{ask.meta.uid, "RequeuingLimitExceeded",
                                   "exceeding the maximum number of re-queuing retries"});
    return;
  }
  Leave(one, false);
  acts.push_back(Evict{ask.meta.uid, "PodsReadyTimeout",
                       fmt::format("Exceeded the PodsReady timeout {}", ask.meta.Key()),
                       Requeue{nth, wall_ + BackoffOf(*wait_, nth)}});
}

// Whoever wrote that it does: it holds no place in the queue meanwhile.
bool QuotaCore::BacksOff(One& one, std::vector<Act>& acts) {
  const Ask& ask = one.ask;
  if (!ask.backs_off) return false;
  Leave(one, false);
  if (ask.requeue.at > wall_) {
    one.why = "it backs off until " + FormatTime(ask.requeue.at);
    WakeAt(one, ask.requeue.at);
    return true;
  }
  one.busy = true;
  acts.push_back(SayRequeued{ask.meta.uid});
  return true;
}

void QuotaCore::SayReadiness(const One& job, One& workload, std::vector<Act>& acts) {
  const Ask& ask = workload.ask;
  if (!wait_ || workload.busy || !ask.active || ask.finished ||
      VersionOf(ask) < workload.ignore_below)
    return;
  PodsReady ready = ReadinessOf(ask, job.ask.runs && job.ask.pods_are_ready);
  if (!ask.pods_ready && !ask.admitted) return;
  if (ask.pods_ready && ask.pods_ready->is == ready.is && ask.pods_ready->reason == ready.reason)
    return;
  workload.busy = true;
  acts.push_back(SayPodsReady{ask.meta.uid, std::move(ready)});
}

// ---- fewer pods than asked for (minCount)

void QuotaCore::CountSeats(const std::vector<sched::Decision>& decisions) {
  seated_.clear();
  for (const sched::Decision& decision : decisions) {
    const auto* bind = std::get_if<sched::BindDecision>(&decision.body);
    const auto* shrink = std::get_if<sched::ShrinkDecision>(&decision.body);
    const auto one = all_.find(bind != nullptr     ? bind->job
                               : shrink != nullptr ? shrink->job
                                                   : std::string());
    if (one == all_.end()) continue;
    if (!MayGetFewer(one->second.ask)) continue;
    if (bind != nullptr) ++seated_[bind->job][bind->task];
    if (shrink != nullptr)
      seated_[shrink->job][shrink->task] -= static_cast<int>(shrink->ranks.size());
  }
}

// What it was let in with is what it has from here on: the engine lets it neither grow nor shrink.
void QuotaCore::FixCounts(One& one) {
  one.counts.clear();
  const auto seated = seated_.find(one.ask.meta.uid);
  if (seated == seated_.end()) return;
  one.counts = seated->second;
  for (const PodSetAsk& set : one.ask.sets) one.counts.try_emplace(set.name, 0);
  TakeEvent(sched::JobEnd{one.ask.meta.uid, sched::JobVerb::kCancel});
  --admitted_;  // Adopt counts it
  if (Adopt(one)) return;
  ++admitted_;
  rebuild_ = true;
}

}  // namespace muster::kueue
