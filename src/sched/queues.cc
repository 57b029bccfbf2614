#include "sched/queues.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/strings.h"
#include "sched/decay.h"

namespace muster::sched {

namespace {
constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 4;
}

int Queues::FindOrAdd(std::string_view name) {
  const int id = names_.Id(name);
  if (id == static_cast<int>(nodes_.size())) {
    Node node;
    node.spec.name = std::string(name);
    node.limits.resize(items_.size());
    nodes_.push_back(std::move(node));
  }
  return id;
}

Status Queues::AddFlavor(const Flavor& flavor) {
  if (!flavors_.emplace(flavor.name, flavor).second)
    return Fail(Code::kInvalid, fmt::format("flavor {} is there already", Printable(flavor.name)));
  ++version_;
  return {};
}

const Flavor* Queues::FlavorOf(int item) const {
  const auto found = flavors_.find(Item(item).flavor);
  return found == flavors_.end() ? nullptr : &found->second;
}

int Queues::ItemId(const std::string& flavor, const std::string& resource) {
  const auto [found, fresh] =
      item_ids_.try_emplace({flavor, resource}, static_cast<int>(items_.size()));
  if (fresh) {
    items_.push_back({flavor, resource});
    for (Node& node : nodes_) node.limits.resize(items_.size());
  }
  return found->second;
}

Status Queues::AddQueue(const Queue& queue) {
  const int id = FindOrAdd(queue.name);
  if (Of(id).defined)
    return Fail(Code::kInvalid, fmt::format("queue {} is there already", Printable(queue.name)));
  int parent = -1;
  if (!queue.parent.empty()) {
    parent = FindOrAdd(queue.parent);
    for (int up = parent; up >= 0; up = Of(up).parent) {
      if (up == id)
        return Fail(Code::kInvalid,
                    fmt::format("queue {} would be its own ancestor", Printable(queue.name)));
    }
  }
  Of(id).spec = queue;
  Of(id).defined = true;
  Of(id).parent = parent;
  if (parent >= 0) Of(parent).children.push_back(id);
  for (const QuotaEntry& entry : queue.quota) {
    const int item = ItemId(entry.flavor, entry.resource);
    Limits& l = At(id, item);
    l.listed = true, l.nominal = entry.nominal, l.borrow = entry.borrow, l.lend = entry.lend;
  }
  any_ = true;
  Recompute();
  return {};
}

Status Queues::ChangeQuota(const QuotaChange& change) {
  const int queue = Find(change.queue);
  if (queue < 0 || !Of(queue).defined)
    return Fail(Code::kInvalid, fmt::format("there is no queue {}", Printable(change.queue)));
  Limits& l = At(queue, ItemId(change.flavor, change.resource));
  l.listed = true;
  if (change.nominal) l.nominal = *change.nominal;
  if (change.borrow) l.borrow = change.borrow;
  if (change.lend) l.lend = change.lend;
  Recompute();
  return {};
}

// Quota changes are rare: everything that follows from the limits is reckoned anew, from what runs.
void Queues::Recompute() {
  ++version_;
  for (int item = 0; item < item_count(); ++item) RecomputeItem(item);
}

void Queues::TrialNominal(int queue, int item, int64_t nominal) {
  At(queue, item).nominal = nominal;
  RecomputeItem(item);
}

void Queues::RecomputeItem(int item) {
  std::vector<int> order;  // parents first
  for (int q = 0; q < size(); ++q) {
    if (Of(q).parent < 0) order.push_back(q);
  }
  for (size_t i = 0; i < order.size(); ++i)
    for (const int child : Of(order[i]).children) order.push_back(child);
  std::vector<int64_t> own(nodes_.size());
  for (int q = 0; q < size(); ++q) {
    own[static_cast<size_t>(q)] = At(q, item).running;
    for (const int child : Of(q).children) own[static_cast<size_t>(q)] -= At(child, item).running;
    At(q, item).usage = 0;
    At(q, item).subtree = At(q, item).nominal;
  }
  for (auto q = order.rbegin(); q != order.rend(); ++q) {
    const Limits& l = At(*q, item);
    if (Of(*q).parent >= 0) At(Of(*q).parent, item).subtree += l.subtree - Kept(l);
  }
  for (auto q = order.rbegin(); q != order.rend(); ++q) {
    const int64_t amount = own[static_cast<size_t>(*q)];
    int64_t more = amount;
    for (int up = *q; up >= 0 && more > 0; up = Of(up).parent) {
      Limits& l = At(up, item);
      const int64_t local = std::max<int64_t>(0, Kept(l) - l.usage);
      l.usage += more;
      more -= std::min(more, local);
    }
  }
}

int Queues::Root(int queue) const {
  while (Of(queue).parent >= 0) queue = Of(queue).parent;
  return queue;
}
int Queues::Common(int a, int b) const {
  for (int up = a; up >= 0; up = Of(up).parent)
    for (int other = b; other >= 0; other = Of(other).parent)
      if (up == other) return up;
  return -1;
}
int Queues::Below(int queue, int above) const {
  while (Of(queue).parent != above && Of(queue).parent >= 0) queue = Of(queue).parent;
  return queue;
}

std::vector<int> Queues::ItemsFor(int queue, std::string_view resource) const {
  std::vector<int> found;
  for (int up = queue; up >= 0; up = Of(up).parent) {
    const auto add = [&](int item) {
      if (items_[static_cast<size_t>(item)].resource == resource && At(up, item).listed &&
          std::find(found.begin(), found.end(), item) == found.end())
        found.push_back(item);
    };
    // In the order in which the queue lists them; what came by a change of quota follows.
    for (const QuotaEntry& entry : Of(up).spec.quota) {
      const auto item = item_ids_.find({entry.flavor, entry.resource});
      if (item != item_ids_.end()) add(item->second);
    }
    for (int item = 0; item < item_count(); ++item) add(item);
  }
  return found;
}

int64_t Queues::Kept(const Limits& l) {
  return l.lend ? std::max<int64_t>(0, l.subtree - *l.lend) : 0;
}

int64_t Queues::Available(int queue, int item) const {
  const Limits& l = At(queue, item);
  if (Of(queue).parent < 0) return l.subtree - l.usage;
  const int64_t kept = Kept(l);
  const int64_t local = std::max<int64_t>(0, kept - l.usage);
  int64_t above = Available(Of(queue).parent, item);
  if (l.borrow) {
    const int64_t stored = l.subtree - kept;
    const int64_t used_above = std::max<int64_t>(0, l.usage - kept);
    above = std::min(above, stored - used_above + *l.borrow);
  }
  return local + above;
}

bool Queues::Admits(int queue, int item, int64_t amount) const {
  for (int up = queue; up >= 0 && amount > 0; up = Of(up).parent) {
    const Limits& l = At(up, item);
    if (Of(up).parent < 0) return amount <= l.subtree - l.usage;
    const int64_t kept = Kept(l);
    amount -= std::min(amount, std::max<int64_t>(0, kept - l.usage));
    const int64_t used_above = std::max<int64_t>(0, l.usage - kept);
    if (amount > 0 && l.borrow && amount > l.subtree - kept - used_above + *l.borrow) return false;
  }
  return true;
}

int64_t Queues::Potential(int queue, int item) const {
  const Limits& l = At(queue, item);
  if (Of(queue).parent < 0) return l.subtree;
  const int64_t kept = Kept(l);
  int64_t above = Potential(Of(queue).parent, item);
  if (l.borrow) above = std::min(above, l.subtree - kept + *l.borrow);
  return kept + above;
}

int64_t Queues::Usage(int queue, int item) const { return At(queue, item).usage; }
int64_t Queues::Subtree(int queue, int item) const { return At(queue, item).subtree; }
int64_t Queues::Nominal(int queue, int item) const { return At(queue, item).nominal; }

void Queues::Running(int queue, int item, int64_t amount) {
  for (int up = queue; up >= 0; up = Of(up).parent) {
    Limits& l = At(up, item);
    l.average = DecayTowards(l.average, l.running, now_ - l.averaged_at);
    l.averaged_at = now_;
    l.running += amount;
  }
}

void Queues::Charge(int queue, int item, int64_t amount) {
  Running(queue, item, amount);
  for (int up = queue; up >= 0 && amount > 0; up = Of(up).parent) {
    Limits& l = At(up, item);
    const int64_t local = std::max<int64_t>(0, Kept(l) - l.usage);
    l.usage += amount;
    amount -= std::min(amount, local);
  }
}

void Queues::Refund(int queue, int item, int64_t amount) {
  Running(queue, item, -amount);
  for (int up = queue; up >= 0 && amount > 0; up = Of(up).parent) {
    Limits& l = At(up, item);
    const int64_t above = l.usage - Kept(l);
    l.usage -= amount;
    amount = std::min(amount, std::max<int64_t>(0, above));
  }
}

int64_t Queues::Share(int queue, TimeMs now, const std::map<std::string, int64_t>& totals) const {
  int64_t dominant = 0;
  for (int item = 0; item < item_count(); ++item) {
    const Limits& l = At(queue, item);
    const auto total = totals.find(items_[static_cast<size_t>(item)].resource);
    if (total == totals.end() || total->second <= 0) continue;
    const int64_t lately = DecayTowards(l.average, l.running, now - l.averaged_at);
    dominant = std::max(dominant, FixedRatio(l.running + lately, total->second));
  }
  return dominant / Of(queue).spec.weight;
}

}  // namespace muster::sched
