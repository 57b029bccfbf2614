#include "sched/placement.h"

#include <algorithm>
#include <limits>

namespace muster::sched {

namespace {
// How many domains of a level are tried in turn for a gang of several groups. One group needs one
// try: its counts are exact.
constexpr size_t kMostTries = 64;
}  // namespace

void Placer::ForEachAt(int level, const auto& each) {
  if (level == static_cast<int>(cluster_.levels().size())) {
    for (int node = 0; node < cluster_.node_count(); ++node) {
      if (cluster_.usable(node)) each(~node);
    }
  } else {
    for (const int domain : cluster_.DomainsOf(level)) each(domain);
  }
}

bool Placer::Inside(int where, int within) const {
  if (within == kAnywhere || where == within) return true;
  if (within < 0) return false;
  int domain = where < 0 ? cluster_.LeafOf(~where) : where;
  while (domain >= 0 && domain != within)
    domain = cluster_.domains()[static_cast<size_t>(domain)].parent;
  return domain == within;
}

int64_t Placer::UnitsOf(int where, bool slices) const {
  if (where < 0) {
    const int node = ~where;
    return slices ? node_slices_[static_cast<size_t>(node)]
                  : class_->fit[static_cast<size_t>(node)];
  }
  return slices ? slice_units_[static_cast<size_t>(where)]
                : class_->sum[static_cast<size_t>(where)];
}

// Whole slices that fit in each domain of the slice level, summed upwards.
void Placer::CountSlices(const PlaceAsk& ask, const GroupAsk& group) {
  class_ = &classes_.Synced(cluster_, group.shape_class);
  slice_level_ = ask.topology.slice_level;
  slice_units_.assign(cluster_.domains().size(), 0);
  const int64_t size = ask.topology.slice_size;
  const auto add = [&](int domain, int64_t units) {
    for (; domain >= 0; domain = cluster_.domains()[static_cast<size_t>(domain)].parent)
      slice_units_[static_cast<size_t>(domain)] += units;
  };
  if (slice_level_ == static_cast<int>(cluster_.levels().size())) {
    node_slices_.assign(static_cast<size_t>(cluster_.node_count()), 0);
    for (int node = 0; node < cluster_.node_count(); ++node) {
      const int64_t units = class_->fit[static_cast<size_t>(node)] / size;
      node_slices_[static_cast<size_t>(node)] = units;
      if (units > 0) add(cluster_.LeafOf(node), units);
    }
    return;
  }
  for (const int domain : cluster_.DomainsOf(slice_level_))
    add(domain, class_->sum[static_cast<size_t>(domain)] / size);
}

bool Placer::MayFit(const PlaceAsk& ask, const GroupAsk& group, int where, int level) {
  class_ = &classes_.Synced(cluster_, group.shape_class);
  if (UnitsOf(where, false) < group.count) return false;
  const GangTopology& t = ask.topology;
  if (t.slice_size <= 0 || level >= t.slice_level) return true;
  CountSlices(ask, group);
  return UnitsOf(where, true) >= group.count / t.slice_size;
}

bool Placer::Before(int where_a, int where_b) const {
  if (where_a < 0 && where_b < 0) return cluster_.BeforeInFabric(~where_a, ~where_b);
  const auto first = [&](int where) {
    while (where >= 0) {
      const Domain& d = cluster_.domains()[static_cast<size_t>(where)];
      if (!d.nodes.empty()) return d.nodes.front();
      if (d.children.empty()) return 0;
      where = d.children.front();
    }
    return ~where;
  };
  return cluster_.BeforeInFabric(first(where_a), first(where_b));
}

// One part that holds everything, the one with the least to spare; else the largest parts whole,
// and what is left in the smallest that holds it: as few parts as there can be.
bool Placer::Distribute(int where, int64_t count, bool slices, std::vector<Part>& parts) {
  if (count == 0) return true;
  const bool target =
      where < 0 || (slices && cluster_.domains()[static_cast<size_t>(where)].level == slice_level_);
  if (UnitsOf(where, slices) < count) return false;
  if (target) {
    parts.push_back({where, count});
    return true;
  }
  const Domain& domain = cluster_.domains()[static_cast<size_t>(where)];
  if (scratch_.size() <= depth_) scratch_.emplace_back();
  const size_t depth = depth_++;
  scratch_[depth].clear();
  int best = 0;
  int64_t best_units = std::numeric_limits<int64_t>::max();
  const auto look = [&](int part) {
    const int64_t units = UnitsOf(part, slices);
    if (units >= count && units < best_units) best = part, best_units = units;
  };
  for (const int child : domain.children) look(child);
  for (const int node : domain.nodes) look(~node);
  bool good = true;
  if (best_units != std::numeric_limits<int64_t>::max()) {
    good = Distribute(best, count, slices, parts);
  } else {
    const auto keep = [&](int part) {
      const int64_t units = UnitsOf(part, slices);
      if (units > 0) scratch_[depth].push_back({part, units});
    };
    for (const int child : domain.children) keep(child);
    for (const int node : domain.nodes) keep(~node);
    std::stable_sort(scratch_[depth].begin(), scratch_[depth].end(),
                     [](const Part& a, const Part& b) { return a.count > b.count; });
    for (size_t i = 0; i < scratch_[depth].size() && count > 0 && good; ++i) {
      size_t pick = i;
      // Parts fall in size from here on: the last that still holds all the rest.
      while (scratch_[depth][i].count >= count && pick + 1 < scratch_[depth].size() &&
             scratch_[depth][pick + 1].count >= count)
        ++pick;
      while (pick > i && scratch_[depth][pick - 1].count == scratch_[depth][pick].count) --pick;
      const Part part = scratch_[depth][pick];
      const int64_t here = std::min(part.count, count);
      good = Distribute(part.where, here, slices, parts);
      count -= here;
    }
    good = good && count == 0;
  }
  --depth_;
  return good;
}

bool Placer::TakeParts(const GroupAsk& group, int64_t first_rank, std::vector<Part>& parts,
                       std::vector<PlacedRank>& placed) {
  std::sort(parts.begin(), parts.end(),
            [&](const Part& a, const Part& b) { return Before(a.where, b.where); });
  const Shape& shape = classes_[group.shape_class].shape;
  for (const Part& part : parts) {
    for (int64_t i = 0; i < part.count; ++i) {
      PlacedRank rank;
      rank.group = group.group, rank.rank = static_cast<int>(first_rank++);
      if (!cluster_.Take(shape, ~part.where, rank.slot)) return false;
      placed.push_back(rank);
    }
  }
  return true;
}

bool Placer::PlaceSlices(const PlaceAsk& ask, const GroupAsk& group, int where,
                         std::vector<PlacedRank>& placed) {
  const int64_t size = ask.topology.slice_size;
  const int64_t whole = group.count / size, tail = group.count % size;
  CountSlices(ask, group);
  std::vector<Part> domains;
  if (!Distribute(where, whole, true, domains)) return false;
  std::sort(domains.begin(), domains.end(),
            [&](const Part& a, const Part& b) { return Before(a.where, b.where); });
  int64_t rank = 0;
  std::vector<Part> parts;
  for (const Part& domain : domains) {
    class_ = &classes_.Synced(cluster_, group.shape_class);
    parts.clear();
    if (!Distribute(domain.where, domain.count * size, false, parts)) return false;
    if (!TakeParts(group, rank, parts, placed)) return false;
    rank += domain.count * size;
  }
  if (tail == 0) return true;
  class_ = &classes_.Synced(cluster_, group.shape_class);
  int best = 0;
  int64_t best_units = std::numeric_limits<int64_t>::max();
  ForEachAt(slice_level_, [&](int part) {
    const int leaf = part < 0 ? cluster_.LeafOf(~part) : part;
    const int above = where <= 0 ? where : cluster_.domains()[static_cast<size_t>(where)].level;
    if (where > 0 && cluster_.AncestorAt(leaf, above) != where) return;
    const int64_t units = UnitsOf(part, false);
    if (units >= tail && units < best_units) best = part, best_units = units;
  });
  if (best_units == std::numeric_limits<int64_t>::max()) return false;
  parts.clear();
  return Distribute(best, tail, false, parts) && TakeParts(group, rank, parts, placed);
}

bool Placer::PlaceGroup(const PlaceAsk& ask, const GroupAsk& group, int where, int level,
                        std::vector<PlacedRank>& placed) {
  if (group.count == 0) return true;
  if (ask.topology.slice_size > 0 && level < ask.topology.slice_level)
    return PlaceSlices(ask, group, where, placed);
  class_ = &classes_.Synced(cluster_, group.shape_class);
  std::vector<Part> parts;
  return Distribute(where, group.count, false, parts) && TakeParts(group, 0, parts, placed);
}

void Placer::GiveBack(std::span<const PlacedRank> placed, const PlaceAsk& ask) {
  for (size_t i = placed.size(); i-- > 0;) {
    for (const GroupAsk& group : ask.groups) {
      if (group.group != placed[i].group) continue;
      cluster_.Give(classes_[group.shape_class].shape, placed[i].slot);
      cluster_.Forget(placed[i].slot);
    }
  }
}

bool Placer::TryDomain(const PlaceAsk& ask, int where, int level, std::vector<PlacedRank>& placed) {
  // Hardest first: most devices a rank, then most ranks.
  std::vector<const GroupAsk*> order;
  for (const GroupAsk& group : ask.groups) order.push_back(&group);
  const auto weight = [&](const GroupAsk* g) {
    int64_t devices = 0;
    for (const auto& a : classes_[g->shape_class].shape.devices) devices += a.amount;
    return devices;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const GroupAsk* a, const GroupAsk* b) { return weight(a) > weight(b); });
  size_t mark = cluster_.Mark();
  const auto greedy = [&] {
    return std::all_of(order.begin(), order.end(), [&](const GroupAsk* group) {
      return PlaceGroup(ask, *group, where, level, placed);
    });
  };
  bool good = greedy();
  if (!good) {
    GiveBack(placed, ask);
    placed.clear();
    cluster_.Rewind(mark);
    mark = cluster_.Mark();
    good = PlaceTogether(ask, where, placed);
    if (!good) GiveBack(placed, ask);
  }
  if (!good) {
    cluster_.Rewind(mark);
    placed.clear();
    return false;
  }
  cluster_.Keep(mark);
  std::stable_sort(placed.begin(), placed.end(), [](const PlacedRank& a, const PlacedRank& b) {
    return a.group != b.group ? a.group < b.group : a.rank < b.rank;
  });
  return true;
}

