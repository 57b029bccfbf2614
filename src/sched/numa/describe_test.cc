#include "sched/numa/describe.h"

#include <gtest/gtest.h>

namespace muster::numa {
namespace {

NodeFacts Eight() {
  NodeFacts node;
  node.name = "n1";
  node.capacity = {{"cpu", 192000}, {"memory", int64_t{1} << 41}, {"nvidia.com/gpu", 8}};
  for (int zone = 0; zone < 2; ++zone) {
    ZoneFacts facts;
    facts.amounts = {{"cpu", 96000}, {"memory", int64_t{1} << 40}};
    for (int i = 0; i < 4; ++i) facts.devices["nvidia.com/gpu"].push_back(zone * 4 + i);
    node.zones.push_back(facts);
  }
  node.policy = "single-numa-node";
  node.cpu_manager = "static";
  node.reserved = {{"cpu", 1500}};
  return node;
}

TEST(DescribeMachine, ReadsZonesDevicesAndManagers) {
  const auto spec = DescribeMachine(Eight());
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->zones.size(), 2u);
  EXPECT_EQ(spec->zones[1].cpus, 96);
  EXPECT_EQ(spec->devices[0].zones, (std::vector<ZoneMask>{1, 1, 1, 1, 2, 2, 2, 2}));
  EXPECT_EQ(spec->policy, Policy::kSingleNumaNode);
  EXPECT_TRUE(spec->cpu_static);
  EXPECT_EQ(spec->reserved_cpus, 2) << "whole CPUs are reserved";
  EXPECT_TRUE(NeedsAdmission(*spec));
  EXPECT_TRUE(BuildMachine(*spec).ok());
}

TEST(DescribeMachine, ANodeWithoutZonesIsOneZoneWithDevicesOfNone) {
  NodeFacts node = Eight();
  node.zones.clear();
  node.policy = node.cpu_manager = "none";
  const auto spec = DescribeMachine(node);
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->zones.size(), 1u);
  EXPECT_EQ(spec->zones[0].cpus, 192);
  EXPECT_EQ(spec->devices[0].zones[0], 0);
  EXPECT_FALSE(NeedsAdmission(*spec));
}

TEST(DescribeMachine, SaysWhatIsWrong) {
  const auto message = [](auto change) {
    NodeFacts node = Eight();
    change(node);
    const auto spec = DescribeMachine(node);
    return spec.ok() ? std::string("described") : spec.error().message;
  };
  EXPECT_EQ(message([](NodeFacts& n) { n.zones[0].devices["nvidia.com/gpu"] = {8}; }),
            "zone 0 has nvidia.com/gpu 8, the node has 0 to 7");
  EXPECT_EQ(message([](NodeFacts& n) { n.zones[1].devices["rdma/ib"] = {0}; }),
            "a zone has rdma/ib, the node's capacity has not");
  EXPECT_EQ(message([](NodeFacts& n) { n.cpu_manager = "dynamic"; }),
            "unknown CPU manager policy 'dynamic': expected none or static");
  EXPECT_EQ(message([](NodeFacts& n) { n.capacity["nvidia.com/gpu"] = 65; }),
            "65 of nvidia.com/gpu: 0 to 64 are modelled");
  EXPECT_EQ(message([](NodeFacts& n) { n.zones.resize(9); }), "9 NUMA zones: 1 to 8 are modelled");
}

}  // namespace
}  // namespace muster::numa
