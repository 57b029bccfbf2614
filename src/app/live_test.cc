// Questions to a cluster as it is, against the API server in memory.
#include "app/live.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/testing/gang_cluster.h"
#include "kube/testing/forbids.h"

namespace muster {
namespace {

using kube::testing::Fault;
using ::testing::ElementsAre;
using testing::GangCluster;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::unique_ptr<LiveCluster> LoadOf(GangCluster& cluster) {
  auto live = LiveCluster::Load(cluster.place.client, {});
  EXPECT_TRUE(live.ok()) << live.error().ToString();
  return live.ok() ? std::move(*live) : nullptr;
}
size_t WritesTo(const GangCluster& cluster) {
  size_t writes = 0;
  for (const std::string& asked : cluster.place.api.asked()) writes += !asked.starts_with("GET");
  return writes;
}

TEST(LiveCluster, ShowsWhoRunsWhoWouldStartAndWhoWaits) {
  GangCluster cluster;
  cluster.Gang("ml", "runs", 2, 4, "n0");
  cluster.Gang("ml", "fits", 2, 4);
  cluster.Gang("ml", "waits", 1, 8);
  cluster.Gang("ml", "half", 1, 1);
  cluster.Pod("ml", "lone-0", R"("muster.dev/gang":"lone","muster.dev/gang-size":"2")", 1);
  const auto live = LoadOf(cluster);
  ASSERT_NE(live, nullptr);
  std::map<std::string, std::string> states;
  for (const LiveGang& gang : live->Gangs()) states[gang.name] = gang.state;
  EXPECT_EQ(states["ml/runs"], "running");
  EXPECT_EQ(states["ml/fits"], "starting");
  EXPECT_EQ(states["ml/waits"], "waiting");
  EXPECT_EQ(states["ml/lone"], "gathering");
  const auto nodes = live->Nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].gpus_free, 0);
  EXPECT_EQ(nodes[1].gpus_free, 8) << "what is not bound yet is not there yet";
  EXPECT_THAT(nodes[0].gangs, ElementsAre("ml/runs"));
  EXPECT_EQ(WritesTo(cluster), 0u);
}

TEST(LiveCluster, SaysWhyAGangWaits) {
  GangCluster cluster(1);
  cluster.Gang("ml", "runs", 1, 8, "n0");
  cluster.Gang("ml", "waits", 1, 8);
  cluster.Pod("ml", "lone-0", R"("muster.dev/gang":"lone","muster.dev/gang-size":"2")", 1);
  const auto live = LoadOf(cluster);
  ASSERT_NE(live, nullptr);
  const auto waits = live->Why("waits");
  ASSERT_TRUE(waits.ok()) << waits.error().ToString();
  EXPECT_EQ(waits->state, "pending");
  EXPECT_FALSE(waits->because.empty());
  const auto lone = live->Why("ml/lone");
  ASSERT_TRUE(lone.ok());
  ASSERT_EQ(lone->because.size(), 1u);
  EXPECT_THAT(lone->because[0].detail, HasSubstr("2 pods start together, 1 are there"));
  EXPECT_EQ(live->Why("runs").value().state, "running");
  EXPECT_EQ(live->Why("absent").error().code, Code::kNotFound);
}

// Two gangs on one node that holds one: neither is in the engine, and both are there.
TEST(LiveCluster, OneThatRunsWhereThereIsNoRoomForItIsNotDenied) {
  GangCluster cluster(1);
  cluster.Gang("ml", "one", 1, 8, "n0");
  cluster.Gang("ml", "two", 1, 8, "n0");
  const auto live = LoadOf(cluster);
  ASSERT_NE(live, nullptr);
  for (const char* name : {"one", "two"}) {
    const auto why = live->Why(name);
    ASSERT_TRUE(why.ok()) << why.error().ToString();
    EXPECT_EQ(why->state, "running");
  }
}

