#include "sched/eviction.h"

#include <algorithm>
#include <limits>
#include <map>

#include "sched/engine.h"

namespace muster::sched {

namespace {
constexpr size_t kMostDomains = 512;  // tried at one level
}

int64_t WorkLost(const Gang& gang, TimeMs now) {
  int64_t span = now - gang.run_began;
  if (gang.checkpoint_every) span %= *gang.checkpoint_every;
  int64_t devices = 0;
  for (const GangGroup& group : gang.groups) {
    int64_t each = 0;
    for (const auto& ask : group.shape.devices) each = std::max(each, ask.amount);
    for (int rank = 0; rank < group.count; ++rank) {
      if (gang.slots[static_cast<size_t>(group.first_rank) + static_cast<size_t>(rank)].node >= 0)
        devices += std::max<int64_t>(1, each);
    }
  }
  return span * devices;
}

EvictionSearch::EvictionSearch(Engine& engine, int job) : engine_(engine), job_(job) {}

// Some queue from the victim's up to right below the common one uses more than the quota of its
// tree.
bool EvictionSearch::OverNominal(const Gang& victim, int common) const {
  const Queues& queues = engine_.queues_;
  for (int up = victim.queue; up >= 0 && up != common; up = queues.Parent(up)) {
    for (const GangGroup& group : victim.groups) {
      for (const Charge& charge : group.charges) {
        if (std::binary_search(items_.begin(), items_.end(), charge.item) &&
            queues.Borrows(up, charge.item))
          return true;
      }
    }
  }
  return false;
}

bool EvictionSearch::MayTake(const Gang& victim, const char** code) const {
  const Gang& gang = engine_.gangs_[static_cast<size_t>(job_)];
  if (!victim.preemptible || victim.bound_at == engine_.now_) return false;
  const bool lower = victim.priority < gang.priority;
  if (gang.overdue) {
    *code = "MAX_WAIT";
    return victim.priority <= gang.priority;
  }
  const Queue& policy = engine_.queues_.Spec(gang.queue);
  *code = "PREEMPT";
  if (victim.queue == gang.queue) {
    if (policy.within == PreemptWithin::kNever) return false;
    const bool newer = policy.within == PreemptWithin::kLowerOrNewerEqual &&
                       victim.priority == gang.priority && victim.sequence > gang.sequence &&
                       !victim.kept_waiting;
    return lower || newer;
  }
  const int common = engine_.queues_.Common(gang.queue, victim.queue);
  if (common < 0) return false;
  const bool reclaim = policy.reclaim == ReclaimPolicy::kAny ||
                       (policy.reclaim == ReclaimPolicy::kLowerPriority && lower);
  if (reclaim && within_nominal_ && OverNominal(victim, common)) {
    *code = "RECLAIM";
    return true;
  }
  return policy.borrow == BorrowPolicy::kLowerPriority && lower;
}

// While others went, its queue may have come back to its nominal quota.
bool EvictionSearch::StillAllowed(const VictimUnit& unit) const {
  if (std::string_view(unit.code) != "RECLAIM") return true;
  const Gang& victim = engine_.gangs_[static_cast<size_t>(unit.job)];
  const int mine = engine_.gangs_[static_cast<size_t>(job_)].queue;
  return OverNominal(victim, engine_.queues_.Common(mine, victim.queue));
}

void EvictionSearch::CollectUnits() {
  items_ = engine_.ItemsOf(job_);
  within_nominal_ = engine_.StaysWithinNominal(job_);
  for (const int id : engine_.running_) {
    const Gang& victim = engine_.gangs_[static_cast<size_t>(id)];
    const char* code = "";
    if (id == job_ || !MayTake(victim, &code)) continue;
    VictimUnit whole{id, true, {}, WorkLost(victim, engine_.now_) + 1, code};
    int surplus = victim.elastic_max > 0 ? victim.bound - engine_.LeastRanks(victim) : 0;
    for (size_t g = victim.groups.size(); g-- > 0;) {
      const GangGroup& group = victim.groups[g];
      int bound = 0;
      for (int rank = 0; rank < group.count; ++rank)
        bound +=
            victim.slots[static_cast<size_t>(group.first_rank) + static_cast<size_t>(rank)].node >=
                    0
                ? 1
                : 0;
      for (int rank = group.count; rank-- > 0;) {
        const int flat = group.first_rank + rank;
        if (victim.slots[static_cast<size_t>(flat)].node < 0) continue;
        if (surplus > 0 && bound > group.min) {
          units_.push_back({id, false, {flat}, 1, code});
          --surplus, --bound;
        } else {
          whole.ranks.push_back(flat);
        }
      }
    }
    units_.push_back(std::move(whole));
  }
  const auto& gangs = engine_.gangs_;
  std::stable_sort(units_.begin(), units_.end(), [&](const VictimUnit& a, const VictimUnit& b) {
    if (a.whole != b.whole && a.job == b.job) return b.whole;
    if (a.cost != b.cost) return a.cost < b.cost;
    const Gang& x = gangs[static_cast<size_t>(a.job)];
    const Gang& y = gangs[static_cast<size_t>(b.job)];
    if (x.priority != y.priority) return x.priority < y.priority;
    if (x.sequence != y.sequence) return x.sequence > y.sequence;
    return !a.whole && b.whole;
  });
  gone_.assign(units_.size(), 0);
  others_.assign(units_.size(), {});
  std::map<int, std::vector<size_t>> singles;
  for (size_t i = 0; i < units_.size(); ++i)
    if (!units_[i].whole) singles[units_[i].job].push_back(i);
  for (size_t i = 0; i < units_.size(); ++i)
    if (units_[i].whole && singles.contains(units_[i].job)) others_[i] = singles[units_[i].job];
}

void EvictionSearch::LetGo(size_t unit) {
  if (gone_[unit] != 0) return;
  for (const size_t other : others_[unit]) LetGo(other);
  gone_[unit] = 1;
  engine_.TrialRelease(units_[unit].job, units_[unit].ranks);
}
void EvictionSearch::TakeBack(size_t unit) {
  if (gone_[unit] == 0) return;
  gone_[unit] = 0;
  engine_.TrialTakeBack(units_[unit].job, units_[unit].ranks);
}

bool EvictionSearch::CanStart(int within) { return engine_.CouldStart(job_, within, true); }

int64_t EvictionSearch::CostOf(const std::vector<size_t>& chosen) const {
  int64_t cost = 0;
  for (const size_t unit : chosen) cost += units_[unit].cost;
  return cost;
}

void EvictionSearch::Consider(const std::vector<size_t>& chosen) {
  const int64_t cost = CostOf(chosen);
  if (best_cost_ >= 0 && cost >= best_cost_) return;
  best_ = chosen;
  best_cost_ = cost;
}

// From the state in which nobody is gone: takes the units in order, each still allowed at its turn,
// and asks whether the job then starts. Everybody is back afterwards.
bool EvictionSearch::Replay(const std::vector<size_t>& chosen) {
  bool good = true;
  for (const size_t unit : chosen) {
    good = good && StillAllowed(units_[unit]);
    if (good) LetGo(unit);
  }
  good = good && CanStart();
  for (size_t i = chosen.size(); i-- > 0;) TakeBack(chosen[i]);
  return good;
}

// Every set, of few units.
void EvictionSearch::SearchAll() {
  const size_t sets = size_t{1} << units_.size();
  for (size_t set = 1; set < sets; ++set) {
    std::vector<size_t> chosen;
    bool complete = true;
    for (size_t i = 0; i < units_.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      chosen.push_back(i);
      for (const size_t other : others_[i]) complete = complete && (set >> other & 1) != 0;
    }
    if (!complete || (best_cost_ >= 0 && CostOf(chosen) >= best_cost_)) continue;
    if (Replay(chosen)) Consider(chosen);
  }
}

// Dearest first: whoever can stay, stays. The job must fit anywhere, not only where it was aimed
// at.
void EvictionSearch::Trim(std::vector<size_t>& chosen) {
  for (size_t i = chosen.size(); i-- > 0;) {
    const size_t unit = chosen[i];
    if (!units_[unit].whole) {
      const bool needed = std::any_of(chosen.begin(), chosen.end(), [&](size_t other) {
        return units_[other].whole && units_[other].job == units_[unit].job;
      });
      if (needed) continue;
    }
    TakeBack(unit);
    if (CanStart()) {
      chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      LetGo(unit);
    }
  }
}

void EvictionSearch::TryWithin(int where) {
  std::vector<size_t> chosen;
  const auto add = [&](size_t unit) {
    if (gone_[unit] != 0 || !StillAllowed(units_[unit])) return;
    for (const size_t other : others_[unit]) {
      if (gone_[other] == 0) chosen.push_back(other);
    }
    LetGo(unit);
    chosen.push_back(unit);
  };
  bool fits = CanStart(where);
  for (size_t unit = 0; unit < units_.size() && !fits; ++unit) {
    if (!engine_.HoldsWithin(units_[unit].job, units_[unit].ranks, where)) continue;
    add(unit);
    fits = CanStart(where);
  }
  // Room may be there, and quota held by others elsewhere.
  for (size_t unit = 0; unit < units_.size() && !fits; ++unit) {
    add(unit);
    fits = CanStart(where);
  }
  if (fits) Trim(chosen);
  std::sort(chosen.begin(), chosen.end());
  for (size_t i = chosen.size(); i-- > 0;) TakeBack(chosen[i]);
  if (fits && (best_cost_ < 0 || CostOf(chosen) < best_cost_) && Replay(chosen)) Consider(chosen);
}

// Domains of a level in which the job would fit with every unit there gone, those with the cheapest
// unit first.
std::vector<EvictionSearch::Reach> EvictionSearch::Reachable(int level) {
  std::vector<Reach> found;
  std::map<int, int64_t> cheapest;
  for (const VictimUnit& unit : units_) {
    for (const int where : engine_.WhereAt(unit.job, unit.ranks, level)) {
      const auto [at, fresh] = cheapest.try_emplace(where, unit.cost);
      if (!fresh) at->second = std::min(at->second, unit.cost);
    }
  }
  for (const auto& [where, cost] : cheapest) found.push_back({where, cost});
  for (size_t unit = 0; unit < units_.size(); ++unit) LetGo(unit);
  std::erase_if(found, [&](const Reach& r) { return !CanStart(r.where); });
  for (size_t unit = units_.size(); unit-- > 0;) TakeBack(unit);
  std::stable_sort(found.begin(), found.end(),
                   [](const Reach& a, const Reach& b) { return a.bound < b.bound; });
  if (found.size() > kMostDomains) found.resize(kMostDomains);
  return found;
}

void EvictionSearch::SearchDomains() {
  const int widest = engine_.gangs_[static_cast<size_t>(job_)].topology.required;
  const int nodes = static_cast<int>(engine_.cluster_.levels().size());
  for (int level = nodes; level >= widest; --level) {
    for (const Reach& reach : Reachable(level)) {
      if (best_cost_ >= 0 && reach.bound >= best_cost_) break;
      TryWithin(reach.where);
    }
  }
  if (widest < 0 || best_.empty()) TryWithin(kAnywhere);
}

// Whether somebody of the set would go only because room is kept for a promise: with him there the
// job would fit, were nothing kept. Then it waits for the promise, and he stays.
bool EvictionSearch::WaitsForPromises() {
  if (best_.empty() || engine_.reservations_.empty()) return false;
  const std::vector<int> mask = engine_.classes_.mask();
  engine_.classes_.SetMask(engine_.cluster_, {});
  const size_t mark = engine_.cluster_.Mark();
  bool waits = false;
  for (size_t kept = 0; kept < best_.size() && !waits; ++kept) {
    const VictimUnit& stays = units_[best_[kept]];
    const bool leaves_whole = std::any_of(best_.begin(), best_.end(), [&](size_t unit) {
      return units_[unit].whole && units_[unit].job == stays.job;
    });
    if (!stays.whole && leaves_whole) continue;
    for (const size_t unit : best_)
      if (stays.whole ? units_[unit].job != stays.job : unit != best_[kept]) LetGo(unit);
    waits = engine_.CouldStart(job_, kAnywhere);
    for (size_t i = best_.size(); i-- > 0;) TakeBack(best_[i]);
  }
  engine_.cluster_.Rewind(mark);
  engine_.classes_.SetMask(engine_.cluster_, mask);
  return waits;
}

std::vector<VictimUnit> EvictionSearch::Run() {
  CollectUnits();
  if (units_.empty()) return {};
  const size_t mark = engine_.cluster_.Mark();
  for (size_t unit = 0; unit < units_.size(); ++unit) LetGo(unit);
  const bool hope = CanStart();
  for (size_t unit = units_.size(); unit-- > 0;) TakeBack(unit);
  if (hope && units_.size() <= kExhaustive) {
    SearchAll();
  } else if (hope) {
    SearchDomains();
  }
  engine_.cluster_.Rewind(mark);
  if (WaitsForPromises()) return {};
  std::vector<VictimUnit> units;
  for (const size_t unit : best_) units.push_back(units_[unit]);
  return units;
}

}  // namespace muster::sched
