// The parts of the core that stand alone: decay, quota, cluster, shape classes, placement.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sched/cluster.h"
#include "sched/decay.h"
#include "sched/kubelets.h"
#include "sched/placement.h"
#include "sched/queues.h"
#include "sched/shape_class.h"

namespace muster::sched {
namespace {

TEST(Decay, HalvesInOneHalfLife) {
  EXPECT_EQ(DecayTowards(1 << 20, 0, 0), 1 << 20);
  EXPECT_NEAR(static_cast<double>(DecayTowards(1 << 20, 0, kHalfLifeMs)), 1 << 19, 4);
  EXPECT_NEAR(static_cast<double>(DecayTowards(1 << 20, 0, kHalfLifeMs / 2)), 741455, 100);
  EXPECT_NEAR(static_cast<double>(DecayTowards(0, 1 << 20, 2 * kHalfLifeMs)), 786432, 4);
  EXPECT_EQ(DecayTowards(5, 0, 100 * kHalfLifeMs), 0);
}

QuotaEntry Gpus(int64_t nominal, std::optional<int64_t> borrow = {},
                std::optional<int64_t> lend = {}) {
  return {"h100", "nvidia.com/gpu", nominal, borrow, lend};
}
Queue QueueOf(const std::string& name, const std::string& parent, QuotaEntry quota) {
  Queue queue;
  queue.name = name, queue.parent = parent, queue.quota = {quota};
  return queue;
}

TEST(Quota, BorrowsUpToTheLimitWhatOthersLeave) {
  Queues q;
  ASSERT_TRUE(q.AddQueue(QueueOf("root", "", Gpus(0))).ok());
  ASSERT_TRUE(q.AddQueue(QueueOf("a", "root", Gpus(8, 4))).ok());
  ASSERT_TRUE(q.AddQueue(QueueOf("b", "root", Gpus(8, {}, 2))).ok());
  const int a = q.Find("a"), b = q.Find("b");
  EXPECT_EQ(q.Available(a, 0), 10);  // 8 of its own, 2 that b lends
  EXPECT_EQ(q.Available(b, 0), 16);
  q.Charge(a, 0, 10);
  EXPECT_TRUE(q.Borrows(a, 0));
  EXPECT_EQ(q.Available(a, 0), 0);
  EXPECT_EQ(q.Available(b, 0), 6);
  q.Refund(a, 0, 10);
  EXPECT_EQ(q.Available(b, 0), 16);
}

TEST(Quota, WhatAQueueKeepsIsItsOwnEvenWhereOthersUseTooMuch) {
  Queues q;
  Queue root, a, b;
  root.name = "root";
  a.name = "a", a.parent = "root", a.quota = {{"f", "r", 10, std::nullopt, 0}};
  b.name = "b", b.parent = "root", b.quota = {{"f", "r", 8, std::nullopt, std::nullopt}};
  for (const Queue* queue : {&root, &a, &b}) ASSERT_TRUE(q.AddQueue(*queue).ok());
  q.Charge(q.Find("b"), 0, 8);
  ASSERT_TRUE(q.ChangeQuota({"b", "f", "r", 2, std::nullopt, std::nullopt}).ok());
  EXPECT_TRUE(q.Admits(q.Find("a"), 0, 10));
  EXPECT_FALSE(q.Admits(q.Find("a"), 0, 11));
  EXPECT_FALSE(q.Admits(q.Find("b"), 0, 1));
}

TEST(Quota, RefusesACircle) {
  Queues q;
  ASSERT_TRUE(q.AddQueue(QueueOf("a", "b", Gpus(1))).ok());
  EXPECT_FALSE(q.AddQueue(QueueOf("b", "a", Gpus(1))).ok());
  EXPECT_FALSE(q.AddQueue(QueueOf("a", "", Gpus(1))).ok());
}

// Whatever is charged and refunded in whatever order, what is available depends only on what is
// charged now; and a change of quota reckons the same as charging anew.
RC_GTEST_PROP(Quota, DependsOnlyOnWhatRuns, ()) {
  const auto build = [](const std::vector<std::tuple<int, int, int>>& limits) {
    Queues q;
    for (int i = 0; i < 5; ++i) {
      const auto [nominal, borrow, lend] = limits[static_cast<size_t>(i)];
      const auto maybe = [](int v) {
        return v > 12 ? std::optional<int64_t>() : std::optional<int64_t>(v);
      };
      static const char* const kNames[] = {"root", "x", "y", "x1", "x2"};
      static const char* const kParents[] = {"", "root", "root", "x", "x"};
      RC_ASSERT(
          q.AddQueue(QueueOf(kNames[i], kParents[i], Gpus(nominal, maybe(borrow), maybe(lend))))
              .ok());
    }
    return q;
  };
  const auto limits = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
      5, rc::gen::tuple(rc::gen::inRange(0, 10), rc::gen::inRange(0, 20), rc::gen::inRange(0, 20)));
  Queues q = build(limits);
  std::vector<int64_t> held(5, 0);
  for (const auto& [queue, amount] : *rc::gen::container<std::vector<std::pair<int, int>>>(
           rc::gen::pair(rc::gen::inRange(0, 5), rc::gen::inRange(-6, 7)))) {
    const int64_t delta = std::max<int64_t>(amount, -held[static_cast<size_t>(queue)]);
    if (delta > 0) q.Charge(queue, 0, delta);
    if (delta < 0) q.Refund(queue, 0, -delta);
    held[static_cast<size_t>(queue)] += delta;
  }
  Queues fresh = build(limits);
  for (int i = 0; i < 5; ++i)
    if (held[static_cast<size_t>(i)] > 0) fresh.Charge(i, 0, held[static_cast<size_t>(i)]);
  for (int i = 0; i < 5; ++i) RC_ASSERT(q.Available(i, 0) == fresh.Available(i, 0));
  QuotaChange same{"root", "h100", "nvidia.com/gpu", std::get<0>(limits[0]), {}, {}};
  RC_ASSERT(q.ChangeQuota(same).ok());
  for (int i = 0; i < 5; ++i) RC_ASSERT(q.Available(i, 0) == fresh.Available(i, 0));
}

NodeAdd Node(int i, int64_t gpus = 8, int per_leaf = 4) {
  NodeAdd node;
  node.name = "n" + std::to_string(i);
  node.at = {"s" + std::to_string(i / per_leaf / 2), "l" + std::to_string(i / per_leaf % 2)};
  node.capacity = {{"cpu", 96000}, {"nvidia.com/gpu", gpus}, {"rdma/ib", gpus}};
  node.numa = {{{{"cpu", 48000}}, {}}, {{{"cpu", 48000}}, {}}};
  for (int d = 0; d < gpus; ++d)
    for (const char* kind : {"nvidia.com/gpu", "rdma/ib"})
      node.numa[d < gpus / 2 ? 0 : 1].devices[kind].push_back(d);
  return node;
}

struct Fixture {
  Cluster cluster;
  ShapeClasses classes;
  explicit Fixture(int nodes) {
    EXPECT_TRUE(cluster.SetLevels({"spine", "leaf", "node"}).ok());
    for (int i = 0; i < nodes; ++i) EXPECT_TRUE(cluster.AddNode(Node(i)).ok());
  }
  int Class(const Resources& r) { return classes.IdOf(cluster.ToShape(r), {}, {}); }
};

TEST(Cluster, GivesAGpuAndItsRailsAdapterTogetherFromOneZone) {
  Fixture f(1);
  const Shape one = f.cluster.ToShape({{"nvidia.com/gpu", 1}});
  const Shape both = f.cluster.ToShape({{"nvidia.com/gpu", 2}, {"rdma/ib", 2}});
  Slot first, second;
  ASSERT_TRUE(f.cluster.Take(one, 0, first));
  ASSERT_TRUE(f.cluster.Take(both, 0, second));
  EXPECT_EQ(second.devices[0], second.devices[1]);
  EXPECT_EQ(f.cluster.ZonesOf(both, second).size(), 1u);
  EXPECT_EQ(second.devices[0] & first.devices[0], 0u);
}

TEST(Cluster, SharesOfAGpuSumToAtMostOne) {
  Fixture f(1);
  const Shape share = f.cluster.ToShape({{"gpu_milli", 400}});
  EXPECT_EQ(f.cluster.Fit(share, 0), 16);
  std::vector<Slot> slots(16);
  for (Slot& slot : slots) ASSERT_TRUE(f.cluster.Take(share, 0, slot));
  EXPECT_EQ(slots[0].milli_device, slots[1].milli_device);
  EXPECT_NE(slots[1].milli_device, slots[2].milli_device);
  Slot none;
  EXPECT_FALSE(f.cluster.Take(share, 0, none));
  for (const Slot& slot : slots) f.cluster.Give(share, slot);
  EXPECT_EQ(f.cluster.Fit(f.cluster.ToShape({{"nvidia.com/gpu", 8}}), 0), 1);
}

TEST(Kubelets, AnswerForNodesThatAlign) {
  NodeAdd node = Node(0);
  EXPECT_FALSE(Kubelets::Aligns(node));
  node.topology_manager.policy = "single-numa-node";
  EXPECT_TRUE(Kubelets::Aligns(node));
  Cluster cluster;
  ASSERT_TRUE(cluster.SetLevels({"spine", "leaf", "node"}).ok());
  ASSERT_TRUE(cluster.AddNode(node).ok());
  EXPECT_EQ(cluster.FitEmpty(cluster.ToShape({{"nvidia.com/gpu", 6}}), 0), 0);
  EXPECT_EQ(cluster.Fit(cluster.ToShape({{"nvidia.com/gpu", 3}}), 0), 2);
  const Shape four = cluster.ToShape({{"nvidia.com/gpu", 4}});
  Slot slot;
  const size_t mark = cluster.Mark();
  ASSERT_TRUE(cluster.Take(four, 0, slot));
  EXPECT_EQ(cluster.Fit(four, 0), 1);
  cluster.Give(four, slot);
  cluster.Rewind(mark);
  EXPECT_EQ(cluster.Fit(four, 0), 2);
}

// The counts that follow changes are the counts of a fresh look.
RC_GTEST_PROP(ShapeClasses, FollowEveryChange, ()) {
  Fixture f(8);
  const int cls = f.Class({{"nvidia.com/gpu", 2}, {"cpu", 8000}});
  const Shape one = f.cluster.ToShape({{"nvidia.com/gpu", 1}, {"cpu", 20000}});
  std::vector<Slot> held;
  for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 64))) {
    const int node = step % 8;
    Slot slot;
    if (step < 32) {
      if (f.cluster.Take(one, node, slot)) held.push_back(slot);
    } else if (step < 48 && !held.empty()) {
      f.cluster.Give(one, held.back()), held.pop_back();
    } else if (step < 56) {
      f.cluster.SetCordoned(node, true);
    } else {
      f.cluster.SetCordoned(node, false);
    }
    if (step % 3 != 0) continue;
    const ShapeClass& c = f.classes.Synced(f.cluster, cls);
    int64_t total = 0;
    for (int n = 0; n < 8; ++n) {
      const int fit = f.cluster.usable(n) ? f.cluster.Fit(c.shape, n) : 0;
      RC_ASSERT(c.fit[static_cast<size_t>(n)] == fit);
      total += fit;
    }
    RC_ASSERT(c.sum[0] == total);
  }
}

