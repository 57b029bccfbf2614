// Making room by eviction: what a search may try on the engine's state, and the doing of what it
// found.
#include <algorithm>
#include <set>

#include "sched/engine.h"
#include "sched/eviction.h"

namespace muster::sched {

std::vector<int> Engine::ItemsOf(int job) {
  std::set<int> items;
  PendingKind& kind =
      pending_.kinds[static_cast<size_t>(pending_.kind_of[static_cast<size_t>(job)])];
  for (const Assignment& assignment : Assignments(kind, job)) {
    for (const Assignment::Group& group : assignment.groups)
      for (const Charge& charge : group.charges) items.insert(charge.item);
  }
  return {items.begin(), items.end()};
}

// Whether, with the job started, the tree right below the root of its queues would use no more than
// its own quota in one choice of flavors: then it asks for what is its own, and may reclaim.
bool Engine::StaysWithinNominal(int job) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  PendingKind& kind =
      pending_.kinds[static_cast<size_t>(pending_.kind_of[static_cast<size_t>(job)])];
  const auto counts = CountsFor(gang, LeastRanks(gang));
  for (const Assignment& assignment : Assignments(kind, job)) {
    const auto asked = Asked(assignment, counts);
    const bool within = std::all_of(asked.begin(), asked.end(), [&](const auto& entry) {
      for (int up = gang.queue; queues_.Parent(up) >= 0; up = queues_.Parent(up)) {
        if (queues_.Usage(up, entry.first) + entry.second <= queues_.Subtree(up, entry.first))
          return true;
      }
      return false;
    });
    if (within) return true;
  }
  return false;
}

void Engine::TrialRelease(int job, const std::vector<int>& ranks) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  trial_gone_[job].insert(ranks.begin(), ranks.end());
  for (const int flat : ranks) {
    const GangGroup& group = gang.groups[static_cast<size_t>(GroupOf(gang, flat))];
    cluster_.Give(group.shape, gang.slots[static_cast<size_t>(flat)]);
    for (const Charge& charge : group.charges)
      queues_.Refund(gang.queue, charge.item, charge.amount);
  }
}

void Engine::TrialTakeBack(int job, const std::vector<int>& ranks) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  auto& gone = trial_gone_[job];
  for (const int flat : ranks) gone.erase(flat);
  if (gone.empty()) trial_gone_.erase(job);
  for (size_t i = ranks.size(); i-- > 0;) {
    const GangGroup& group = gang.groups[static_cast<size_t>(GroupOf(gang, ranks[i]))];
    cluster_.TakeAgain(group.shape, gang.slots[static_cast<size_t>(ranks[i])]);
    for (const Charge& charge : group.charges)
      queues_.Charge(gang.queue, charge.item, charge.amount);
  }
}

// Whether the least of the gang finds quota and room now, within a domain or anywhere.
bool Engine::CouldStart(int job, int within, bool beside_promises) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  PendingKind& kind =
      pending_.kinds[static_cast<size_t>(pending_.kind_of[static_cast<size_t>(job)])];
  const auto counts = CountsFor(gang, LeastRanks(gang));
  Placer placer(cluster_, classes_);
  for (const Assignment& assignment : Assignments(kind, job)) {
    if (!QuotaFits(gang.queue, assignment, counts)) continue;
    if (beside_promises && !LeavesQuota(job, assignment, counts)) continue;
    PlaceAsk ask = AskFor(gang, assignment, counts);
    ask.within = within;
    if (placer.Fits(ask)) return true;
  }
  return false;
}

bool Engine::HoldsWithin(int job, const std::vector<int>& ranks, int where) const {
  if (where == kAnywhere) return true;
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  for (const int flat : ranks) {
    const int node = gang.slots[static_cast<size_t>(flat)].node;
    if (where < 0
            ? node == ~where
            : cluster_.AncestorAt(cluster_.LeafOf(node),
                                  cluster_.domains()[static_cast<size_t>(where)].level) == where)
      return true;
  }
  return false;
}

std::vector<int> Engine::WhereAt(int job, const std::vector<int>& ranks, int level) const {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  std::vector<int> found;
  const bool nodes = level == static_cast<int>(cluster_.levels().size());
  for (const int flat : ranks) {
    const int node = gang.slots[static_cast<size_t>(flat)].node;
    const int where = nodes ? ~node : cluster_.AncestorAt(cluster_.LeafOf(node), level);
    if (nodes || where >= 0) found.push_back(where);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

bool Engine::MayEvict(int job) const {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  const Queue& policy = queues_.Spec(gang.queue);
  return gang.overdue || policy.within != PreemptWithin::kNever ||
         policy.reclaim != ReclaimPolicy::kNever || policy.borrow != BorrowPolicy::kNever;
}

// Evicts the cheapest set that lets the job start, and starts it; or does nothing.
bool Engine::TryEvict(int job) {
  if (!MayEvict(job)) return false;
  const auto units = EvictionSearch(*this, job).Run();
  if (units.empty()) return false;
  const std::string name = gangs_[static_cast<size_t>(job)].name;
  const bool overdue = gangs_[static_cast<size_t>(job)].overdue;
  std::set<int> evicted;
  for (const VictimUnit& unit : units)
    if (unit.whole) evicted.insert(unit.job);
  for (const VictimUnit& unit : units) {
    Gang& victim = gangs_[static_cast<size_t>(unit.job)];
    if (unit.whole) {
      Emit(EvictDecision{victim.name, unit.code, name});
      Requeue(unit.job);
    } else if (!evicted.contains(unit.job)) {
      Shrink(unit, name);
    }
  }
  const bool started = TryStart(job);
  if (started && overdue) gangs_[static_cast<size_t>(job)].kept_waiting = true;
  return started;
}

void Engine::Shrink(const VictimUnit& unit, const std::string& for_job) {
  Gang& victim = gangs_[static_cast<size_t>(unit.job)];
  const GangGroup& group = victim.groups[static_cast<size_t>(GroupOf(victim, unit.ranks[0]))];
  const int rank = unit.ranks[0] - group.first_rank;
  auto* last = out_->empty() ? nullptr : std::get_if<ShrinkDecision>(&out_->back().body);
  if (last != nullptr && last->job == victim.name && last->task == group.name &&
      last->for_job == for_job && out_->back().t == now_) {
    last->ranks.insert(std::lower_bound(last->ranks.begin(), last->ranks.end(), rank), rank);
  } else {
    Emit(ShrinkDecision{victim.name, group.name, {rank}, unit.code, for_job});
  }
  Release(unit.job, unit.ranks[0]);
  growable_.insert(unit.job);
}

}  // namespace muster::sched
