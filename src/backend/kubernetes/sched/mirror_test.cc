// Queues as an API server in memory serves them, and what a scheduler writes about them.
#include "backend/kubernetes/sched/mirror.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/kubernetes/sched/serve.h"
#include "kube/testing/fake_place.h"

namespace muster::kubesched {
namespace {

using kube::testing::FakePlace;

const kube::Resource kClusterQueues{"kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue",
                                    false};
const kube::Resource kLocalQueues{"kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue"};

struct QueueStage {
  QueueStage() {
    place.api.Put(kube::kNodes, "", "n0",
                  R"("status":{"allocatable":{"cpu":"96","pods":"110","nvidia.com/gpu":"8"},)"
                  R"("conditions":[{"type":"Ready","status":"True"}]})");
    place.api.Put(kube::kNamespaces, "", "ml", R"("metadata":{"labels":{"team":"a"}})");
    place.api.Put(kLocalQueues, "ml", "lq", R"("spec":{"clusterQueue":"cq"})");
    place.api.Put(
        kube::kPods, "ml", "p",
        R"("metadata":{"labels":{"kueue.x-k8s.io/queue-name":"lq"}},"spec":{"schedulerName":)"
        R"("muster","containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]})");
  }
  void ClusterQueue(const std::string& spec) {
    place.api.Put(kClusterQueues, "", "cq",
                  R"("spec":{"resourceGroups":[{"flavors":[{"name":"any","resources":[{"name":)"
                  R"("cpu","nominalQuota":4}]}]}])" +
                      spec + "}");
  }
  std::string WhyOf() {
    Core core;
    Mirror mirror(place.client, core);
    mirror.Start();
    EXPECT_TRUE(place.Until([&] { return mirror.synced(); }));
    mirror.Prepare();
    std::vector<Act> acts;
    core.Decide(0, acts);
    const auto gangs = core.Gangs();
    EXPECT_EQ(gangs.size(), 1u);
    return gangs.empty() ? "no gang" : gangs[0].why;
  }
  FakePlace place;
};

TEST(Mirror, TheNamespaceSelectorOfAClusterQueueIsHeld) {
  const auto why = [](const std::string& spec) {
    QueueStage stage;
    stage.ClusterQueue(spec);
    return stage.WhyOf();
  };
  EXPECT_EQ(why(R"(,"namespaceSelector":{})"), "");
  EXPECT_EQ(why(R"(,"namespaceSelector":{"matchLabels":{"team":"a"}})"), "");
  EXPECT_NE(why(R"(,"namespaceSelector":{"matchLabels":{"team":"b"}})").find("does not match"),
            std::string::npos);
  EXPECT_NE(why("").find("has no namespaceSelector"), std::string::npos);
  EXPECT_NE(why(R"(,"namespaceSelector":{},"stopPolicy":"Hold")").find("stopPolicy"),
            std::string::npos);
}

TEST(Mirror, KindsThatMayNotBeReadAreToldAndTheRestIsKnown) {
  QueueStage stage;
  stage.place.api.fault = [](const kube::Exchange& exchange) {
    kube::testing::Fault fault;
    if (exchange.path.find("/kueue.x-k8s.io/") == std::string::npos) return fault;
    fault.kind = kube::testing::Fault::Kind::kRefuse, fault.status = 403;
    fault.body = R"({"kind":"Status","reason":"Forbidden","code":403,"message":"forbidden"})";
    return fault;
  };
  for (const auto reads : {Mirror::Reads::kFollow, Mirror::Reads::kOnce}) {
    Core core;
    Mirror mirror(stage.place.client, core, {}, reads);
    mirror.Start();
    ASSERT_TRUE(stage.place.Until([&] { return mirror.synced(); }, 200));
    EXPECT_EQ(mirror.nodes(), 1u);
    EXPECT_EQ(mirror.Unread().size(), 5u);
    EXPECT_FALSE(mirror.fatal());
  }
}

TEST(Mirror, AChangeOfAQueuesStatusDoesNotMakeTheEngineAgain) {
  QueueStage stage;
  stage.ClusterQueue(R"(,"namespaceSelector":{})");
  Core core;
  Mirror mirror(stage.place.client, core);
  mirror.Start();
  ASSERT_TRUE(stage.place.Until([&] { return mirror.synced(); }));
  std::vector<Act> acts;
  const auto decide = [&] {
    mirror.Prepare();
    core.Decide(0, acts);
    return core.stats().rebuilds;
  };
  const uint64_t before = decide();
  stage.ClusterQueue(R"(,"namespaceSelector":{}},"status":{"pendingWorkloads":7)");
  ASSERT_TRUE(stage.place.Until([&] { return mirror.TakeChanged(); }));
  EXPECT_EQ(decide(), before);
  stage.ClusterQueue(R"(,"namespaceSelector":{},"stopPolicy":"Hold")");
  ASSERT_TRUE(stage.place.Until([&] { return mirror.TakeChanged(); }));
  EXPECT_EQ(decide(), before + 1);
}

TEST(Mirror, WhatAQueueAsksForInVainIsSaidOnItOnce) {
  QueueStage stage;
  stage.ClusterQueue(R"(,"namespaceSelector":{},"admissionScope":{"admissionMode":"None"})");
  ServeOptions options;
  options.lease.ns = "kube-system", options.lease.name = "muster", options.lease.identity = "one";
  for (int start = 0; start < 2; ++start) {
    Serve serve(stage.place.client, options);
    serve.Start();
    for (int i = 0; i < 6000 && !serve.idle(); ++i) serve.Turn(std::chrono::milliseconds(200));
    ASSERT_TRUE(serve.idle());
  }
  size_t said = 0;
  for (const auto& [key, version] : stage.place.api.Contents(kube::kEvents))
    said += key.starts_with("default/cq.") ? 1 : 0;
  EXPECT_EQ(said, 1u);
}

}  // namespace
}  // namespace muster::kubesched