std::vector<PlacedRank> Placed(Fixture& f, int cls, int count, GangTopology topology = {}) {
  PlaceAsk ask;
  ask.groups = {{0, cls, count}};
  ask.topology = topology;
  std::vector<PlacedRank> placed;
  Placer(f.cluster, f.classes).Place(ask, placed);
  return placed;
}

TEST(Placement, TakesTheSmallestHoleThatHoldsTheGang) {
  Fixture f(16);  // two spines of two leaves of four nodes
  const int eight = f.Class({{"nvidia.com/gpu", 8}});
  ASSERT_EQ(Placed(f, eight, 2).size(), 2u);
  const auto more = Placed(f, eight, 2);  // fills that leaf up
  EXPECT_EQ(f.cluster.LeafOf(more[0].slot.node), f.cluster.LeafOf(0));
  const auto spine = Placed(f, eight, 8);  // the other spine whole, not the rest of this one
  ASSERT_EQ(spine.size(), 8u);
  for (const PlacedRank& rank : spine) EXPECT_GE(rank.slot.node, 8);
}

TEST(Placement, RanksFollowTheFabric) {
  Fixture f(16);
  const auto placed = Placed(f, f.Class({{"nvidia.com/gpu", 4}}), 24);
  for (size_t i = 1; i < placed.size(); ++i)
    EXPECT_FALSE(f.cluster.BeforeInFabric(placed[i].slot.node, placed[i - 1].slot.node));
}

