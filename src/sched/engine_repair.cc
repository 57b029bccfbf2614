// Gangs that lost ranks, and gangs that may have more: ranks go beside those that are there, same
// leaf, else same spine; a gang that cannot be mended leaves whole and waits again.
#include <algorithm>

#include "sched/engine.h"

namespace muster::sched {

bool Engine::IsLegal(const Gang& gang) const {
  for (size_t g = 0; g < gang.groups.size(); ++g) {
    const GangGroup& group = gang.groups[g];
    int bound = 0;
    for (int rank = 0; rank < group.count; ++rank)
      bound +=
          gang.slots[static_cast<size_t>(group.first_rank) + static_cast<size_t>(rank)].node >= 0
              ? 1
              : 0;
    if (bound < group.min) return false;
  }
  return gang.bound >= LeastRanks(gang) && gang.bound > 0;
}

bool Engine::PlaceBeside(int job, int flat_rank, int node, int widest, Slot& slot) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  const GangGroup& group = gang.groups[static_cast<size_t>(GroupOf(gang, flat_rank))];
  const GangTopology& wish = gang.topology;
  const int nodes = static_cast<int>(cluster_.levels().size());
  const auto take_on = [&](int where) {
    const ShapeClass& c = classes_.Synced(cluster_, group.run_class);
    return c.fit[static_cast<size_t>(where)] > 0 && cluster_.Take(c.shape, where, slot);
  };
  // The narrowest domain that a bound rank ties this one to.
  int tie_level = -1, tie_node = -1;
  const auto tie = [&](int level, int begin, int end) {
    for (int other = begin; level > tie_level && other < end; ++other) {
      const int at = gang.slots[static_cast<size_t>(other)].node;
      if (at >= 0) tie_level = level, tie_node = at;
    }
  };
  if (wish.required >= 0) tie(wish.required, 0, static_cast<int>(gang.slots.size()));
  if (wish.slice_size > 0) {
    const int slice = (flat_rank - group.first_rank) / wish.slice_size;
    const int begin = group.first_rank + slice * wish.slice_size;
    tie(wish.slice_level, begin, std::min(begin + wish.slice_size, group.first_rank + group.count));
  }
  if (tie_level == nodes) return take_on(tie_node);
  widest = std::max(widest, tie_level);
  const auto inside = [&](int where) {
    return tie_node < 0 || cluster_.AncestorAt(cluster_.LeafOf(where), tie_level) ==
                               cluster_.AncestorAt(cluster_.LeafOf(tie_node), tie_level);
  };
  if (!inside(node)) node = tie_node;
  if (cluster_.usable(node) && take_on(node)) return true;
  return Placer(cluster_, classes_).PlaceNear(group.run_class, cluster_.LeafOf(node), widest, slot);
}

void Engine::Repair(int job, const std::vector<LostRank>& lost) {
  Gang& gang = gangs_[static_cast<size_t>(job)];
  if (gang.state != JobState::kRunning) return;
  std::vector<int> bound;
  const int spine = cluster_.levels().empty() ? -1 : 0;
  for (const LostRank& rank : lost) {
    Slot slot;
    if (gang.bound == 0 || gang.slots[static_cast<size_t>(rank.flat_rank)].node >= 0) continue;
    // The quota may have been lowered under it.
    const auto& charges = gang.groups[static_cast<size_t>(GroupOf(gang, rank.flat_rank))].charges;
    const bool quota = std::all_of(charges.begin(), charges.end(), [&](const Charge& charge) {
      return queues_.Admits(gang.queue, charge.item, charge.amount);
    });
    if (!quota || !PlaceBeside(job, rank.flat_rank, rank.node, spine, slot)) continue;
    Hold(job, rank.flat_rank, slot);
    bound.push_back(rank.flat_rank);
  }
  if (!IsLegal(gang)) {
    Emit(EvictDecision{gang.name, "REPAIR", ""});
    Requeue(job);
    return;
  }
  gang.lost_at = now_;
  for (const int rank : bound) EmitBind(job, rank);
  if (!bound.empty()) {
    StopClock(job);
    StartClock(job);
  }
  if (gang.bound < MostRanks(gang)) growable_.insert(job);
}

void Engine::RepairAll() {
  if (lost_ranks_.empty()) return;
  std::vector<LostRank> lost;
  lost.swap(lost_ranks_);
  std::sort(lost.begin(), lost.end());
  std::vector<std::pair<PendingKey, std::vector<LostRank>>> by_job;
  for (const LostRank& rank : lost) {
    const Gang& gang = gangs_[static_cast<size_t>(rank.job)];
    if (by_job.empty() || by_job.back().first.job != rank.job)
      by_job.push_back({{true, -int64_t{gang.priority}, gang.sequence, rank.job}, {}});
    by_job.back().second.push_back(rank);
  }
  std::sort(by_job.begin(), by_job.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [key, ranks] : by_job) Repair(key.job, ranks);
}

// One rank more, if there is room and quota for it.
bool Engine::GrowOne(int job) {
  Gang& gang = gangs_[static_cast<size_t>(job)];
  const auto beside = std::find_if(gang.slots.rbegin(), gang.slots.rend(),
                                   [](const Slot& slot) { return slot.node >= 0; });
  if (beside == gang.slots.rend()) return false;
  for (const GangGroup& group : gang.groups) {
    const bool quota =
        std::all_of(group.charges.begin(), group.charges.end(), [&](const Charge& charge) {
          return queues_.Admits(gang.queue, charge.item, charge.amount);
        });
    Assignment one;
    one.groups.resize(gang.groups.size());
    std::vector<int> counts(gang.groups.size(), 0);
    const size_t g = static_cast<size_t>(&group - gang.groups.data());
    one.groups[g].charges = group.charges, counts[g] = 1;
    if (!quota || !LeavesQuota(job, one, counts) ||
        classes_.Synced(cluster_, group.run_class).sum[0] == 0)
      continue;
    for (int rank = 0; rank < group.count; ++rank) {
      const int flat = group.first_rank + rank;
      if (gang.slots[static_cast<size_t>(flat)].node != -1) continue;
      Slot slot;
      if (!PlaceBeside(job, flat, beside->node, -1, slot)) break;
      Hold(job, flat, slot);
      EmitBind(job, flat);
      return true;
    }
  }
  return false;
}

void Engine::Grow() {
  for (auto at = growable_.begin(); at != growable_.end();) {
    const int job = *at;
    const Gang& gang = gangs_[static_cast<size_t>(job)];
    // What it lost at this very time was not mended, and is not to look so; and the binds of a
    // start stand together. Then a moment later.
    if (gang.lost_at == now_ || gang.bound_at == now_) {
      timers_.insert({now_ + 1, TimerKind::kGrow, -1, 0});
      ++at;
      continue;
    }
    while (gang.bound < MostRanks(gang) && GrowOne(job)) {
    }
    at = gang.bound < MostRanks(gang) ? std::next(at) : growable_.erase(at);
  }
}

}  // namespace muster::sched