bool Placer::TryLevel(const PlaceAsk& ask, int level, std::vector<PlacedRank>& placed) {
  std::vector<Part> found;
  int64_t wanted = 0;
  for (const GroupAsk& group : ask.groups) {
    if (group.count == 0) continue;
    class_ = &classes_.Synced(cluster_, group.shape_class);
    const ShapeClass* counts = class_;
    if (wanted == 0) {
      ForEachAt(level, [&](int where) {
        const int node = ~where;
        const int64_t units = where < 0 ? counts->fit[static_cast<size_t>(node)]
                                        : counts->sum[static_cast<size_t>(where)];
        if (units >= group.count && Inside(where, ask.within)) found.push_back({where, units});
      });
    }
    wanted += group.count;
    std::erase_if(found, [&](const Part& p) { return !MayFit(ask, group, p.where, level); });
    if (found.empty()) return false;
  }
  if (wanted == 0) return true;
  std::stable_sort(found.begin(), found.end(),
                   [](const Part& a, const Part& b) { return a.count < b.count; });
  const bool all = level == ask.topology.required;
  if (!all && found.size() > kMostTries) found.resize(kMostTries);
  for (const Part& part : found) {
    if (TryDomain(ask, part.where, level, placed)) return true;
  }
  return false;
}

bool Placer::Place(const PlaceAsk& ask, std::vector<PlacedRank>& placed) {
  placed.clear();
  int total = 0;
  for (const GroupAsk& group : ask.groups) {
    total += group.count;
    if (group.count > 0 && classes_.Synced(cluster_, group.shape_class).sum[0] < group.count)
      return false;
  }
  const int nodes = static_cast<int>(cluster_.levels().size());
  const int widest = ask.topology.required;
  // One rank alone goes down from the widest level by itself.
  const bool downwards = total == 1 && widest < nodes && ask.within == kAnywhere;
  for (int level = downwards ? widest : nodes; level >= widest; --level) {
    if (TryLevel(ask, level, placed)) return true;
  }
  return false;
}

