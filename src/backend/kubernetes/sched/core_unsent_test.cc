// What is decided and waits for its turn to be written is decided again when what it stood on
// changes.
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/kubernetes/sched/core.h"
#include "backend/kubernetes/sched/testing/small_cluster.h"

namespace muster::kubesched {
namespace {

using testing::SmallCluster;

// One gang takes all the room that there is for bindings; `a` is decided and waits for its turn.
struct Behind : SmallCluster {
  explicit Behind(int nodes = 3) : SmallCluster(nodes) {
    Queue("team", PreemptWithin::kNever, 64);
    Gang("a", 2, 8, {}, 0, "team");
    room = 0;
    Decide();
    EXPECT_EQ(core.stats().gangs_placed, 1u);
    EXPECT_TRUE(acts.empty());
    room = SIZE_MAX;
  }
};

TEST(CoreUnsent, BindingsAreGivenOutAsThereIsRoomAndWhatIsBegunIsEndedFirst) {
  SmallCluster c(3);
  c.Gang("z", 5, 1);
  c.room = 3;
  c.Decide();
  EXPECT_EQ(c.Binds("z").size(), 3u);
  c.Gang("a", 4, 1);
  c.Decide();
  EXPECT_EQ(c.Binds("z").size(), 5u);
  EXPECT_EQ(c.Binds("a").size(), 1u);
  c.Decide();
  c.Decide();
  EXPECT_EQ(c.Binds("a").size(), 4u);
  c.ConfirmAll();
  EXPECT_EQ(c.Says("GangScheduled"), 2u);
}

TEST(CoreUnsent, ALowerQuotaTakesBackAGangOfWhichNothingWasSent) {
  Behind c;
  c.Queue("team", PreemptWithin::kNever, 8);
  c.Decide(1000);
  EXPECT_TRUE(c.acts.empty());
  EXPECT_NE(c.Why("ml/a").find("LIMIT queue=team"), std::string::npos) << c.Why("ml/a");
  c.Queue("team", PreemptWithin::kNever, 16);
  c.Decide(2000);
  EXPECT_EQ(c.Binds("a").size(), 2u);
}

TEST(CoreUnsent, AHeldQueueTakesBackWhatWasNotSent) {
  Behind c;
  muster::Queue queue;
  queue.name = "team";
  QueueWords words;
  words.held["team"] = "it has stopPolicy Hold";
  c.core.SetQueues({queue}, {}, words);
  c.Decide(1000);
  EXPECT_TRUE(c.acts.empty());
  EXPECT_NE(c.Why("ml/a").find("Hold"), std::string::npos) << c.Why("ml/a");
}

TEST(CoreUnsent, OfAGangPartlySentTheRestFollowsOrAllOfItLeaves) {
  for (const int64_t quota : {16, 8}) {
    SmallCluster c(3);
    c.Queue("team", PreemptWithin::kNever, 64);
    c.Gang("a", 2, 8, {}, 0, "team");
    c.room = 1;
    c.Decide();
    ASSERT_EQ(c.Binds("a").size(), 1u);
    c.Queue("team", PreemptWithin::kNever, quota);
    c.Decide(1000);
    c.Decide(2000);
    EXPECT_EQ(c.Binds("a").size(), quota == 16 ? 2u : 1u);
    EXPECT_EQ(c.Deleted().size(), quota == 16 ? 0u : 1u);
  }
}

TEST(CoreUnsent, ANodeThatTakesNothingMoreIsLeftBeforeAnythingIsSent) {
  for (const bool gone : {false, true}) {
    Behind c(3);
    for (int node = 0; node < 2; ++node) {  // one of them is a's, whichever it chose
      if (gone) c.core.RemoveNode(fmt::format("n{}", node));
      if (!gone) c.Usable(node, false);
    }
    c.Decide(1000);
    EXPECT_TRUE(c.acts.empty()) << "one node is left, and it wants two";
    c.Usable(0, true);
    c.Decide(2000);
    ASSERT_EQ(c.Binds("a").size(), 2u);
    for (const BindPod& bind : c.Binds("a")) EXPECT_NE(bind.node, "n1");
    EXPECT_TRUE(c.Deleted().empty());
  }
}

TEST(CoreUnsent, APodThatGoesTakesBackTheOthers) {
  for (const bool leaving : {false, true}) {
    Behind c;
    if (leaving) {
      PodFacts facts = c.Last("a", 0);
      facts.leaving = true;
      c.Put(facts);
    } else {
      c.Remove("a", 0);
    }
    c.Decide(1000);
    EXPECT_TRUE(c.acts.empty()) << "one of two is never bound";
    if (leaving) c.Remove("a", 0);
    c.Pod("a", 0, 2, 8);
    c.Decide(2000);
    EXPECT_EQ(c.Binds("a").size(), 2u);
    EXPECT_EQ(c.core.stats().rebuilds, 1u) << "that is no reason to make the engine again";
  }
}

TEST(CoreUnsent, APodOfOthersThatWasFasterKeepsItsRoomAndTheGangGoesElsewhere) {
  Behind c(3);
  c.Foreign("theirs", "n0", 4);
  c.Foreign("theirs-too", "n1", 4);
  c.Decide(1000);
  EXPECT_TRUE(c.acts.empty());
  EXPECT_TRUE(c.core.troubles().empty()) << c.core.troubles()[0];
  c.RemoveForeign("theirs");
  c.Decide(2000);
  ASSERT_EQ(c.Binds("a").size(), 2u);
  for (const BindPod& bind : c.Binds("a")) EXPECT_NE(bind.node, "n1");
}

TEST(CoreUnsent, AGroupThatChangesItsMindBeforeAnythingIsSentIsHeard) {
  for (const bool removed : {false, true}) {
    SmallCluster c(2);
    c.Queue("small", PreemptWithin::kNever, 1);
    GroupFacts group;
    group.meta = {"ml", "a", "g", "1"};
    group.dialect = Dialect::kCoscheduling, group.min = 2;
    c.core.SetGroup(group);
    for (int i = 0; i < 2; ++i) {
      PodFacts facts = c.Facts("a", i, 0, 4);
      facts.dialect = Dialect::kCoscheduling;
      c.Put(facts);
    }
    c.room = 0;
    c.Decide();
    group.queue = "small";
    if (!removed) c.core.SetGroup(group);
    if (removed) c.core.RemoveGroup(Dialect::kCoscheduling, "ml/a");
    c.room = SIZE_MAX;
    c.Decide(1000);
    EXPECT_TRUE(c.acts.empty());
    EXPECT_NE(c.Why("ml/a").find(removed ? "is not there" : "queue=small"), std::string::npos)
        << c.Why("ml/a");
  }
}

// Whatever changes between decision and turn: a gang's first binding is given out only when all of
// it fits the quota of now, to nodes that take work now; and in the end no gang is half bound.
TEST(CoreUnsent, WhatIsGivenOutStandsOnWhatIsSoNow) {
  constexpr int kNodes = 4, kGangs = 12, kGpus = 2;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    std::mt19937_64 random(seed);
    const auto upto = [&](uint64_t n) { return static_cast<int>(random() % n); };
    SmallCluster c(kNodes);
    std::vector<bool> usable(kNodes, true);
    int64_t quota = 32;
    c.Queue("team", PreemptWithin::kNever, quota);
    std::map<std::string, int> sizes;
    std::map<std::string, std::string> given;  // uid -> gang
    size_t looked = 0;
    const auto look = [&] {
      std::set<std::string> begun;
      for (const auto& [uid, gang] : given) begun.insert(gang);
      for (; looked < c.acts.size(); ++looked) {
        if (const auto* gone = std::get_if<DeletePod>(&c.acts[looked])) given.erase(gone->pod.uid);
        const auto* bind = std::get_if<BindPod>(&c.acts[looked]);
        if (bind == nullptr) continue;
        const std::string gang = c.seen.at(bind->pod.uid)->group;
        EXPECT_TRUE(usable[static_cast<size_t>(bind->node.back() - '0')]) << seed;
        given[bind->pod.uid] = gang;
        if (!begun.insert(gang).second) continue;
        int64_t used = 0;
        for (const auto& one : begun) used += sizes.at(one) * kGpus;
        EXPECT_LE(used, quota) << seed << " " << gang;
      }
    };
    for (int step = 0; step < 60; ++step) {
      const int what = upto(8), node = upto(kNodes);
      const std::string name = fmt::format("g{}", upto(kGangs));
      if (what < 3 && sizes.count(name) == 0) {
        c.Gang(name, sizes[name] = 1 + upto(4), kGpus, {}, 0, "team");
      } else if (what == 3) {
        // Lower only to what is given out already: what runs is not moved by quota.
        std::set<std::string> begun;
        for (const auto& [uid, gang] : given) begun.insert(gang);
        int64_t used = 0;
        for (const auto& one : begun) used += sizes.at(one) * kGpus;
        c.Queue("team", PreemptWithin::kNever, quota = used + upto(16));
      } else if (what == 4) {
        usable[static_cast<size_t>(node)] = !usable[static_cast<size_t>(node)];
        c.Usable(node, usable[static_cast<size_t>(node)]);
      } else if (what == 5) {
        for (const Act& act : std::vector<Act>(c.acts)) {
          const auto* bind = std::get_if<BindPod>(&act);
          if (bind != nullptr && upto(2) == 0) c.Confirm(*bind);
        }
      }
      c.room = static_cast<size_t>(upto(4));
      c.Decide(c.now + 100);
      look();
    }
    for (int node = 0; node < kNodes; ++node)
      c.Usable(node, usable[static_cast<size_t>(node)] = true);
    c.room = SIZE_MAX;
    for (int i = 0; i < 3; ++i) c.ConfirmAll(), look();
    std::map<std::string, int> bound;
    for (const auto& [uid, gang] : given) ++bound[gang];
    for (const auto& [gang, pods] : bound) EXPECT_EQ(pods, sizes.at(gang)) << seed << " " << gang;
    EXPECT_TRUE(c.NoNodeOverfull()) << seed;
  }
}

}  // namespace
}  // namespace muster::kubesched
