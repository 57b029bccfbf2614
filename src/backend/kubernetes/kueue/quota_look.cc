// One object after another: what it says of itself, and what follows before any quota is asked for.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "backend/kubernetes/kueue/quota.h"
#include "kube/object.h"

namespace muster::kueue {

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
      return Evict{ask.meta.uid,
                   IsLocalQueue(queue) ? "LocalQueueStopped" : "ClusterQueueStopped",
                   queues_.holds.held.at(queue),
                   {}};
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
  const Job job = JobOf(one.ask, {});
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
  static const PodSetAsk kNoSet;
  const std::optional<int> none;
  const PodSetAsk& set = workload.ask.sets.empty() ? kNoSet : workload.ask.sets[0];
  const bool reducible = set.min_count > 0;
  if (job.ask.finished) {
    if (workload.ask.finished || workload.busy) return;
    workload.busy = true;
    acts.push_back(Finish{workload.ask.meta.uid, job.ask.succeeded});
  } else if (workload.ask.admitted && !workload.busy && !job.ask.runs) {
    job.busy = true;
    acts.push_back(Start{job.ask.meta.uid, UpdateFor(workload.ask.flavors),
                         reducible ? std::optional(CountOf(set, workload.ask.counts)) : none});
  } else if (!workload.ask.reserved && !workload.busy && job.ask.runs) {
    job.busy = true;
    acts.push_back(Hold{job.ask.meta.uid, reducible ? std::optional(set.count) : none});
  } else if (!job.busy) {
    SayReadiness(job, workload, acts);
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
  if (ask.active) return LookAtActive(one, acts);
  Leave(one, false);
  if (!ask.reserved) return;
  one.busy = true;
  Evict evict{ask.meta.uid, "Deactivated", "The workload is deactivated", {}};
  if (ask.deactivate) {
    evict.reason += "DueTo" + ask.deactivate->reason;
    evict.message += " due to " + ask.deactivate->message;
  }
  acts.push_back(std::move(evict));
}

void QuotaCore::LookAtActive(One& one, std::vector<Act>& acts) {
  const Ask& ask = one.ask;
  if (ask.deactivate) {
    one.busy = true;
    acts.push_back(Deactivate{ask.meta.uid});
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
    if (!TimeIsUp(one, acts)) PodsAreLate(one, acts);
    return;
  }
  if (ask.kind == AskKind::kJob && ask.runs) {
    Leave(one, false);
    one.busy = true;
    acts.push_back(Hold{ask.meta.uid, {}});
    return;
  }
  if (one.at == At::kIn) Leave(one, false);  // somebody took it back
  if (BacksOff(one, acts)) return;
  if (one.at == At::kOut) Submit(one, acts);
}

}  // namespace muster::kueue
