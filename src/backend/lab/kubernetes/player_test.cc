#include "backend/lab/kubernetes/player.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/lab/kubernetes/testing/player_stage.h"

namespace muster::lab {
namespace {

using kube::testing::Fault;
using ::testing::HasSubstr;

struct Stage : PlayerStage {
  explicit Stage(PlayerOptions options = {}) { Begin(std::move(options)); }
  void Begin(PlayerOptions options) {
    if (options.nodes.empty()) {
      for (const char* name : {"n0", "n1"}) {
        PlayedNodeSpec node;
        node.name = name;
        node.topology_policy = "single-numa-node";
        options.nodes.push_back(node);
      }
    }
    PlayerStage::Begin(std::move(options));
  }
  // A bound pod, as the API server would hold it.
  void Pod(const std::string& name, int gpus, const std::string& annotations = "",
           const std::string& node = "n0", const std::string& more = "") {
    place.api.Put(
        kube::kPods, "t", name,
        R"("metadata":{"annotations":{)" + annotations +
            R"(}},"spec":{"restartPolicy":"Never","nodeName":")" + node +
            R"(","containers":[{"name":"c","image":"i")" + more +
            R"(,"resources":{"requests":{"nvidia.com/gpu":")" + std::to_string(gpus) +
            R"("},"limits":{"nvidia.com/gpu":")" + std::to_string(gpus) +
            R"("}}}]},"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"True"}]})");
  }
  kube::Pod Read(const std::string& name) {
    const auto body = place.client.Ask(kube::Get(kube::kPods, "t", name));
    const auto pod = body.ok() ? kube::DecodePod(*body) : Result<kube::Pod>(Fail(body.error()));
    return pod.ok() ? *pod : kube::Pod{};
  }
  bool Becomes(const std::string& name, const std::string& phase) {
    return PlayerStage::Becomes([&] { return Read(name).phase == phase; }, 2000);
  }
};

TEST(Player, RegistersItsNodesAndKeepsTheirLeases) {
  Stage stage;
  EXPECT_EQ(stage.place.api.Contents(kube::kNodes).size(), 2u);
  ASSERT_TRUE(stage.place.Until([&] { return stage.player->stats().leases >= 6; }));
  const auto node = kube::DecodeNode(*stage.place.client.Ask(kube::Get(kube::kNodes, "", "n0")));
  ASSERT_TRUE(node.ok());
  EXPECT_TRUE(node->Ready());
  EXPECT_EQ(node->allocatable.at("nvidia.com/gpu"), 8000);
  EXPECT_EQ(node->allocatable.at("cpu"), 96000);
}

TEST(Player, ABoundPodRunsAndEndsAfterItsTime) {
  Stage stage;
  stage.Pod("p", 4, R"("muster.dev/run-for":"5s","muster.dev/exit":"7")");
  ASSERT_TRUE(stage.Becomes("p", "Running"));
  const TimePoint running = stage.place.clock.Now();
  EXPECT_EQ(stage.Read("p").conditions.size(), 5u) << "PodScheduled stays";
  ASSERT_TRUE(stage.Becomes("p", "Failed"));
  EXPECT_GE(stage.place.clock.Now() - running, std::chrono::seconds(4));
  EXPECT_EQ(stage.player->stats().running, 1u);
}

TEST(Player, APodThatIsHeldStaysPending) {
  Stage stage;
  stage.Pod("p", 1, R"("muster.dev/hold":"image")");
  stage.place.Run(200);
  EXPECT_EQ(stage.Read("p").phase, "Pending");
}

TEST(Player, SixGpusOnTwoTimesFourAreATopologyAffinityError) {
  Stage stage;
  stage.Pod("p", 6);
  ASSERT_TRUE(stage.Becomes("p", "Failed"));
  EXPECT_EQ(stage.Read("p").reason, "TopologyAffinityError");
  EXPECT_EQ(stage.Read("p").message,
            "Pod was rejected: Resources cannot be allocated with Topology locality");
}

