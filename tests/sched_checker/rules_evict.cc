// Whom an eviction may hit, and whether it was of use.
#include "replay.h"

namespace sched_checker {

void Replay::Evict(const Line& line) {
  ++report_.evictions;
  Job* job = Named(line);
  if (job == nullptr) return;
  if (job->status != Job::Status::kRunning) {
    Say("GANG", "evict: " + job->name + " is not bound", job);
    return;
  }
  const Json& why = line.json.at("why");
  CheckPolicy(*job, why);
  const std::string beneficiary = why.value("for", "");
  if (!beneficiary.empty() && beneficiary != job->name)
    evictions_[beneficiary].victims.push_back({job->name, job->ranks, line.number, false});
  state_.FreeAll(*job);
  job->left = State::LeftAfter(*job, state_.now);
  job->status = Job::Status::kPending;
  job->ends.reset();
  job->lost.clear();
  arrived_[job->priority] = state_.now;
  became_pending_.insert(job->name);
}

void Replay::Shrink(const Line& line) {
  ++report_.evictions;
  Job* job = Named(line);
  if (job == nullptr) return;
  if (!job->elastic()) Say("GANG", "shrink: " + job->name + " is not elastic", job);
  const Json& why = line.json.at("why");
  CheckPolicy(*job, why);
  Victim victim{job->name, {}, line.number, true};
  const std::string task = line.json.at("task");
  for (const int number : line.json.at("ranks").get<std::vector<int>>()) {
    const auto found = std::find_if(job->ranks.begin(), job->ranks.end(), [&](const auto& item) {
      return item.first.second == number &&
             job->tasks[static_cast<size_t>(item.first.first)].name == task;
    });
    if (found == job->ranks.end()) {
      Say("GANG", "shrink: rank " + std::to_string(number) + " of " + job->name + " is not bound",
          job);
      continue;
    }
    const Rank rank = found->first;
    victim.ranks[rank] = found->second;
    state_.Free(*job, rank);
  }
  if (!job->Legal()) Say("GANG", job->name + " is shrunk below its minimum", job);
  const std::string beneficiary = why.value("for", "");
  if (!beneficiary.empty() && beneficiary != job->name)
    evictions_[beneficiary].victims.push_back(victim);
}

void Replay::CheckPolicy(const Job& victim, const Json& why) {
  static const std::set<std::string> kCodes = {"PREEMPT", "RECLAIM", "REPAIR",
                                               "HEALTH",  "ORDER",   "MAX_WAIT"};
  const std::string code = why.at("code");
  if (!kCodes.contains(code)) Say("FORMAT", "evict: no such code " + code, &victim);
  const std::string name = why.value("for", "");
  const bool hurt = victim.lost_at == state_.now && !victim.lost.empty();
  if (name.empty() || name == victim.name) {
    const bool on_bad_node =
        std::any_of(victim.ranks.begin(), victim.ranks.end(), [&](const auto& item) {
          const auto node = state_.nodes.find(item.second.node);
          return node == state_.nodes.end() || !node->second.usable();
        });
    if (!hurt && !on_bad_node)
      Say("PREEMPT", victim.name + " is evicted for nobody, and nothing ails it", &victim);
    return;
  }
  const auto found = state_.jobs.find(name);
  if (found == state_.jobs.end()) {
    Say("FORMAT", "evict: no such job " + name, &victim);
    return;
  }
  const Job& other = found->second;
  if (!victim.preemptible) {
    Say("PREEMPT", victim.name + " is not preemptible", &victim);
    return;
  }
  if (code == "MAX_WAIT" || code == "ORDER") {
    if (code == "MAX_WAIT" && !other.max_wait) Say("PREEMPT", name + " has no max_wait", &victim);
    if (victim.priority > other.priority)
      Say("PREEMPT", victim.name + " has a higher priority than " + name, &victim);
    return;
  }
  const auto queue = state_.queues.find(other.queue);
  const Queue policy = queue == state_.queues.end() ? Queue{} : queue->second;
  const bool lower = victim.priority < other.priority;
  if (victim.queue == other.queue) {
    const bool newer = victim.priority == other.priority && victim.order > other.order;
    const bool allowed = (policy.within == "lower-priority" && lower) ||
                         (policy.within == "lower-or-newer-equal" && (lower || newer));
    if (!allowed)
      Say("PREEMPT",
          "`within` of " + other.queue + " is " + policy.within + "; it does not allow " +
              victim.name + " to go for " + name,
          &victim);
    return;
  }
  const bool reclaim = (policy.reclaim == "any" || (policy.reclaim == "lower-priority" && lower)) &&
                       OverNominalBelowCommon(state_, victim, other.queue);
  if (!reclaim && !(policy.borrow == "lower-priority" && lower))
    Say("PREEMPT",
        other.queue + " may not take back from " + victim.queue + " what " + victim.name +
            " holds (reclaim " + policy.reclaim + ", borrow " + policy.borrow + ")",
        &victim);
}

void Replay::CheckUseful() {
  for (auto& [name, eviction] : evictions_) {
    const auto found = state_.jobs.find(name);
    if (found == state_.jobs.end()) continue;
    for (const Victim& victim : eviction.victims) {
      if (!bound_now_.contains(name)) {
        Say("USELESS", victim.job + " went for " + name + ", which does not start", &found->second,
            victim.line);
        continue;
      }
      if (!eviction.at_bind) continue;
      // With this victim kept: would the job have started all the same?
      State kept = *eviction.at_bind;
      Job& back = kept.jobs.at(victim.job);
      bool fits = true;
      for (const auto& [rank, bound] : victim.ranks) {
        const auto node = kept.nodes.find(bound.node);
        fits = fits && node != kept.nodes.end();
        if (!fits) break;
        kept.Take(back, rank, bound);
        for (const auto& [resource, used] : node->second.used)
          fits = fits && used <= node->second.capacity[resource];
        for (const auto& [resource, ids] : bound.devices)
          for (const int id : ids)
            fits = fits && node->second.devices[resource][id] <= kWholeDevice;
      }
      if (!fits) continue;  // others took its place
      const Answer answer = CanStart(kept, kept.jobs.at(name));
      report_.searched += answer != Answer::kUnknown;
      if (answer == Answer::kYes)
        Say("USELESS", name + " could have started with " + victim.job + " kept", &found->second,
            victim.line);
    }
  }
}

}  // namespace sched_checker
