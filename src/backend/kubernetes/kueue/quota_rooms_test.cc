#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/kubernetes/kueue/testing/quota_site.h"

namespace muster::kueue {
namespace {

using testing::AskFor;
using testing::ClusterQueueOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::LocalQueueOf;
using testing::OneQueueOf;
using testing::Site;

// Two racks of two nodes with eight GPUs each, under a flavor with a topology down to hosts.
struct RackSite : Site {
  std::vector<sched::NodeAdd> nodes;
  std::vector<RoomPod> pods;

  static Queues QueuesOf() {
    Queues queues;
    queues.flavors = {{"tas", {{"tas", "yes"}}}};
    queues.queues = {ClusterQueueOf("cq", 1000, "", "tas"), LocalQueueOf("ml/user-queue", "cq")};
    queues.queues[0].quota.push_back({"tas", "nvidia.com/gpu", 64, {}, {}});
    queues.topology_of["tas"] = "default";
    queues.topologies["default"] = {"rack", kHostname};
    return queues;
  }
  RackSite() : Site(Queues{}) {
    for (int i = 0; i < 4; ++i) {
      sched::NodeAdd node;
      node.name = "n" + std::to_string(i);
      node.labels = {{"tas", "yes"}, {"rack", "r" + std::to_string(i / 2)}, {kHostname, node.name}};
      node.capacity = {{"cpu", 96000}, {"pods", 110}, {"nvidia.com/gpu", 8}};
      nodes.push_back(node);
    }
    core.SetRoomSource({[this](const auto& use) {
                          for (const auto& node : nodes) use(node, true);
                        },
                        [this](const auto& use) {
                          for (const auto& pod : pods) use(pod);
                        }});
    core.SetQueues(QueuesOf());
  }
  static Ask Gang(const std::string& uid, int pods, const std::string& required) {
    Ask ask = AskFor(uid, pods);
    ask.sets[0].shape["nvidia.com/gpu"] = 8;
    ask.sets[0].topology.required = required;
    ask.sets[0].asks_for_topology = !required.empty();
    return ask;
  }
  // "rack of the pods", or why it waits.
  std::string RacksOf(const std::string& uid) {
    std::set<std::string> racks;
    const Ask* ask = core.Find(uid);
    const auto place = ask->places.find("main");
    if (place == ask->places.end()) return core.StateOf(uid);
    for (const auto& domain : place->second.domains)
      racks.insert(domain.values[0] < "n2" ? "r0" : "r1");
    return fmt::format("{}", fmt::join(racks, " "));
  }
};

TEST(Quota, WorkloadsOfAFlavorWithATopologyGetTheirPlacesOnRealNodes) {
  RackSite site;
  site.core.Set(RackSite::Gang("pair", 2, "rack"));
  site.core.Set(RackSite::Gang("one", 1, ""));
  site.core.Set(RackSite::Gang("late", 2, "rack"));
  EXPECT_THAT(site.Settle(), ElementsAre("admit pair", "admit one"));
  EXPECT_EQ(site.RacksOf("pair"), "r0");
  EXPECT_EQ(site.RacksOf("one"), "r1") << "a place too where none was asked for";
  EXPECT_THAT(site.RacksOf("late"), HasSubstr("waiting"));
  Ask over = site.Written("pair");
  over.finished = true;
  site.core.Set(over);
  EXPECT_THAT(site.Settle(), ElementsAre("admit late"));
  EXPECT_EQ(site.RacksOf("late"), "r0");
}

TEST(Quota, PodsOfNobodyHoldTheirRoomAndPlacesAreReadBackAfterAStart) {
  RackSite first;
  first.core.Set(RackSite::Gang("pair", 2, "rack"));
  ASSERT_THAT(first.Settle(), ElementsAre("admit pair"));
  const Ask pair = *first.core.Find("pair");
  RackSite site;  // another leads
  site.version = 1000;
  site.core.Set(pair);
  site.core.Set(RackSite::Gang("second", 2, "rack"));
  site.core.Set(RackSite::Gang("third", 1, ""));
  EXPECT_THAT(site.Settle(), ElementsAre("admit second"));
  EXPECT_EQ(site.RacksOf("second"), "r1") << "the first holds the other rack";
  RackSite busy;
  busy.version = 1000;
  RoomPod theirs;
  theirs.meta.uid = "pod", theirs.node = "n0", theirs.shape["nvidia.com/gpu"] = 1;
  busy.pods = {theirs};
  busy.core.Set(RackSite::Gang("a", 2, "rack"));
  busy.core.Set(RackSite::Gang("b", 2, "rack"));
  EXPECT_THAT(busy.Settle(), ElementsAre("admit a"));
  EXPECT_EQ(busy.RacksOf("a"), "r1");
  busy.core.RemovePod("pod");
  EXPECT_THAT(busy.Settle(), ElementsAre("admit b"));
}

// Somebody else let it in, into a rack; a pod was there before, and is gone.
TEST(Quota, ThePlaceOfAPodThatIsGoneIsCountedAsFree) {
  RackSite site;
  RoomPod theirs;
  theirs.meta.uid = "pod", theirs.node = "n0", theirs.shape["nvidia.com/gpu"] = 1;
  site.pods = {theirs};
  EXPECT_TRUE(site.Settle().empty());
  site.core.RemovePod("pod");
  Ask held = RackSite::Gang("held", 2, "rack");
  held.reserved = held.admitted = true;
  held.cluster_queue = "cq";
  held.flavors["main"] = {{"cpu", "tas"}, {"nvidia.com/gpu", "tas"}};
  held.places["main"] = {{"rack"}, {{{"r0"}, 2}}};
  site.core.Set(held);
  EXPECT_TRUE(site.Settle().empty());
  site.core.Set(RackSite::Gang("b", 2, "rack"));
  site.core.Set(RackSite::Gang("c", 2, "rack"));
  EXPECT_THAT(site.Settle(), ElementsAre("admit b"));
  EXPECT_EQ(site.RacksOf("b"), "r1");
}

TEST(Quota, ATopologyThatIsNotKnownIsTold) {
  RackSite site;
  site.core.Set(RackSite::Gang("zone", 1, "zone"));
  EXPECT_THAT(site.Settle(), ElementsAre("say zone no level of the topology is zone"));
  Site plain(OneQueueOf(4));
  Ask ask = AskFor("w", 1);
  ask.sets[0].topology.required = "rack", ask.sets[0].asks_for_topology = true;
  plain.core.Set(ask);
  EXPECT_THAT(plain.Settle(), ElementsAre(HasSubstr("no flavor of ClusterQueue cq has one")));
}

}  // namespace
}  // namespace muster::kueue
