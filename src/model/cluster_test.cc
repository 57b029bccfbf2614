#include "model/cluster.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

ClusterSpec Spec(std::string_view text) {
  auto spec = ParseClusterSpec(text);
  EXPECT_TRUE(spec.ok()) << text << ": " << (spec.ok() ? "" : spec.error().ToString());
  return spec.ok() ? *spec : ClusterSpec{};
}

std::string Refusal(std::string_view text) {
  const auto spec = ParseClusterSpec(text);
  EXPECT_FALSE(spec.ok()) << text;
  if (spec.ok()) return "";
  EXPECT_EQ(spec.error().code, Code::kInvalid);
  return spec.error().message;
}

TEST(ClusterSpec, AnEmptyTextIsTheDefaultLab) { EXPECT_EQ(Spec(""), ClusterSpec{}); }

TEST(ClusterSpec, EveryKeyIsRead) {
  const ClusterSpec spec = Spec(
      "nodes=16, gpus=4,numa=1,rails=4,leaves=4,spines=2,rate=200,model=NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(spec, (ClusterSpec{16, 4, 1, 4, 4, 2, 200, "NVIDIA A100-SXM4-80GB"}));
}

TEST(ClusterSpec, AMistypedKeyIsAnsweredWithTheNearestOne) {
  EXPECT_THAT(Refusal("nodez=4"), HasSubstr("did you mean \"nodes\"?"));
  EXPECT_THAT(Refusal("leafs=4"), HasSubstr("did you mean \"leaves\"?"));
}

TEST(ClusterSpec, WhatCannotBeMeantIsRefusedWithWhatWasExpected) {
  EXPECT_THAT(Refusal("nodes=0"), HasSubstr("1 to 1024"));
  EXPECT_THAT(Refusal("nodes=1025"), HasSubstr("1 to 1024"));
  EXPECT_THAT(Refusal("gpus=17"), HasSubstr("0 to 16"));
  EXPECT_THAT(Refusal("gpus=four"), HasSubstr("whole number"));
  EXPECT_THAT(Refusal("rate=0"), HasSubstr("Gb/s"));
  EXPECT_THAT(Refusal("rate=nan"), HasSubstr("Gb/s"));
  EXPECT_THAT(Refusal("model="), HasSubstr("GPU model"));
  EXPECT_THAT(Refusal("nodes"), HasSubstr("key=value"));
  EXPECT_THAT(Refusal("nodes=4,,gpus=8"), HasSubstr("key=value"));
  EXPECT_THAT(Refusal("nodes=4,nodes=5"), HasSubstr("twice"));
  EXPECT_THAT(Refusal("leaves=0,spines=2"), HasSubstr("spines"));
  EXPECT_THAT(Refusal("leaves=2,spines=0"), HasSubstr("join the leaves"));
  EXPECT_THAT(Refusal("nodes=1024,leaves=1"), HasSubstr("254"));
}

TEST(ClusterSpec, TheTreeGrowsWithTheNodesWhenItIsNotGiven) {
  EXPECT_EQ(Spec("nodes=16").leaves, 4);
  EXPECT_EQ(Spec("nodes=32").leaves, 8);   // one for each rail
  EXPECT_EQ(Spec("nodes=64").leaves, 16);  // two groups of nodes
  EXPECT_EQ(Spec("nodes=1,leaves=0").spines, 0);
  EXPECT_EQ(Spec("nodes=1,leaves=0").rails, 0);
}

RC_GTEST_PROP(ClusterSpec, WhatIsFormattedReadsBackTheSame, ()) {
  ClusterSpec spec;
  spec.nodes = *rc::gen::inRange(1, 100);
  spec.gpus = *rc::gen::inRange(0, 17);
  spec.numa = *rc::gen::inRange(1, 9);
  spec.rails = *rc::gen::inRange(1, 17);
  spec.leaves = *rc::gen::inRange(8, 64);
  spec.spines = *rc::gen::inRange(1, 33);
  spec.rate_gbit_per_s = *rc::gen::element(100.0, 200.0, 400.0, 800.0, 12.5);
  const auto back = ParseClusterSpec(FormatClusterSpec(spec));
  RC_ASSERT(back.ok());
  RC_ASSERT(*back == spec);
}

RC_GTEST_PROP(ClusterSpec, NoTextCrashesTheParser, (const std::string& text)) {
  const auto spec = ParseClusterSpec(text);
  if (!spec.ok()) RC_ASSERT(spec.error().code == Code::kInvalid);
}

TEST(Cluster, HasTheNamesAndGuidsOfTheDocumentedTree) {
  const Cluster cluster =
      BuildCluster(Spec("nodes=16,gpus=1,numa=1,rails=1,leaves=4,spines=2,rate=100"));
  ASSERT_EQ(cluster.nodes.size(), 16u);
  EXPECT_EQ(cluster.nodes[15].name, "node015");
  EXPECT_EQ(cluster.nodes[15].rack, "rack01");
  EXPECT_EQ(cluster.nodes[15].nics[0].guid, "0002c90003000f00");
  ASSERT_NE(cluster.FindSwitch("leaf03"), nullptr);
  EXPECT_EQ(cluster.FindSwitch("leaf03")->guid, "0002c90001000300");
  EXPECT_EQ(cluster.FindSwitch("spine01")->guid, "0002c90002000100");
  // As captures/rehearsed/mkfabric.py wires it: leaf03 port 4 goes to node015, leaf00 port 5 to
  // spine00.
  std::set<std::string> ids;
  for (const Link& link : cluster.links) ids.insert(link.Id().id);
  EXPECT_TRUE(ids.contains("leaf03/4--node015/mlx5_0/1"));
  EXPECT_TRUE(ids.contains("leaf00/5--spine00/1"));
  EXPECT_TRUE(ids.contains("leaf01/7--spine01/3"));
}

TEST(Cluster, RailsGetLeavesOfTheirOwnWhenThereAreEnough) {
  const Cluster cluster = BuildCluster(Spec("nodes=8,rails=4,gpus=4,leaves=8,spines=4"));
  std::map<std::string, std::string> leaf_of;
  for (const Link& link : cluster.links) leaf_of[link.b.device] = link.a.device;
  EXPECT_EQ(leaf_of["node000/mlx5_0"], "leaf00");
  EXPECT_EQ(leaf_of["node003/mlx5_0"], "leaf00");
  EXPECT_EQ(leaf_of["node000/mlx5_3"], "leaf03");
  EXPECT_EQ(leaf_of["node004/mlx5_0"], "leaf04");
}

TEST(Cluster, AWorkstationHasNoSwitches) {
  const Cluster cluster = BuildCluster(Spec("nodes=1,gpus=2,leaves=0"));
  EXPECT_TRUE(cluster.switches.empty());
  EXPECT_TRUE(cluster.links.empty());
  EXPECT_TRUE(cluster.Validate().ok());
}

TEST(Cluster, AThousandNodesHoldTogether) {
  const Cluster cluster = BuildCluster(Spec("nodes=1024"));
  EXPECT_EQ(cluster.GpuCount(), 8192u);
  EXPECT_TRUE(cluster.Validate().ok());
  for (const Node& node : cluster.nodes) EXPECT_EQ(cluster.FindNode(node.name), &node);
  EXPECT_EQ(cluster.FindNode("node1024"), nullptr);
}

RC_GTEST_PROP(Cluster, EveryTreeIsValidJoinedAndNeverUsesAPortTwice, ()) {
  ClusterSpec spec;
  spec.nodes = *rc::gen::inRange(1, 40);
  spec.gpus = *rc::gen::inRange(0, 9);
  spec.numa = *rc::gen::inRange(1, 5);
  spec.rails = *rc::gen::inRange(1, 9);
  spec.leaves = *rc::gen::inRange(1, 17);
  spec.spines = spec.leaves == 1 ? *rc::gen::inRange(0, 5) : *rc::gen::inRange(1, 9);
  const Cluster cluster = BuildCluster(spec);
  const Status valid = cluster.Validate();
  RC_ASSERT(valid.ok());
  std::map<std::pair<std::string, std::string>, int> up;
  std::set<std::string> wired;
  for (const Link& link : cluster.links) {
    wired.insert(link.b.device);
    if (StartsWith(link.b.device, "spine")) ++up[{link.a.device, link.b.device}];
  }
  for (const Node& node : cluster.nodes) {
    for (const Nic& nic : node.nics) RC_ASSERT(wired.contains(node.name + "/" + nic.device));
  }
  RC_ASSERT(up.size() == static_cast<size_t>(spec.leaves) * static_cast<size_t>(spec.spines));
  for (const auto& [ends, count] : up) RC_ASSERT(count == up.begin()->second);
}

TEST(Cluster, EveryProblemIsSaidAtOnce) {
  Cluster cluster = BuildCluster(Spec("nodes=2,gpus=2,rails=1,leaves=1"));
  cluster.nodes[1].name = "node000";
  cluster.nodes[0].rack = "rack77";
  cluster.nodes[0].gpus[1].index = 0;
  cluster.nodes[0].gpus[0].numa = 9;
  cluster.links[0].b.device = "node777/mlx5_0";
  cluster.links[1].a = cluster.links[0].a;
  cluster.links[1].rate_gbit_per_s = 0;
  const Status status = cluster.Validate();
  ASSERT_FALSE(status.ok());
  for (const char* said :
       {"name \"node000\" is used twice", "rack77", "GPU 0 is listed twice", "NUMA domain 9",
        "node777/mlx5_0", "is in two links", "rate must be above 0"}) {
    EXPECT_THAT(status.error().message, HasSubstr(said));
  }
}

TEST(Cluster, NamesThatWouldConfuseAReportAreRefused) {
  for (const char* name : {"", "a b", "a/b", "a--b", "fabric", "monitor", "facility", "x\n"}) {
    Cluster cluster = BuildCluster(Spec("nodes=1,leaves=0"));
    cluster.nodes[0].name = name;
    EXPECT_FALSE(cluster.Validate().ok()) << name;
  }
}

TEST(Cluster, ALinkEndsAtAnAdapterNotAtAHost) {
  Cluster cluster = BuildCluster(Spec("nodes=1,rails=1,leaves=1"));
  cluster.links[0].b = {"node000", 1};
  EXPECT_FALSE(cluster.Validate().ok());
}

}  // namespace
}  // namespace muster