TEST(LiveCluster, ANameIsAGangsOwnOrItsControllersAndNeverALongerOne) {
  GangCluster cluster;
  cluster.Gang("ml", "train-2", 1, 1);
  cluster.Gang("ml", "llm-5f0c6a2e-0000-4000-8000-00000000abcd", 1, 1);
  cluster.Gang("a", "same", 1, 1);
  cluster.Gang("b", "same", 1, 1);
  const auto live = LoadOf(cluster);
  ASSERT_NE(live, nullptr);
  EXPECT_EQ(live->Why("train").error().code, Code::kNotFound) << "train-2 is another job";
  EXPECT_TRUE(live->Why("llm").ok());
  EXPECT_TRUE(live->Why("ml/llm").ok());
  EXPECT_EQ(live->Why("other/llm").error().code, Code::kNotFound);
  const auto same = live->Why("same");
  ASSERT_FALSE(same.ok());
  EXPECT_THAT(same.error().message, HasSubstr("a/same"));
  EXPECT_THAT(same.error().message, HasSubstr("b/same"));
  EXPECT_TRUE(live->Why("a/same").ok());
}

TEST(LiveCluster, TellsWhatWouldBecomeOfANodesGangs) {
  GangCluster cluster;
  cluster.Gang("ml", "a", 1, 8, "n0");
  const auto live = LoadOf(cluster);
  ASSERT_NE(live, nullptr);
  const auto drain = live->Drain("n0");
  ASSERT_TRUE(drain.ok()) << drain.error().ToString();
  EXPECT_THAT(drain->there, ElementsAre("ml/a"));
  EXPECT_EQ(drain->moved.size() + drain->evicted.size(), 1u);
  EXPECT_THAT(live->Drain("n1").value().there, IsEmpty());
  EXPECT_FALSE(live->Drain("nowhere").ok());
  EXPECT_EQ(live->Nodes()[0].gpus_free, 0) << "it was a copy";
}

TEST(LiveCluster, WhoMayNotReadIsTold) {
  GangCluster cluster;
  cluster.place.api.fault = kube::testing::Forbids("/pods");
  const auto live = LiveCluster::Load(cluster.place.client, {});
  ASSERT_FALSE(live.ok());
  EXPECT_EQ(live.error().code, Code::kPermission);
}

TEST(LiveCluster, TheRightToListIsEnoughAndWhatMayNotBeListedIsTold) {
  GangCluster cluster;
  cluster.Gang("ml", "runs", 2, 4, "n0");
  cluster.place.api.fault = [](const kube::Exchange& exchange) {
    Fault fault;
    if (exchange.path.find("watch=true") == std::string::npos &&
        exchange.path.find("/queues") == std::string::npos)
      return fault;
    fault.kind = Fault::Kind::kRefuse, fault.status = 403;
    fault.body = R"({"kind":"Status","reason":"Forbidden","code":403,"message":"it is forbidden"})";
    return fault;
  };
  const auto live = LoadOf(cluster);
  ASSERT_NE(live, nullptr);
  EXPECT_EQ(live->Gangs().size(), 1u);
  EXPECT_THAT(live->Troubles(),
              ElementsAre(HasSubstr(R"(apiGroups: ["scheduling.volcano.sh"])"),
                          HasSubstr(R"(resources: ["queues"], verbs: ["list"])")));
}

TEST(LiveCluster, WhoNeverAnswersIsNotWaitedForForEver) {
  GangCluster cluster;
  int asked = 0;
  cluster.place.api.fault = [&](const kube::Exchange&) {
    Fault fault;
    if (++asked > 1) fault.kind = Fault::Kind::kSilence;
    return fault;
  };
  const Duration began = cluster.place.clock.Monotonic();
  const auto live = LiveCluster::Load(cluster.place.client, {});
  ASSERT_FALSE(live.ok());
  EXPECT_EQ(live.error().code, Code::kTimeout);
  EXPECT_LE(cluster.place.clock.Monotonic() - began, std::chrono::minutes(2));
}

}  // namespace
}  // namespace muster
