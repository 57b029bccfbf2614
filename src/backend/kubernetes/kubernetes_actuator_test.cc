// Cordons as one patch, returns that restore exactly, drains that respect budgets, and people who
// are quicker: against an API server in memory.
#include "backend/kubernetes/kubernetes_actuator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "backend/testing/actuator_contract.h"
#include "base/strings.h"
#include "kube/testing/fake_place.h"
#include "kube/testing/forbids.h"

namespace muster::kubernetes {
namespace {

using kube::testing::FakePlace;
using kube::testing::Fault;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr const char* kReady = R"("status":{"conditions":[{"type":"Ready","status":"True"}]})";

struct Stage {
  FakePlace place;
  KubernetesActuator actuator{
      place.client, {Origin::kRehearsed, std::chrono::seconds(30), std::chrono::seconds(5), 500}};

  Stage() {
    for (const char* node : {"n1", "n2"}) place.api.Put(kube::kNodes, "", node, kReady);
  }
  Order Make(ActKind kind, const std::string& run = "run-a", uint64_t fence = 10) {
    Order order;
    order.action = {kind, NodeSubject("n1"), {}};
    order.run = run;
    order.step = std::string(ToString(kind));
    order.fence = fence;
    order.lease = {"muster",
                   run,
                   "R6 \"GPU\"\nfault",
                   true,
                   "",
                   place.clock.Now(),
                   place.clock.Now() + std::chrono::hours(1),
                   fence};
    order.intended_at = place.clock.Now();
    order.timeout = std::chrono::minutes(1);
    return order;
  }
  Json Node() { return Json::parse(place.client.Ask(kube::Get(kube::kNodes, "", "n1")).value()); }
  void Merge(const Json& patch) {
    ASSERT_TRUE(place.client.Ask(kube::MergePatch(kube::kNodes, "", "n1", patch.dump())).ok());
  }
  // `durable`: what it says of its checkpoint; "" = nothing.
  void Pod(const std::string& name, const std::string& owner_kind, const std::string& node = "n1",
           const std::string& durable = "none") {
    Json fields = {{"spec",
                    {{"nodeName", node},
                     {"containers",
                      {{{"name", "c"},
                        {"resources",
                         {{"limits", {{"nvidia.com/gpu", "8"}}},
                          {"requests", {{"nvidia.com/gpu", "8"}}}}}}}}}},
                   {"status", {{"phase", "Running"}}}};
    std::string text = fields.dump();
    place.api.Put(kube::kPods, "train", name, text.substr(1, text.size() - 2));
    if (!durable.empty()) Says(name, durable);
    if (owner_kind.empty()) return;
    const Json owner = {{"metadata",
                         {{"ownerReferences",
                           {{{"apiVersion", "v1"},
                             {"kind", owner_kind},
                             {"name", "job"},
                             {"uid", "u"},
                             {"controller", true}}}}}}};
    ASSERT_TRUE(place.client.Ask(kube::MergePatch(kube::kPods, "train", name, owner.dump())).ok());
  }
  void Says(const std::string& pod, const std::string& durable) {
    const Json patch = {{"metadata", {{"annotations", {{kCheckpointKey, durable}}}}}};
    ASSERT_TRUE(place.client.Ask(kube::MergePatch(kube::kPods, "train", pod, patch.dump())).ok());
  }
  // Evictions, which the server in memory does not know: allowed, or refused so many times.
  void Evictions(int refused) {
    place.api.fault = [this, refused](const kube::Exchange& exchange) mutable -> Fault {
      const size_t at = exchange.path.find("/eviction");
      if (exchange.method != "POST" || at == std::string::npos) return {};
      if (refused > 0) {
        --refused;
        return {Fault::Kind::kRefuse,
                429,
                R"({"kind":"Status","status":"Failure","reason":"TooManyRequests","code":429,)"
                R"("message":"Cannot evict pod as it would violate the pod's disruption budget."})",
                {},
                0};
      }
      const std::string path = exchange.path.substr(0, at);
      evicted.push_back(path.substr(path.rfind('/') + 1));
      place.api.Remove(kube::kPods, "train", evicted.back());
      return {Fault::Kind::kRefuse, 201, R"({"kind":"Status","status":"Success"})", {}, 0};
    };
  }
  std::vector<std::string> evicted;
};

TEST(KubernetesActuator, ACordonAndItsLeaseAreOnePatchAndOnlyItsRunTakesItBack) {
  Stage stage;
  const Order cordon = stage.Make(ActKind::kCordon);
  EXPECT_EQ(stage.actuator.Probe(cordon).happened, Happened::kNo);
  ASSERT_EQ(stage.actuator.Do(cordon).did, Did::kAccepted);
  size_t patches = 0;
  for (const std::string& line : stage.place.api.asked())
    patches += StartsWith(line, "PATCH") && !Contains(line, "/status");
  EXPECT_EQ(patches, 1u);
  EXPECT_EQ(stage.actuator.Probe(cordon).happened, Happened::kYes);
  const Hold hold = stage.actuator.ReadHold("n1").value();
  EXPECT_FALSE(hold.schedulable);
  EXPECT_EQ(hold.lease, cordon.lease);
  EXPECT_EQ(stage.actuator.Do(cordon).did, Did::kAccepted) << "the same order changes nothing";
  EXPECT_EQ(stage.actuator.Do(stage.Make(ActKind::kCordon, "run-b", 11)).did, Did::kRefused);
  EXPECT_EQ(stage.actuator.Do(stage.Make(ActKind::kReturn, "run-b", 12)).did, Did::kRefused);
  EXPECT_EQ(stage.actuator.Do(stage.Make(ActKind::kDrain, "run-a", 9)).did, Did::kRefused)
      << "an engine that slept";
  const Order back = stage.Make(ActKind::kReturn, "run-a", 12);
  ASSERT_EQ(stage.actuator.Do(back).did, Did::kAccepted);
  EXPECT_EQ(stage.actuator.Probe(back).happened, Happened::kYes);
  EXPECT_TRUE(stage.actuator.ReadHold("n1").value().schedulable);
  EXPECT_EQ(stage.actuator.Do(stage.Make(ActKind::kCordon, "run-a", 11)).did, Did::kRefused)
      << "the fence stays behind";
}

TEST(KubernetesActuator, KeepsTheContractOfLeases) {
  Stage stage;
  muster::testing::KeepsTheLease({stage.actuator, "n1", "n2", stage.place.clock.Now()});
}

TEST(KubernetesActuator, WhatAPersonHoldsIsLeftAlone) {
  Stage stage;
  stage.Merge({{"spec", {{"unschedulable", true}}}});
  const auto did = stage.actuator.Do(stage.Make(ActKind::kCordon));
  EXPECT_EQ(did.did, Did::kRefused);
  EXPECT_THAT(did.detail, HasSubstr("nobody wrote why"));
  EXPECT_FALSE(stage.Node()["metadata"].contains("annotations"));
}

TEST(KubernetesActuator, APersonWhoUncordonsEndsTheLease) {
  Stage stage;
  ASSERT_EQ(stage.actuator.Do(stage.Make(ActKind::kCordon)).did, Did::kAccepted);
  const std::string before = stage.actuator.ReadHold("n1").value().version;
  stage.Merge({{"spec", {{"unschedulable", nullptr}}}});
  const Hold hold = stage.actuator.ReadHold("n1").value();
  EXPECT_TRUE(hold.schedulable);
  EXPECT_FALSE(hold.lease.has_value());
  EXPECT_NE(hold.version, before);
  EXPECT_EQ(stage.actuator.Do(stage.Make(ActKind::kDrain)).did, Did::kRefused);
  EXPECT_EQ(stage.actuator.Do(stage.Make(ActKind::kReturn)).did, Did::kRefused);
}

TEST(KubernetesActuator, AChangeBetweenReadAndWriteIsSeenAndTheOrderThoughtOverAgain) {
  Stage stage;
  int changes = 0;
  stage.place.api.fault = [&](const kube::Exchange& exchange) -> Fault {
    // A person cordons it right before our patch arrives.
    if (exchange.method == "PATCH" && changes++ == 0)
      stage.place.api.Put(kube::kNodes, "", "n1",
                          std::string(R"("spec":{"unschedulable":true},)") + kReady);
    return {};
  };
  EXPECT_EQ(stage.actuator.Do(stage.Make(ActKind::kCordon)).did, Did::kRefused);
  EXPECT_FALSE(stage.Node()["metadata"].contains("annotations"));
}

TEST(KubernetesActuator, ALostAnswerIsUnknownAndTheProbeTells) {
  Stage stage;
  stage.place.api.fault = [](const kube::Exchange& exchange) -> Fault {
    if (exchange.method != "PATCH") return {};
    return {Fault::Kind::kBreak, 0, "", {}, 3};
  };
  const Order cordon = stage.Make(ActKind::kCordon);
  EXPECT_EQ(stage.actuator.Do(cordon).did, Did::kUnknown);
  EXPECT_EQ(stage.actuator.Probe(cordon).happened, Happened::kYes);
}

TEST(KubernetesActuator, OperandLabelsComeBackExactlyAndAPersonsChangeStays) {
  Stage stage;
  stage.Merge({{"metadata",
                {{"labels",
                  {{"nvidia.com/gpu.deploy.dcgm", "true"},
                   {"nvidia.com/gpu.deploy.device-plugin", "paused-for-mig-change"},
                   {"nvidia.com/gpu.deploy.mig-manager", "false"},
                   {"nvidia.com/gpu.deploy.exporter", "true"},
                   {"zone", "a"}}}}}});
  ASSERT_EQ(stage.actuator.Do(stage.Make(ActKind::kCordon)).did, Did::kAccepted);
  Order drain = stage.Make(ActKind::kDrain);
  drain.action.params["operands"] = "true";
  ASSERT_EQ(stage.actuator.Do(drain).did, Did::kAccepted);
  ASSERT_EQ(stage.actuator.Do(drain).did, Did::kAccepted) << "twice is once";
  Json labels = stage.Node()["metadata"]["labels"];
  EXPECT_EQ(labels["nvidia.com/gpu.deploy.device-plugin"], "false");
  stage.Merge({{"metadata", {{"labels", {{"nvidia.com/gpu.deploy.exporter", "theirs"}}}}}});
  ASSERT_EQ(stage.actuator.Do(stage.Make(ActKind::kReturn)).did, Did::kAccepted);
  labels = stage.Node()["metadata"]["labels"];
  EXPECT_EQ(labels["nvidia.com/gpu.deploy.dcgm"], "true");
  EXPECT_EQ(labels["nvidia.com/gpu.deploy.device-plugin"], "paused-for-mig-change");
  EXPECT_EQ(labels["nvidia.com/gpu.deploy.mig-manager"], "false");
  EXPECT_EQ(labels["nvidia.com/gpu.deploy.exporter"], "theirs");
  EXPECT_EQ(labels["zone"], "a");
}

TEST(KubernetesActuator, ADrainLeavesDaemonSetsLonePodsAndOtherNodesAlone) {
  Stage stage;
  stage.Pod("rank-0", "Job");
  stage.Pod("dcgm", "DaemonSet");
  stage.Pod("lone", "");
  stage.Pod("elsewhere", "Job", "n2");
  ASSERT_EQ(stage.actuator.Do(stage.Make(ActKind::kCordon)).did, Did::kAccepted);
  stage.Evictions(0);
  Order drain = stage.Make(ActKind::kDrain);
  const auto did = stage.actuator.Do(drain);
  EXPECT_EQ(did.did, Did::kAccepted) << did.detail;
  EXPECT_THAT(stage.evicted, ::testing::ElementsAre("rank-0"));
  EXPECT_EQ(stage.actuator.Probe(drain).happened, Happened::kNo) << "the lone pod is work too";
  drain.action.params["force"] = "true";
  EXPECT_EQ(stage.actuator.Do(drain).did, Did::kAccepted);
  EXPECT_THAT(stage.evicted, ::testing::ElementsAre("rank-0", "lone"));
  EXPECT_EQ(stage.actuator.Probe(drain).happened, Happened::kYes);
}

TEST(KubernetesActuator, ADrainWaitsForACheckpointYoungerThanItself) {
  Stage stage;
  const TimePoint began = stage.place.clock.Now();
  stage.Pod("rank-0", "Job", "n1", FormatTime(began - std::chrono::hours(1)));
  stage.Pod("rank-1", "Job", "n1", "");
  ASSERT_EQ(stage.actuator.Do(stage.Make(ActKind::kCordon)).did, Did::kAccepted);
  stage.Evictions(0);
  const Order drain = stage.Make(ActKind::kDrain);
  auto did = stage.actuator.Do(drain);
  EXPECT_EQ(did.did, Did::kAccepted) << did.detail;
  EXPECT_THAT(did.detail, HasSubstr("2 wait for a durable checkpoint"));
  EXPECT_TRUE(stage.evicted.empty());
  EXPECT_THAT(stage.actuator.Probe(drain).detail, HasSubstr("no checkpoint since the drain began"));
  EXPECT_EQ(stage.actuator.JobsOn("n1")->front().durable_at, began - std::chrono::hours(1));
  // One rank speaks for the job.
  stage.Says("rank-0", FormatTime(began + std::chrono::minutes(3)));
  did = stage.actuator.Do(drain);
  EXPECT_THAT(stage.evicted, ::testing::ElementsAre("rank-0", "rank-1")) << did.detail;
}

TEST(KubernetesActuator, WorkThatSaysNothingOfACheckpointIsUnknownAndLeftAloneUnlessForced) {
  for (const std::string said : {"", "yesterday"}) {
    Stage stage;
    stage.Pod("rank-0", "Job", "n1", said);
    stage.Pod("serve-0", "ReplicaSet", "n1", "");
    ASSERT_EQ(stage.actuator.Do(stage.Make(ActKind::kCordon)).did, Did::kAccepted);
    stage.Evictions(0);
    Order drain = stage.Make(ActKind::kDrain);
    EXPECT_EQ(stage.actuator.Do(drain).did, Did::kAccepted);
    EXPECT_THAT(stage.evicted, ::testing::ElementsAre("serve-0"));
    const ProbeResult probe = stage.actuator.Probe(drain);
    EXPECT_EQ(probe.happened, Happened::kNo);
    EXPECT_THAT(probe.detail, HasSubstr("UNKNOWN whether their work is saved"));
    EXPECT_THAT(probe.detail, HasSubstr("train/rank-0"));
    drain.action.params["force"] = "true";
    EXPECT_EQ(stage.actuator.Do(drain).did, Did::kAccepted);
    EXPECT_THAT(stage.evicted, ::testing::ElementsAre("serve-0", "rank-0"));
  }
}

TEST(KubernetesActuator, ABudgetIsWaitedForAndNeverGoneAround) {
  Stage stage;
  stage.Pod("rank-0", "Job");
  ASSERT_EQ(stage.actuator.Do(stage.Make(ActKind::kCordon)).did, Did::kAccepted);
  stage.Evictions(3);
  EXPECT_EQ(stage.actuator.Do(stage.Make(ActKind::kDrain)).did, Did::kAccepted);
  EXPECT_THAT(stage.evicted, ::testing::ElementsAre("rank-0"));

  Stage stuck;
  stuck.Pod("rank-0", "Job");
  ASSERT_EQ(stuck.actuator.Do(stuck.Make(ActKind::kCordon)).did, Did::kAccepted);
  stuck.Evictions(1'000'000);
  const auto did = stuck.actuator.Do(stuck.Make(ActKind::kDrain));
  EXPECT_EQ(did.did, Did::kAccepted);
  EXPECT_THAT(did.detail, HasSubstr("1 wait for a disruption budget"));
  EXPECT_TRUE(stuck.evicted.empty());
  EXPECT_EQ(stuck.actuator.Probe(stuck.Make(ActKind::kDrain)).happened, Happened::kNo);
  for (const std::string& line : stuck.place.api.asked())
    EXPECT_THAT(line, Not(HasSubstr("DELETE")));
}

TEST(KubernetesActuator, TheFleetIsOneListAndWhatIsNotReadyIsSilent) {
  Stage stage;
  stage.place.api.Put(kube::kNodes, "", "n3",
                      R"("status":{"conditions":[{"type":"Ready","status":"Unknown"}]})");
  ASSERT_EQ(stage.actuator.Do(stage.Make(ActKind::kCordon)).did, Did::kAccepted);
  const size_t before = stage.place.api.asked().size();
  const auto fleet = stage.actuator.ReadFleet();
  ASSERT_TRUE(fleet.ok()) << fleet.error().ToString();
  EXPECT_EQ(stage.place.api.asked().size(), before + 1);
  ASSERT_EQ(fleet->nodes.size(), 2u);
  EXPECT_TRUE(fleet->nodes[0].hold.lease.has_value());
  EXPECT_THAT(fleet->silent, ::testing::ElementsAre("n3"));
}

TEST(KubernetesActuator, JobsAreThePodsThatReserveGpusByWhatControlsThem) {
  Stage stage;
  stage.Pod("rank-0", "Job");
  stage.Pod("rank-1", "Job");
  stage.Pod("dcgm", "DaemonSet");
  const auto jobs = stage.actuator.JobsOn("n1");
  ASSERT_TRUE(jobs.ok()) << jobs.error().ToString();
  ASSERT_EQ(jobs->size(), 1u);
  EXPECT_EQ(jobs->at(0).id, "train/Job/job");
  EXPECT_EQ(jobs->at(0).gpus, 16);
  EXPECT_FALSE(jobs->at(0).durable_at.has_value());
}

TEST(KubernetesActuator, NobodyThereIsUnavailableAndNothingIsAssumed) {
  Stage stage;
  stage.place.api.fault = [](const kube::Exchange&) -> Fault {
    return {Fault::Kind::kRefuse, 503, "", {}, 0};
  };
  EXPECT_FALSE(stage.actuator.ReadHold("n1").ok());
  EXPECT_FALSE(stage.actuator.ReadFleet().ok());
  EXPECT_FALSE(stage.actuator.Before({ActKind::kCordon, NodeSubject("n1"), {}}).ok());
  EXPECT_EQ(stage.actuator.Probe(stage.Make(ActKind::kCordon)).happened, Happened::kUnknown);
  EXPECT_EQ(stage.actuator.Probe(stage.Make(ActKind::kDrain)).happened, Happened::kUnknown);
  EXPECT_EQ(stage.actuator.Do(stage.Make(ActKind::kCordon)).did, Did::kRefused);
}

TEST(Lease, IsReadBackAsItWasWritten) {
  const Lease lease{"muster",
                    "run-1",
                    "R6 \"x\"\n",
                    false,
                    "theirs",
                    TimePoint{} + std::chrono::hours(1),
                    TimePoint{} + std::chrono::hours(2),
                    7};
  EXPECT_EQ(ReadLease(WriteLease(lease)).value(), lease);
  for (const char* text : {"", "{}", "[]", "null", "{\"owner\":3}", "{\"owner\":\"x\"}"})
    EXPECT_FALSE(ReadLease(text).ok()) << text;
}

TEST(KubernetesActuator, AHeldNodeSaysSoByConditionAndTaintAndOtherTaintsStay) {
  Stage stage;
  const Json theirs = {{"key", "person"}, {"value", "mine"}, {"effect", "NoSchedule"}};
  stage.Merge({{"spec", {{"taints", {theirs}}}}});
  ASSERT_EQ(stage.actuator.Do(stage.Make(ActKind::kCordon, "run/ä-")).did, Did::kAccepted);
  Json node = stage.Node();
  ASSERT_EQ(node["spec"]["taints"].size(), 2u);
  EXPECT_EQ(node["spec"]["taints"][0], theirs);
  EXPECT_EQ(node["spec"]["taints"][1]["key"], kHeldTaint);
  EXPECT_EQ(node["spec"]["taints"][1]["value"], "run") << "a taint's value ends in a letter";
  EXPECT_EQ(node["spec"]["taints"][1]["effect"], "PreferNoSchedule");
  ASSERT_EQ(node["status"]["conditions"].size(), 2u);
  EXPECT_EQ(node["status"]["conditions"][1]["type"], kHeldCondition);
  EXPECT_EQ(node["status"]["conditions"][1]["status"], "True");
  EXPECT_THAT(node["status"]["conditions"][1]["message"].get<std::string>(), HasSubstr("run/ä-"));
  ASSERT_EQ(stage.actuator.Do(stage.Make(ActKind::kReturn, "run/ä-")).did, Did::kAccepted);
  node = stage.Node();
  EXPECT_EQ(node["spec"]["taints"], Json::array({theirs}));
  EXPECT_EQ(node["status"]["conditions"][1]["status"], "False");
}

TEST(KubernetesActuator, AConditionThatCannotBeSetHindersNothing) {
  Stage stage;
  stage.place.api.fault = kube::testing::Forbids("/status");
  const DidResult did = stage.actuator.Do(stage.Make(ActKind::kCordon));
  EXPECT_EQ(did.did, Did::kAccepted);
  EXPECT_THAT(did.detail, HasSubstr("its condition could not be set"));
  EXPECT_EQ(stage.actuator.Do(stage.Make(ActKind::kReturn)).did, Did::kAccepted);
  EXPECT_TRUE(stage.actuator.ReadHold("n1")->schedulable);
}

}  // namespace
}  // namespace muster::kubernetes