bool Placer::Fits(const PlaceAsk& ask) {
  int level = ask.topology.required;
  if (ask.groups.size() == 1 && ask.topology.slice_size == 0) {
    // Inside a domain its own sum answers, where it is no wider than what is required.
    if (ask.within != kAnywhere) {
      const int own = ask.within < 0 ? static_cast<int>(cluster_.levels().size())
                                     : cluster_.domains()[static_cast<size_t>(ask.within)].level;
      if (own >= level) {
        class_ = &classes_.Synced(cluster_, ask.groups[0].shape_class);
        return UnitsOf(ask.within, false) >= ask.groups[0].count;
      }
    }
    bool fits = false;
    const GroupAsk& group = ask.groups[0];
    class_ = &classes_.Synced(cluster_, group.shape_class);
    ForEachAt(level, [&](int where) {
      fits = fits || (UnitsOf(where, false) >= group.count && Inside(where, ask.within));
    });
    return fits;
  }
  std::vector<PlacedRank> placed;
  const size_t mark = cluster_.Mark();
  const bool fits = Place(ask, placed);
  if (fits) GiveBack(placed, ask);
  cluster_.Rewind(mark);
  return fits;
}

bool Placer::PlaceNear(int shape_class, int domain, int widest, Slot& slot) {
  class_ = &classes_.Synced(cluster_, shape_class);
  std::vector<Part> parts;
  for (; domain >= 0; domain = cluster_.domains()[static_cast<size_t>(domain)].parent) {
    if (cluster_.domains()[static_cast<size_t>(domain)].level < widest) return false;
    if (Distribute(domain, 1, false, parts))
      return cluster_.Take(class_->shape, ~parts[0].where, slot);
    parts.clear();
  }
  return false;
}

int64_t Placer::LargestAt(int shape_class, int level) {
  class_ = &classes_.Synced(cluster_, shape_class);
  int64_t largest = 0;
  ForEachAt(level, [&](int where) { largest = std::max(largest, UnitsOf(where, false)); });
  return largest;
}
int64_t Placer::Total(int shape_class) { return classes_.Synced(cluster_, shape_class).sum[0]; }

}  // namespace muster::sched
