// Several task groups in one domain, exactly: where packing one group after another leaves no room
// for the last, the division of all groups over the nodes is searched by dynamic programming.
// State: how many ranks of the smaller groups are placed; value: the most ranks of the largest
// group.
#include <algorithm>

#include "sched/placement.h"

namespace muster::sched {

namespace {

constexpr int64_t kMostStates = 1 << 18;  // nodes x states of one search

// What one node could hold together.
struct Together {
  std::vector<int> smaller;  // ranks of each smaller group
  int largest = 0;
  size_t step = 0;  // what `smaller` adds to the number of a state
};

// Numbers for (0..counts[0]) x (0..counts[1]) x ...
class States {
 public:
  explicit States(std::vector<int> counts) : counts_(std::move(counts)) {}
  int64_t size() const {
    int64_t states = 1;
    for (const int count : counts_) {
      states *= count + 1;
      if (states > kMostStates) return states;
    }
    return states;
  }
  size_t NumberOf(const std::vector<int>& ranks) const {
    size_t number = 0;
    for (size_t g = 0; g < counts_.size(); ++g)
      number = number * (static_cast<size_t>(counts_[g]) + 1) + static_cast<size_t>(ranks[g]);
    return number;
  }
  // Whether the ranks can be added to those of the state.
  bool Holds(size_t state, const std::vector<int>& more) const {
    for (size_t g = counts_.size(); g-- > 0;) {
      const size_t radix = static_cast<size_t>(counts_[g]) + 1;
      if (static_cast<int>(state % radix) + more[g] > counts_[g]) return false;
      state /= radix;
    }
    return true;
  }

 private:
  std::vector<int> counts_;
};

}  // namespace

// Every mixture that the node holds, found by taking and giving back.
void Placer::MixturesOn(int node, std::span<const GroupAsk* const> smaller, const GroupAsk& largest,
                        std::vector<int>& ranks, const auto& use) {
  const size_t n = static_cast<size_t>(node);
  if (ranks.size() == smaller.size()) {
    const ShapeClass& c = classes_[largest.shape_class];
    use(ranks, c.fit[n] == 0 ? 0 : std::min(largest.count, cluster_.Fit(c.shape, node)));
    return;
  }
  const GroupAsk& group = *smaller[ranks.size()];
  const ShapeClass& c = classes_[group.shape_class];
  std::vector<Slot> taken;
  const int most = c.fit[n] == 0 ? 0 : group.count;
  for (int here = 0;; ++here) {
    ranks.push_back(here);
    MixturesOn(node, smaller, largest, ranks, use);
    ranks.pop_back();
    Slot slot;
    if (here == most || !cluster_.Take(c.shape, node, slot)) break;
    taken.push_back(slot);
  }
  for (size_t i = taken.size(); i-- > 0;)
    cluster_.Give(c.shape, taken[i]), cluster_.Forget(taken[i]);
}

void Placer::NodesIn(int where, std::vector<int>& nodes) const {
  if (where < 0) {
    nodes.push_back(~where);
    return;
  }
  const Domain& domain = cluster_.domains()[static_cast<size_t>(where)];
  nodes.insert(nodes.end(), domain.nodes.begin(), domain.nodes.end());
  for (const int child : domain.children) NodesIn(child, nodes);
}

bool Placer::PlaceTogether(const PlaceAsk& ask, int where, std::vector<PlacedRank>& placed) {
  std::vector<const GroupAsk*> smaller;
  for (const GroupAsk& group : ask.groups)
    if (group.count > 0) smaller.push_back(&group);
  if (smaller.size() < 2 || ask.topology.slice_size > 0) return false;
  const auto last =
      std::max_element(smaller.begin(), smaller.end(),
                       [](const GroupAsk* a, const GroupAsk* b) { return a->count < b->count; });
  const GroupAsk& largest = **last;
  smaller.erase(last);
  std::vector<int> counts, nodes;
  for (const GroupAsk* group : smaller) counts.push_back(group->count);
  const States states(counts);
  NodesIn(where, nodes);
  for (const GroupAsk& group : ask.groups) classes_.Synced(cluster_, group.shape_class);
  std::erase_if(nodes, [&](int node) {
    return std::all_of(ask.groups.begin(), ask.groups.end(), [&](const GroupAsk& group) {
      return classes_[group.shape_class].fit[static_cast<size_t>(node)] == 0;
    });
  });
  const int64_t work = states.size() * static_cast<int64_t>(nodes.size() + 1);
  if (work > kMostStates) return false;
  std::sort(nodes.begin(), nodes.end(),
            [&](int a, int b) { return cluster_.BeforeInFabric(a, b); });

  const size_t size = static_cast<size_t>(states.size());
  std::vector<std::vector<Together>> held(nodes.size());
  std::vector<std::vector<int>> most(nodes.size() + 1, std::vector<int>(size, -1));
  std::vector<std::vector<size_t>> chosen(nodes.size(), std::vector<size_t>(size, 0));
  most[0][0] = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::vector<int> ranks;
    const size_t mark = cluster_.Mark();
    MixturesOn(nodes[i], smaller, largest, ranks, [&](const std::vector<int>& some, int rest) {
      held[i].push_back({some, rest, states.NumberOf(some)});
    });
    cluster_.Rewind(mark);
    for (size_t state = 0; state < size; ++state) {
      if (most[i][state] < 0) continue;
      for (size_t m = 0; m < held[i].size(); ++m) {
        const Together& mixture = held[i][m];
        if (!states.Holds(state, mixture.smaller)) continue;
        int& there = most[i + 1][state + mixture.step];
        const int now = std::min(largest.count, most[i][state] + mixture.largest);
        if (now > there) there = now, chosen[i][state + mixture.step] = m;
      }
    }
  }
  size_t state = states.NumberOf(counts);
  if (most[nodes.size()][state] < largest.count) return false;
  std::vector<const Together*> on(nodes.size());
  for (size_t i = nodes.size(); i-- > 0;) {
    on[i] = &held[i][chosen[i][state]];
    state -= on[i]->step;
  }
  std::vector<int> next(smaller.size() + 1, 0);
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (size_t g = 0; g <= smaller.size(); ++g) {
      const GroupAsk& group = g < smaller.size() ? *smaller[g] : largest;
      const int ranks = g < smaller.size() ? on[i]->smaller[g]
                                           : std::min(on[i]->largest, largest.count - next[g]);
      for (int k = 0; k < ranks; ++k) {
        PlacedRank rank;
        rank.group = group.group, rank.rank = next[g]++;
        if (!cluster_.Take(classes_[group.shape_class].shape, nodes[i], rank.slot)) return false;
        placed.push_back(rank);
      }
    }
  }
  return true;
}

}  // namespace muster::sched
