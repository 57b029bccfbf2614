// Where a gang goes: all of its ranks at once, in as few domains as possible, the smallest hole
// that holds it, ranks in the order of the fabric. Domains are weighed by the fit counts of shape
// classes, so choosing costs a look at the domains of a level, not at ranks x nodes.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sched/cluster.h"
#include "sched/gang.h"
#include "sched/shape_class.h"

namespace muster::sched {

struct GroupAsk {
  int group = 0;  // index in the gang
  int shape_class = -1;
  int count = 0;  // ranks 0 to count - 1
};
inline constexpr int kAnywhere = std::numeric_limits<int>::min();
struct PlaceAsk {
  std::vector<GroupAsk> groups;
  GangTopology topology;
  int within = kAnywhere;  // a domain, or a node as its complement
};
struct PlacedRank {
  int group = 0, rank = 0;
  Slot slot;
};

class Placer {
 public:
  Placer(Cluster& cluster, ShapeClasses& classes) : cluster_(cluster), classes_(classes) {}

  // Takes room for every rank asked, or nothing. `placed` is in order of group and rank. Exact for
  // one group. Several are packed greedily, hardest first; where that fails and no slices are
  // asked, exactly (placement_groups.cc), up to 2^18 nodes x states.
  bool Place(const PlaceAsk& ask, std::vector<PlacedRank>& placed);
  // Whether Place would succeed. Leaves the cluster as it was.
  bool Fits(const PlaceAsk& ask);
  void GiveBack(std::span<const PlacedRank> placed, const PlaceAsk& ask);

  // Room for one more rank on the node, or the domain, with the least to spare: in `domain` if it
  // is there, else in its ancestors, outwards up to level `widest`. False = none.
  bool PlaceNear(int shape_class, int domain, int widest, Slot& slot);

  // The most ranks of the class that one domain of the level (or the level of nodes) could take,
  // and that all of them together could.
  int64_t LargestAt(int shape_class, int level);
  int64_t Total(int shape_class);

 private:
  // A domain, or a node as its complement.
  struct Part {
    int where;
    int64_t count;
  };
  bool TryLevel(const PlaceAsk& ask, int level, std::vector<PlacedRank>& placed);
  bool TryDomain(const PlaceAsk& ask, int where, int level, std::vector<PlacedRank>& placed);
  bool PlaceGroup(const PlaceAsk& ask, const GroupAsk& group, int where, int level,
                  std::vector<PlacedRank>& placed);
  bool PlaceTogether(const PlaceAsk& ask, int where, std::vector<PlacedRank>& placed);
  void MixturesOn(int node, std::span<const GroupAsk* const> smaller, const GroupAsk& largest,
                  std::vector<int>& ranks, const auto& use);
  void NodesIn(int where, std::vector<int>& nodes) const;
  bool PlaceSlices(const PlaceAsk& ask, const GroupAsk& group, int where,
                   std::vector<PlacedRank>& placed);
  bool TakeParts(const GroupAsk& group, int64_t first_rank, std::vector<Part>& parts,
                 std::vector<PlacedRank>& placed);
  // Splits `count` units over the parts of `where`. `slices` = units are slices, parts are domains
  // of the slice level; otherwise ranks and nodes.
  bool Distribute(int where, int64_t count, bool slices, std::vector<Part>& parts);
  int64_t UnitsOf(int where, bool slices) const;
  bool MayFit(const PlaceAsk& ask, const GroupAsk& group, int where, int level);
  void CountSlices(const PlaceAsk& ask, const GroupAsk& group);
  bool Before(int where_a, int where_b) const;
  void ForEachAt(int level, const auto& each);
  bool Inside(int where, int within) const;

  Cluster& cluster_;
  ShapeClasses& classes_;
  const ShapeClass* class_ = nullptr;  // whose units are counted
  int slice_level_ = -1;
  std::vector<int64_t> slice_units_;  // by domain
  std::vector<int64_t> node_slices_;  // by node, where nodes are the slice level
  std::vector<std::vector<Part>> scratch_;
  size_t depth_ = 0;
};

}  // namespace muster::sched
