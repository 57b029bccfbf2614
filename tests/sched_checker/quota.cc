#include "quota.h"

#include <algorithm>

namespace sched_checker {

namespace {

const QuotaEntry* EntryOf(const State& state, const std::string& queue,
                          const FlavorResource& what) {
  const auto found = state.queues.find(queue);
  if (found == state.queues.end()) return nullptr;
  const auto entry = found->second.quota.find(what);
  return entry == found->second.quota.end() ? nullptr : &entry->second;
}

// What a queue keeps for itself: all that it does not lend.
int64_t Kept(const State& state, const std::string& queue, const FlavorResource& what) {
  const QuotaEntry* entry = EntryOf(state, queue, what);
  if (entry == nullptr || !entry->lend) return 0;
  return std::max<int64_t>(0, SubtreeQuota(state, queue, what) - *entry->lend);
}

const std::vector<std::string>& ChildrenOf(const State& state, const std::string& queue) {
  static const std::vector<std::string> kNone;
  const auto found = state.children.find(queue);
  return found == state.children.end() ? kNone : found->second;
}

std::set<FlavorResource> ListedInChain(const State& state, const std::string& queue) {
  std::set<FlavorResource> all;
  for (const Queue* q : state.Chain(queue))
    for (const auto& [what, entry] : q->quota) all.insert(what);
  return all;
}

}  // namespace

int64_t SubtreeQuota(const State& state, const std::string& queue, const FlavorResource& what) {
  const QuotaEntry* entry = EntryOf(state, queue, what);
  int64_t sum = entry == nullptr ? 0 : entry->nominal;
  for (const std::string& child : ChildrenOf(state, queue))
    sum += SubtreeQuota(state, child, what) - Kept(state, child, what);
  return sum;
}

int64_t TreeUse(const State& state, const std::string& queue, const FlavorResource& what) {
  const auto own = state.direct_use.find({queue, what});
  int64_t sum = own == state.direct_use.end() ? 0 : own->second;
  for (const std::string& child : ChildrenOf(state, queue))
    sum += std::max<int64_t>(0, TreeUse(state, child, what) - Kept(state, child, what));
  return sum;
}

std::optional<int64_t> UseLimit(const State& state, const std::string& queue,
                                const FlavorResource& what) {
  const auto found = state.queues.find(queue);
  const bool root = found == state.queues.end() || !state.queues.contains(found->second.parent);
  if (root) return SubtreeQuota(state, queue, what);
  const QuotaEntry* entry = EntryOf(state, queue, what);
  if (entry == nullptr || !entry->borrow) return std::nullopt;
  return SubtreeQuota(state, queue, what) + *entry->borrow;
}

bool Listed(const State& state, const std::string& queue, const std::string& resource) {
  for (const Queue* q : state.Chain(queue))
    for (const auto& [what, entry] : q->quota)
      if (what.second == resource) return true;
  return false;
}

bool ListedFor(const State& state, const std::string& queue, const FlavorResource& what) {
  for (const Queue* q : state.Chain(queue))
    if (q->quota.contains(what)) return true;
  return false;
}

ChainUse UseOfChain(const State& state, const std::string& queue) {
  ChainUse use;
  const auto listed = ListedInChain(state, queue);
  for (const Queue* q : state.Chain(queue))
    for (const FlavorResource& what : listed) use[{q->name, what}] = TreeUse(state, q->name, what);
  return use;
}

std::vector<std::string> QuotaBroken(const State& state, const std::string& queue,
                                     const ChainUse& before) {
  std::vector<std::string> broken;
  for (const auto& [key, after] : UseOfChain(state, queue)) {
    const auto found = before.find(key);
    if (after <= (found == before.end() ? 0 : found->second)) continue;
    const auto limit = UseLimit(state, key.first, key.second);
    if (limit && after > *limit)
      broken.push_back("queue " + key.first + " uses " + std::to_string(after) + " of " +
                       key.second.first + "/" + key.second.second + " and may use " +
                       std::to_string(*limit));
  }
  return broken;
}

bool OverNominalBelowCommon(const State& state, const Job& victim, const std::string& other) {
  const auto mine = state.Chain(victim.queue), theirs = state.Chain(other);
  std::set<std::string> shared;
  for (const Queue* q : theirs) shared.insert(q->name);
  if (mine.empty() || !shared.contains(mine.back()->name)) return false;
  std::set<FlavorResource> charged;
  for (const auto& [rank, bound] : victim.ranks)
    for (const auto& [what, amount] : bound.charged) charged.insert(what);
  for (const Queue* q : mine) {
    if (shared.contains(q->name)) break;
    for (const FlavorResource& what : charged)
      if (TreeUse(state, q->name, what) > SubtreeQuota(state, q->name, what)) return true;
  }
  return false;
}

}  // namespace sched_checker
