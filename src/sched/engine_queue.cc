// Who is next: pending jobs by kind, which kinds an event could help, and the order among them.
#include <algorithm>

#include <fmt/format.h>

#include "sched/engine.h"

namespace muster::sched {

PendingKey Engine::KeyOfJob(int job) const {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  return {!gang.overdue, -int64_t{gang.priority}, gang.sequence, job};
}

int Engine::KindFor(int job) {
  const Gang& g = gangs_[static_cast<size_t>(job)];
  const auto number = [](const std::optional<int64_t>& v) { return v ? *v : -1; };
  std::string key = fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}", g.queue, g.priority,
                                g.overdue, g.preemptible, g.topology.required, g.topology.preferred,
                                g.topology.slice_level, g.topology.slice_size, g.elastic_min,
                                g.elastic_max, number(g.left), number(g.limit));
  for (const GangGroup& group : g.groups)
    key += fmt::format(";{},{},{}", group.shape_class, group.count, group.min);
  const auto [found, fresh] =
      pending_.kind_ids.try_emplace(std::move(key), static_cast<int>(pending_.kinds.size()));
  if (fresh) {
    pending_.kinds.emplace_back();
    pending_.kinds.back().queue = g.queue;
  }
  return found->second;
}

void Engine::AddPending(int job) {
  gangs_[static_cast<size_t>(job)].waiting_since = now_;
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  const int kind = KindFor(job);
  const PendingKey key = KeyOfJob(job);
  PendingKind& k = pending_.kinds[static_cast<size_t>(kind)];
  if (k.jobs.empty()) k.blocked = false;
  k.jobs.insert(key);
  pending_.active.insert(kind);
  auto& queue = pending_.by_queue[static_cast<size_t>(gang.queue)];
  // A new first: in a strict queue the others wait for it from now on.
  if (!queue.empty() && key < *queue.begin() &&
      queues_.Spec(gang.queue).order == QueueOrder::kFifo) {
    for (const PendingKey& other : queue) {
      const auto& said = said_[static_cast<size_t>(other.job)];
      if (said != nullptr && said->front().code != "ORDER") to_explain_.push_back(other.job);
    }
  }
  queue.insert(key);
  if (pending_.kind_of.size() <= static_cast<size_t>(job))
    pending_.kind_of.resize(static_cast<size_t>(job) + 1, -1);
  pending_.kind_of[static_cast<size_t>(job)] = kind;
  pending_.fresh.push_back(kind);
  if (gang.max_wait && gang.first_started < 0)
    deadlines_.insert({gang.submitted + *gang.max_wait, job});
  dirty_ = true;
}

void Engine::DropPending(int job) {
  DropReservation(job);
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  if (gang.max_wait) deadlines_.erase({gang.submitted + *gang.max_wait, job});
  const int kind = pending_.kind_of[static_cast<size_t>(job)];
  const PendingKey key = KeyOfJob(job);
  PendingKind& k = pending_.kinds[static_cast<size_t>(kind)];
  k.jobs.erase(key);
  if (k.jobs.empty()) pending_.active.erase(kind);
  auto& queue = pending_.by_queue[static_cast<size_t>(gang.queue)];
  const bool was_head = !queue.empty() && *queue.begin() == key;
  queue.erase(key);
  pending_.kind_of[static_cast<size_t>(job)] = -1;
  // The next of a strict queue has its turn now.
  if (was_head && !queue.empty() && queues_.Spec(gang.queue).order == QueueOrder::kFifo)
    pending_.fresh.push_back(pending_.kind_of[static_cast<size_t>(queue.begin()->job)]);
  dirty_ = true;
}

bool Engine::HeadOfQueue(int job) const {
  const auto& queue =
      pending_.by_queue[static_cast<size_t>(gangs_[static_cast<size_t>(job)].queue)];
  return !queue.empty() && queue.begin()->job == job;
}

// In a strict queue all but the first wait their turn. A promise is kept even where somebody has
// come to stand in front, and max_wait even behind one who can never start.
bool Engine::WaitsItsTurn(int job) const {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  return queues_.Spec(gang.queue).order == QueueOrder::kFifo && !HeadOfQueue(job) &&
         !gang.overdue && !reservations_.contains(job);
}

// Of a kind the first; but whose promised time has come, even if an older one has come back to
// wait.
int Engine::ToTry(const PendingKind& kind) const {
  const int first = kind.jobs.begin()->job;
  for (const auto& [holder, reservation] : reservations_) {
    if (reservation.start <= now_ && holder != first && kind.jobs.contains(KeyOfJob(holder)))
      return holder;
  }
  return first;
}

// Whether something has happened since the kind was tried that could let it start now.
bool Engine::IsAwake(PendingKind& kind) {
  if (!kind.blocked) return true;
  const Queue& queue = queues_.Spec(kind.queue);
  const size_t root = static_cast<size_t>(queues_.Root(kind.queue));
  if (kind.quota_seen != queues_.version() || kind.refunds_seen != pending_.refunds[root])
    return true;
  if (kind.standing_seen != cluster_.standing_version()) return true;
  const Gang& gang = gangs_[static_cast<size_t>(kind.jobs.begin()->job)];
  const bool evicts = gang.overdue || queue.within != PreemptWithin::kNever ||
                      queue.reclaim != ReclaimPolicy::kNever ||
                      queue.borrow != BorrowPolicy::kNever;
  if (queue.reclaim != ReclaimPolicy::kNever && kind.charges_seen != pending_.charges[root])
    return true;
  for (const Assignment& assignment : kind.assignments) {
    bool gained = false, room = true;
    for (size_t g = 0; g < assignment.groups.size(); ++g) {
      const int run_class = assignment.groups[g].run_class;
      const auto& gain = GainOf(run_class);
      gained = gained || (evicts ? gain.matched : gain.found) >= kind.gains_seen;
      // Without evictions there must be room for all of them at once.
      room = room && (evicts || classes_.Synced(cluster_, run_class).sum[0] >= gang.groups[g].min);
    }
    if (gained && room) return true;
  }
  return false;
}

