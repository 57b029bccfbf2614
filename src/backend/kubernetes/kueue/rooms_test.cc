#include "backend/kubernetes/kueue/rooms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::kueue {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

sched::NodeAdd NodeOf(const std::string& name, const std::string& rack, int64_t gpus = 8) {
  sched::NodeAdd node;
  node.name = name;
  node.labels = {{"block", "b"}, {"rack", rack}, {kHostname, name}};
  node.capacity = {{"pods", 110}, {"nvidia.com/gpu", gpus}};
  return node;
}
Rooms RoomsOf(const std::vector<std::string>& levels) {
  Rooms rooms;
  rooms.SetLevels(levels);
  rooms.SetNode(NodeOf("n1", "r1"));
  rooms.SetNode(NodeOf("n2", "r1"));
  rooms.SetNode(NodeOf("n3", "r2"));
  return rooms;
}

TEST(Rooms, AnAssignmentIsByHostWhereTheTopologyGoesDownToHostsElseByItsLowestLevel) {
  const std::map<std::string, int> pods_on = {{"n1", 2}, {"n2", 1}, {"n3", 3}};
  const TopologyAssignment hosts = RoomsOf({"block", "rack", kHostname}).AssignmentOf(pods_on);
  EXPECT_THAT(hosts.levels, ElementsAre(kHostname));
  ASSERT_EQ(hosts.domains.size(), 3u);
  EXPECT_THAT(hosts.domains[0].values, ElementsAre("n1"));
  const TopologyAssignment racks = RoomsOf({"block", "rack"}).AssignmentOf(pods_on);
  EXPECT_THAT(racks.levels, ElementsAre("block", "rack"));
  ASSERT_EQ(racks.domains.size(), 2u);
  EXPECT_THAT(racks.domains[0].values, ElementsAre("b", "r1"));
  EXPECT_EQ(racks.domains[0].count, 3);
}

TEST(Rooms, AnAssignmentByDomainsIsSpreadOverTheirNodesAsFarAsTheyHaveRoom) {
  const Rooms rooms = RoomsOf({"block", "rack"});
  const TopologyAssignment three{{"block", "rack"}, {{{"b", "r1"}, 3}}};
  const Resources four = {{"nvidia.com/gpu", 4}};
  EXPECT_THAT(*rooms.NodesOf(three, four, {}), ElementsAre(Pair("n1", 2), Pair("n2", 1)));
  const std::map<std::string, Resources> taken = {{"n1", {{"nvidia.com/gpu", 8}}}};
  EXPECT_FALSE(rooms.NodesOf(three, four, taken)) << "two fit beside what runs";
  EXPECT_FALSE(rooms.NodesOf({{"rack"}, {{{"elsewhere"}, 1}}}, four, {}));
}

TEST(Rooms, ANodeWithoutALabelOfALevelIsInNoDomain) {
  Rooms rooms = RoomsOf({"block", "rack"});
  sched::NodeAdd lost = NodeOf("n4", "r1");
  lost.labels.erase("block");
  EXPECT_FALSE(rooms.DomainsOf(lost));
  EXPECT_THAT(rooms.EngineLevels(), ElementsAre("block", "rack", "node"));
  EXPECT_EQ(rooms.EngineLevel(kHostname), "node");
}

TEST(Rooms, NodesAndPodsAreReadAsTheServerShowsThem) {
  const auto node = DecodeRoomNode(
      R"({"metadata":{"name":"n1","labels":{"rack":"r1"}},"spec":{"taints":[{"key":"gpu","effect":"NoSchedule"},)"
      R"({"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]},"status":{"allocatable":{"cpu":"96",)"
      R"("nvidia.com/gpu":"8","memory":"1Ki"},"conditions":[{"type":"Ready","status":"True"}]}})");
  ASSERT_TRUE(node.ok());
  EXPECT_TRUE(node->usable);
  EXPECT_EQ(node->node.taints.size(), 1u);
  EXPECT_EQ(node->node.capacity.at("cpu"), 96000);
  EXPECT_EQ(node->node.capacity.at("memory"), 1024);
  const auto pod = [](const std::string& annotations, const std::string& phase) {
    return DecodeRoomPod(
        R"({"metadata":{"name":"p","namespace":"ml","uid":"u","annotations":{)" + annotations +
        R"(}},"spec":{"nodeName":"n1","containers":[{"name":"c",)"
        R"("resources":{"requests":{"nvidia.com/gpu":"2"}}}]},"status":{"phase":")" +
        phase + R"("}})");
  };
  EXPECT_TRUE(pod("", "Running")->holds);
  EXPECT_EQ(pod("", "Running")->shape.at("nvidia.com/gpu"), 2);
  EXPECT_FALSE(pod("", "Succeeded")->holds);
  EXPECT_FALSE(pod(R"("kueue.x-k8s.io/workload":"w")", "Running")->holds);
}

}  // namespace
}  // namespace muster::kueue