TEST(Player, MoreDevicesThanThereAreLeftIsAnUnexpectedAdmissionError) {
  PlayerOptions options;
  PlayedNodeSpec node;
  node.name = "n0";
  options.nodes = {node};
  Stage stage(options);
  stage.Pod("a", 1);
  ASSERT_TRUE(stage.Becomes("a", "Running"));
  stage.Pod("b", 8);
  ASSERT_TRUE(stage.Becomes("b", "Failed"));
  EXPECT_EQ(stage.Read("b").reason, "UnexpectedAdmissionError");
  EXPECT_EQ(stage.Read("b").message,
            "Pod was rejected: Allocate failed due to requested number of devices unavailable for "
            "nvidia.com/gpu. Requested: 8, Available: 7, which is unexpected");
}

TEST(Player, WhatEndsOrGoesGivesItsDevicesBack) {
  Stage stage;
  stage.Pod("a", 4);
  stage.Pod("b", 4, R"("muster.dev/run-for":"2s")");
  ASSERT_TRUE(stage.Becomes("a", "Running"));
  ASSERT_TRUE(stage.Becomes("b", "Succeeded"));
  stage.Pod("c", 4);
  ASSERT_TRUE(stage.Becomes("c", "Running"));
  stage.place.api.Remove(kube::kPods, "t", "a");
  stage.place.Run(50);
  stage.Pod("d", 4);
  ASSERT_TRUE(stage.Becomes("d", "Running"));
}

TEST(Player, TheNodesOtherResourcesRunOutWithTheKubeletsWords) {
  Stage stage;
  stage.place.api.Put(
      kube::kPods, "t", "big",
      R"("spec":{"nodeName":"n0","containers":[{"name":"c","resources":{"requests":{"cpu":"97"}}}]},"status":{"phase":"Pending"})");
  ASSERT_TRUE(stage.Becomes("big", "Failed"));
  EXPECT_EQ(stage.Read("big").reason, "OutOfcpu");
  EXPECT_THAT(stage.Read("big").message, HasSubstr("requested: 97000, used: 0, capacity: 96000"));
}

TEST(Player, ADeletedPodIsFinishedByItsKubelet) {
  Stage stage;
  stage.Pod("p", 1);
  ASSERT_TRUE(stage.Becomes("p", "Running"));
  stage.place.api.Put(
      kube::kPods, "t", "p",
      R"("metadata":{"deletionTimestamp":"2026-11-20T00:00:00Z"},)"
      R"("spec":{"nodeName":"n0","containers":[{"name":"c"}]},"status":{"phase":"Running"})");
  ASSERT_TRUE(stage.place.Until([&] { return stage.place.api.Contents(kube::kPods).empty(); }));
  EXPECT_TRUE(stage.place.Until([&] { return stage.player->stats().deleted == 1; }));
}

TEST(Player, CommandsRunOnlyWhereThatWasAllowed) {
  const auto pod = [](Stage& stage) {
    stage.Pod("p", 1, R"("muster.dev/run":"true","batch.kubernetes.io/job-completion-index":"3")",
              "n0",
              R"(,"command":["train"],"args":["--fast"],"env":[{"name":"A","value":"1"},)"
              R"({"name":"POD","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}])");
  };
  Stage closed;
  pod(closed);
  ASSERT_TRUE(closed.Becomes("p", "Running"));
  EXPECT_TRUE(closed.place.processes.commands().empty());

  PlayerOptions options;
  options.run_commands = true;
  options.log_folder = "/logs";
  Stage open(options);
  CommandResult result;
  result.exit_code = 3;
  open.place.processes.On("train --fast", result);
  pod(open);
  ASSERT_TRUE(open.Becomes("p", "Failed"));
  ASSERT_EQ(open.place.processes.commands().size(), 1u);
  const auto env = open.place.processes.commands()[0].env;
  EXPECT_EQ(env.at("JOB_COMPLETION_INDEX"), "3");
  EXPECT_EQ(env.at("A"), "1");
  EXPECT_EQ(env.at("POD"), "p");
}

TEST(Player, ACommandThatCannotStartFailsItsPod) {
  PlayerOptions options;
  options.run_commands = true;
  options.log_folder = "/logs";
  Stage stage(options);
  stage.Pod("p", 1, R"("muster.dev/run":"true")", "n0", R"(,"command":["no-such-program"])");
  ASSERT_TRUE(stage.Becomes("p", "Failed"));
}