TEST(Placement, KeepsARequiredLevelAndSlices) {
  Fixture f(16);
  const int eight = f.Class({{"nvidia.com/gpu", 8}});
  GangTopology leaf;
  leaf.required = 1;
  EXPECT_TRUE(Placed(f, eight, 5, leaf).empty());
  GangTopology slices;
  slices.slice_level = 1, slices.slice_size = 3;
  const auto placed = Placed(f, eight, 11, slices);  // 3 + 3 + 3 + 2
  ASSERT_EQ(placed.size(), 11u);
  for (size_t i = 0; i < placed.size(); ++i)
    EXPECT_EQ(f.cluster.LeafOf(placed[i].slot.node), f.cluster.LeafOf(placed[i / 3 * 3].slot.node));
}

TEST(Placement, LeavesNothingBehindWhenItFails) {
  Fixture f(4);
  const int eight = f.Class({{"nvidia.com/gpu", 8}}), one = f.Class({{"nvidia.com/gpu", 1}});
  PlaceAsk ask;
  ask.groups = {{0, eight, 4}, {1, one, 1}};
  std::vector<PlacedRank> placed;
  EXPECT_FALSE(Placer(f.cluster, f.classes).Place(ask, placed));
  EXPECT_EQ(f.classes.Synced(f.cluster, eight).sum[0], 4);
}

}  // namespace
}  // namespace muster::sched