// How far the class has looked through the nodes that gave room back.
const PendingJobs::ClassGain& Engine::GainOf(int shape_class) {
  if (pending_.by_class.size() <= static_cast<size_t>(shape_class))
    pending_.by_class.resize(static_cast<size_t>(classes_.size()));
  auto& gain = pending_.by_class[static_cast<size_t>(shape_class)];
  if (gain.looked >= pending_.gains_end()) return gain;
  const ShapeClass& c = classes_.Synced(cluster_, shape_class);
  if (gain.looked < pending_.gains_begin) gain.matched = gain.found = pending_.gains_begin;
  for (int64_t i = std::max(gain.looked, pending_.gains_begin); i < pending_.gains_end(); ++i) {
    const size_t node =
        static_cast<size_t>(pending_.gains[static_cast<size_t>(i - pending_.gains_begin)]);
    if (c.match[node] == 0 || !cluster_.usable(static_cast<int>(node))) continue;
    gain.matched = i;
    if (c.fit[node] > 0) gain.found = i;
  }
  gain.looked = pending_.gains_end();
  return gain;
}

void Engine::WakeKinds() {
  pending_.awake.clear();
  if (fair_queues_) {
    for (int item = 0; item < queues_.item_count(); ++item) {
      const std::string& resource = queues_.Item(item).resource;
      totals_[resource] = cluster_.TotalOf(resource);
    }
  }
  for (const int id : pending_.active) {
    PendingKind& kind = pending_.kinds[static_cast<size_t>(id)];
    if (IsAwake(kind)) pending_.awake.insert({*kind.jobs.begin(), id});
  }
  WakeFresh();
}

// The kinds that became ready while a round runs: a victim, the next of a strict queue.
void Engine::WakeFresh() {
  for (const int id : pending_.fresh) {
    PendingKind& kind = pending_.kinds[static_cast<size_t>(id)];
    if (kind.jobs.empty()) continue;
    pending_.awake.insert({*kind.jobs.begin(), id});
  }
  pending_.fresh.clear();
}

// The kind to try now, or -1. Where a queue above is fair, the child with the smallest share of it
// goes first; otherwise overdue, priority, order of submission.
int Engine::PickNext() {
  if (pending_.awake.empty()) return -1;
  const auto best = fair_queues_ ? PickFair() : pending_.awake.begin();
  const int kind = best->second;
  pending_.awake.erase(best);
  return kind;
}

std::set<std::pair<PendingKey, int>>::iterator Engine::PickFair() {
  using At = std::set<std::pair<PendingKey, int>>::iterator;
  // The best of each queue's tree, leaves first; awake is in order, so the first one met is the
  // best of its own queue.
  std::map<int, At> best;
  std::vector<int> order;
  for (auto at = pending_.awake.begin(); at != pending_.awake.end(); ++at) {
    if (!at->first.on_time) return at;
    const int queue = pending_.kinds[static_cast<size_t>(at->second)].queue;
    if (best.try_emplace(queue, at).second) order.push_back(queue);
  }
  std::map<int, int> depth;
  const auto depth_of = [&](int queue) {
    int d = 0;
    for (int up = queues_.Parent(queue); up >= 0; up = queues_.Parent(up)) ++d;
    return d;
  };
  std::set<std::pair<int, int>> open;  // deepest first
  for (const int queue : order) open.insert({-depth_of(queue), queue});
  std::map<int, At> tree;   // best of the whole tree of a queue
  std::map<int, int> from;  // and the child that it came through
  At winner = pending_.awake.end();
  while (!open.empty()) {
    const auto [d, queue] = *open.begin();
    open.erase(open.begin());
    const auto own = best.find(queue);
    auto here = tree.find(queue);
    if (own != best.end() && (here == tree.end() || own->second->first < here->second->first))
      here = tree.insert_or_assign(queue, own->second).first;
    const int parent = queues_.Parent(queue);
    if (parent < 0) {
      if (winner == pending_.awake.end() || here->second->first < winner->first)
        winner = here->second;
      continue;
    }
    open.insert({d + 1, parent});
    const auto above = tree.find(parent);
    bool better = above == tree.end();
    if (!better && queues_.Spec(parent).order == QueueOrder::kFair) {
      const int64_t mine = queues_.Share(queue, now_, totals_);
      const int64_t theirs = queues_.Share(from[parent], now_, totals_);
      better = mine != theirs ? mine < theirs : here->second->first < above->second->first;
    } else if (!better) {
      better = here->second->first < above->second->first;
    }
    if (better) tree.insert_or_assign(parent, here->second), from[parent] = queue;
  }
  return winner;
}

}  // namespace muster::sched
