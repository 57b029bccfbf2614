// Nodes that go, come late or take nothing more, while pods are bound to them.
#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "backend/kubernetes/sched/core.h"
#include "backend/kubernetes/sched/testing/small_cluster.h"

namespace muster::kubesched {
namespace {

using testing::SmallCluster;

TEST(CoreNodes, ANodeThatVanishesBeforeTheBindIsReplaced) {
  SmallCluster c(3);
  c.Gang("victim", 1, 8, {"n0"}, 0);
  c.Decide();
  c.Gang("a", 1, 8);
  c.Decide(1000);
  const std::string node = c.Binds("a").at(0).node;
  c.core.NotBound(c.Binds("a")[0].pod.uid, "", false, c.now);
  c.core.RemoveNode(node);
  c.core.RemovePod(c.Binds("a")[0].pod.uid);
  c.Gang("a", 1, 8);
  c.Decide(2000);
  ASSERT_EQ(c.Binds("a").size(), 2u);
  EXPECT_NE(c.Binds("a")[1].node, node);
}

// Its pods are still bound to it: whoever begins to lead just then has never seen the node.
TEST(CoreNodes, ANodeThatComesAfterItsPodsHoldsThem) {
  for (const bool known_before : {false, true}) {
    for (const std::string kind : {"foreign", "gang", "single", "late"}) {
      SmallCluster c(known_before ? 2 : 1);
      if (kind == "late") c.Decide();
      if (kind == "foreign" || kind == "late") c.Foreign("other", "n1", 2);
      if (kind == "gang") c.Gang("here", 2, 2, {"n0", "n1"});
      if (kind == "single") c.Gang("here", 1, 2, {"n1"});
      c.Decide();
      if (known_before) {
        c.Decide();
        c.core.RemoveNode("n1");
        c.core.SetQueues({}, {});  // made again from what is there
      }
      c.Gang("large", 2, 8);
      c.Decide(1000);
      c.Usable(1, true);
      c.Gang("fits", 1, 6);
      c.Decide(2000);
      c.ConfirmAll();
      EXPECT_TRUE(c.NoNodeOverfull()) << known_before << kind;
      EXPECT_EQ(c.BoundPods("large"), 0) << known_before << kind;
      EXPECT_EQ(c.BoundPods("fits"), 1) << known_before << kind;
    }
  }
}

// 14 of 24 are bound and the server holds the others back; their controller makes each pod anew.
TEST(CoreNodes, ANodeThatVanishesMidBindLeavesTheGangWholeOnTheOthers) {
  SmallCluster c(4);
  c.Gang("half", 24, 1);
  c.Decide();
  size_t seen = 0;
  const auto answer = [&](bool held_back) {
    const std::vector<Act> acts = c.acts;
    for (; seen < acts.size(); ++seen) {
      if (const auto* bind = std::get_if<BindPod>(&acts[seen])) {
        if (c.seen.count(bind->pod.uid) == 0) continue;
        const bool held = held_back && c.seen.at(bind->pod.uid)->index >= 14;
        if (held) c.core.NotBound(bind->pod.uid, "held back", false, c.now);
        if (!held) c.Confirm(*bind);
      } else if (const auto* gone = std::get_if<DeletePod>(&acts[seen])) {
        const int index = c.seen.at(gone->pod.uid)->index;
        c.Remove("half", index);
        c.Pod("half", index, 24, 1);
      }
    }
  };
  answer(true);
  const std::string lost = c.Last("half", 0).node;
  const auto to_lost = std::count_if(c.acts.begin(), c.acts.end(), [&](const Act& act) {
    const auto* bind = std::get_if<BindPod>(&act);
    return bind != nullptr && bind->node == lost;
  });
  c.core.RemoveNode(lost);
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 24; ++i) {
      if (c.Last("half", i).node != lost) continue;
      c.Remove("half", i);
      c.Pod("half", i, 24, 1);
    }
    c.Decide(c.now + 1000);
    answer(false);
  }
  EXPECT_EQ(std::count_if(c.acts.begin(), c.acts.end(),
                          [&](const Act& act) {
                            const auto* bind = std::get_if<BindPod>(&act);
                            return bind != nullptr && bind->node == lost;
                          }),
            to_lost)
      << "nothing more is bound there";
  std::map<std::string, int> on;
  for (int i = 0; i < 24; ++i) ++on[c.Last("half", i).node];
  EXPECT_EQ(on.size(), 3u) << c.Why("ml/half");
  EXPECT_EQ(on.count(lost) + on.count(""), 0u) << c.Why("ml/half");
}

TEST(CoreNodes, ANodeWhoseKubeletRefusedAPodTakesNothingMore) {
  SmallCluster c(1);
  c.Gang("a", 1, 4);
  c.Decide();
  c.ConfirmAll();
  c.Refuse("a", 0, "UnexpectedAdmissionError");
  c.Gang("b", 1, 4);
  c.Decide(1000);
  EXPECT_TRUE(c.Binds("b").empty());
  ASSERT_FALSE(c.core.troubles().empty());
  EXPECT_NE(c.core.troubles()[0].find("n0"), std::string::npos);
}

}  // namespace
}  // namespace muster::kubesched
