// The tree of queues and what is charged to it, as Kueue reckons: a queue may use its nominal
// quota, plus what its parent's tree leaves (up to its borrowing limit), less what it has lent; a
// lending limit keeps a part of the nominal quota from everybody else. All of it is kept as events
// come, in O(depth of the tree) each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/workload.h"
#include "sched/event.h"
#include "sched/names.h"

namespace muster::sched {

struct QuotaItem {  // what quota is given in
  std::string flavor, resource;
};

class Queues {
 public:
  Status AddFlavor(const Flavor& flavor);
  // A parent that is not there yet is made, with no quota. kInvalid: there already, or a circle.
  Status AddQueue(const Queue& queue);
  Status ChangeQuota(const QuotaChange& change);

  bool any() const { return any_; }  // without queues there is no quota
  int Find(std::string_view name) const { return names_.Find(name); }
  // The queue of that name; where it was never added, a root without quota.
  int FindOrAdd(std::string_view name);
  bool Defined(int queue) const { return Of(queue).defined; }
  const std::string& Name(int queue) const { return names_[queue]; }
  const Queue& Spec(int queue) const { return Of(queue).spec; }
  int Parent(int queue) const { return Of(queue).parent; }
  int Root(int queue) const;
  int size() const { return static_cast<int>(nodes_.size()); }

  int item_count() const { return static_cast<int>(items_.size()); }
  const QuotaItem& Item(int item) const { return items_[static_cast<size_t>(item)]; }
  const Flavor* FlavorOf(int item) const;  // null where it was never added
  // The items of a resource that the chain lists, the queue's own first. Empty = the resource is
  // free.
  std::vector<int> ItemsFor(int queue, std::string_view resource) const;

  // What the queue could still take, lent and borrowed included. Below 0 where quota was lowered
  // under what runs.
  int64_t Available(int queue, int item) const;
  // Whether it may take the amount. What a queue keeps from others is its own even while those use
  // more than there is.
  bool Admits(int queue, int item, int64_t amount) const;
  // What it could take were everything idle.
  int64_t Potential(int queue, int item) const;
  void Charge(int queue, int item, int64_t amount);
  void Refund(int queue, int item, int64_t amount);
  int64_t Usage(int queue, int item) const;    // its own and what children took beyond theirs
  int64_t Subtree(int queue, int item) const;  // nominal of its tree, less what children keep
  int64_t Nominal(int queue, int item) const;
  // Above the nominal quota of its tree.
  bool Borrows(int queue, int item) const { return Usage(queue, item) > Subtree(queue, item); }
  // The lowest common ancestor, or -1 for two trees.
  int Common(int a, int b) const;
  // The ancestor of `queue` (or itself) right below `above`.
  int Below(int queue, int above) const;

  // Weighted dominant share of what the queue's tree uses now and used lately (half-life one day),
  // in parts of 2^-20 of `total(resource)` for a weight of 1. Charges move it; `now` ages it.
  int64_t Share(int queue, TimeMs now, const std::map<std::string, int64_t>& totals) const;
  void SetNow(TimeMs now) { now_ = now; }

  // Another nominal quota for a trial, undone by the same call; version() stays.
  void TrialNominal(int queue, int item, int64_t nominal);

  int64_t version() const { return version_; }  // moves when quota or the tree changes

 private:
  struct Limits {
    bool listed = false;
    int64_t nominal = 0;
    std::optional<int64_t> borrow, lend;
    int64_t subtree = 0;
    int64_t usage = 0;
    // Of fair share: what runs in the tree of the queue, and its decayed average.
    int64_t running = 0, average = 0;
    TimeMs averaged_at = 0;
  };
  struct Node {
    Queue spec;
    int parent = -1;
    bool defined = false;
    std::vector<int> children;
    std::vector<Limits> limits;  // by item
  };
  const Node& Of(int queue) const { return nodes_[static_cast<size_t>(queue)]; }
  Node& Of(int queue) { return nodes_[static_cast<size_t>(queue)]; }
  const Limits& At(int queue, int item) const {
    return Of(queue).limits[static_cast<size_t>(item)];
  }
  Limits& At(int queue, int item) { return Of(queue).limits[static_cast<size_t>(item)]; }
  int ItemId(const std::string& flavor, const std::string& resource);
  static int64_t Kept(const Limits& l);  // for its own tree alone
  void Recompute();
  void RecomputeItem(int item);
  void Running(int queue, int item, int64_t amount);

  Names names_;
  std::vector<Node> nodes_;
  std::vector<QuotaItem> items_;
  std::map<std::pair<std::string, std::string>, int> item_ids_;
  std::map<std::string, Flavor> flavors_;
  bool any_ = false;
  TimeMs now_ = 0;
  int64_t version_ = 0;
};

}  // namespace muster::sched