TEST(Player, ASecondPlayerTakesUpWhereTheFirstWasKilled) {
  Stage stage;
  stage.Pod("a", 4, R"("muster.dev/run-for":"30s")");
  ASSERT_TRUE(stage.Becomes("a", "Running"));
  stage.player.reset();
  stage.Begin({});
  stage.Pod("b", 8);
  ASSERT_TRUE(stage.Becomes("b", "Failed")) << "what runs is counted";
  ASSERT_TRUE(stage.Becomes("a", "Succeeded"));
  EXPECT_EQ(stage.place.api.Contents(kube::kNodes).size(), 2u);
}

TEST(Player, WritesThatFailAreMadeAgainFromWhatIsThere) {
  Stage stage;
  SeededRandom chance(7);
  stage.place.api.fault = [&](const kube::Exchange& exchange) {
    Fault fault;
    if (exchange.method != "PATCH" || chance.Below(3) == 0) return fault;
    if (chance.Below(2) == 0) {
      fault.kind = Fault::Kind::kBreak;  // the write took place, the answer did not come
    } else {
      fault.kind = Fault::Kind::kRefuse;
      fault.status = 500;
    }
    return fault;
  };
  for (int i = 0; i < 8; ++i) stage.Pod("p" + std::to_string(i), 1, R"("muster.dev/run-for":"3s")");
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(stage.Becomes("p" + std::to_string(i), "Succeeded"))
        << i << " " << stage.Read("p" + std::to_string(i)).phase << " "
        << stage.Read("p" + std::to_string(i)).reason;
  }
}

TEST(PlayedNode, GuaranteedIsWhatKubernetesCallsGuaranteed) {
  const auto pod = [](const std::string& resources) {
    return *kube::DecodePod(
        R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","resources":)" + resources +
        "}]}}");
  };
  EXPECT_TRUE(IsGuaranteed(pod(R"({"limits":{"cpu":"1","memory":"1Gi"}})")));
  EXPECT_TRUE(IsGuaranteed(
      pod(R"({"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1000m","memory":"1Gi"}})")));
  EXPECT_FALSE(
      IsGuaranteed(pod(R"({"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1"}})")));
  EXPECT_FALSE(IsGuaranteed(pod(R"({"limits":{"cpu":"1"}})")));
  EXPECT_FALSE(IsGuaranteed(pod("{}")));
}

TEST(PodStatus, TheServersTextsBecomeJsonWithoutHarm) {
  kube::Pod pod;
  pod.meta.name = "p";
  pod.meta.uid = "u";
  kube::Container container;
  container.name = "c\"\xff\x01";
  pod.containers.push_back(container);
  PodStatus status;
  status.phase = "Running";
  const std::string body = PodStatusPatch(pod, status);
  EXPECT_EQ(kube::ValueAt(body, "/metadata/uid"), "u");
  EXPECT_EQ(kube::ValueAt(body, "/status/phase"), "Running");
}

TEST(PodStatus, VariablesInCommandsAreExpandedAsAKubeletDoes) {
  const std::map<std::string, std::string> env = {{"RANK", "3"}, {"EMPTY", ""}};
  EXPECT_EQ(ExpandVariables("--rank=$(RANK)", env), "--rank=3");
  EXPECT_EQ(ExpandVariables("a$(EMPTY)b", env), "ab");
  EXPECT_EQ(ExpandVariables("$(NOBODY) $$(RANK) $RANK $", env), "$(NOBODY) $(RANK) $RANK $");
  EXPECT_EQ(ExpandVariables("$(RANK", env), "$(RANK");
}

TEST(PodOrders, WhatCannotBeReadIsSaidAndChangesNothing) {
  kube::Pod pod;
  pod.meta.annotations = {{"muster.dev/run-for", "soon"}};
  EXPECT_FALSE(OrdersOf(pod).run_for.has_value());
  EXPECT_FALSE(OrdersOf(pod).trouble.empty());
  pod.meta.annotations = {{"muster.dev/exit", "999"}};
  EXPECT_EQ(OrdersOf(pod).exit_code, 0);
  EXPECT_FALSE(OrdersOf(pod).trouble.empty());
}

}  // namespace
}  // namespace muster::lab
