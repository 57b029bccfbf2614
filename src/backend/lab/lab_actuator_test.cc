#include "backend/lab/lab_actuator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/lab/state/truth.h"
#include "backend/testing/actuator_contract.h"
#include "base/strings.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::lab {
namespace {

using muster::testing::ContractStage;

class LabActuatorTest : public ::testing::Test {
 protected:
  LabActuatorTest() {
    LabState state = MakeLab(
        ParseClusterSpec("nodes=3,gpus=2,numa=1,rails=2,leaves=2,spines=2,rate=400").value(), 5,
        clock_.Now());
    state.folder = "/lab";
    EXPECT_TRUE(SaveLab(files_, state).has_value());
  }
  LabState State() { return LoadLab(files_, "/lab").value(); }
  void Put(const std::string& fault, const std::string& on) {
    LabState state = State();
    const Status put = Inject(state, fault, on, clock_.Now());
    ASSERT_TRUE(put.has_value()) << put.error().ToString();
    ASSERT_TRUE(SaveLab(files_, state).has_value());
  }
  NodeTruth Node0() {
    const LabState state = State();
    return NodeNow(state, state.cluster.nodes[0], clock_.Now());
  }
  DidResult Act(ActKind kind, const Subject& on, std::map<std::string, std::string> params = {}) {
    Order order;
    order.action = {kind, on, std::move(params)};
    order.fence = 1;
    return actuator_.Do(order);
  }
  void Wait(Duration d = std::chrono::seconds(5)) { clock_.SleepFor(d); }

  muster::testing::FakeClock clock_;
  muster::testing::MemoryFiles files_{&clock_};
  muster::testing::ScriptedProcesses processes_;
  muster::testing::ScriptedHttp http_;
  SeededRandom random_{1};
  LabActuator actuator_{World{clock_, files_, processes_, http_, random_}, "/lab"};
};

TEST_F(LabActuatorTest, KeepsTheContract) {
  const ContractStage stage{actuator_, "node000", "node001",
                            std::chrono::floor<std::chrono::milliseconds>(clock_.Now())};
  muster::testing::KeepsTheLease(stage);
  const auto wait = [&] { Wait(); };
  for (const ActTraits& act : AllActs()) {
    if (!act.effect || act.probe == "lease" || act.kind == ActKind::kDrain) continue;
    std::map<std::string, std::string> params;
    for (const std::string_view param : SplitBlank(act.params)) {
      if (!EndsWith(param, "?")) params[std::string(param)] = "nvidia-fabricmanager";
    }
    muster::testing::ProbesWhatItDid(stage, act.kind, params, wait);
  }
}

TEST_F(LabActuatorTest, ARebootGivesANewBootIdAndASilentMoment) {
  const std::string before = Node0().boot_id;
  ASSERT_EQ(Act(ActKind::kReboot, NodeSubject("node000")).did, Did::kAccepted);
  EXPECT_FALSE(Node0().reachable);
  Wait();
  EXPECT_TRUE(Node0().reachable);
  EXPECT_NE(Node0().boot_id, before);
  EXPECT_LT(Node0().uptime, std::chrono::minutes(1));
}

TEST_F(LabActuatorTest, ADriverIsLoadedOnlyByAReboot) {
  ASSERT_EQ(Act(ActKind::kPackages, NodeSubject("node000"),
                {{"driver", "580.95.05"}, {"fabric_manager", "580.95.05"}})
                .did,
            Did::kAccepted);
  EXPECT_EQ(Node0().driver_version, "580.95.05");
  EXPECT_EQ(Node0().loaded_driver_version, "570.211.01");
  Act(ActKind::kReboot, NodeSubject("node000"));
  EXPECT_EQ(Node0().loaded_driver_version, "580.95.05");
  EXPECT_EQ(Node0().fabric_manager_version, "580.95.05");
}

TEST_F(LabActuatorTest, AResetHealsItsGpuAndNothingElse) {
  Put("xid_119", "node000/gpu0");
  Put("xid_119", "node000/gpu1");
  Put("xid_79", "node001/gpu0");
  Act(ActKind::kGpuReset, GpuSubject("node000", 0));
  EXPECT_EQ(State().faults.size(), 2u);
  Act(ActKind::kGpuReset, NodeSubject("node000"));
  EXPECT_EQ(State().faults.size(), 1u);
  Act(ActKind::kReboot, NodeSubject("node001"));
  EXPECT_EQ(State().faults.size(), 1u) << "a GPU off the bus needs its power cycled";
  Wait();
  Act(ActKind::kPowerCycle, NodeSubject("node001"));
  EXPECT_TRUE(State().faults.empty());
}

TEST_F(LabActuatorTest, SomeFaultsNeedHands) {
  Put("remap_failed", "node000/gpu0");
  Put("dcgm_fail", "node000/gpu1");
  for (const ActKind kind : {ActKind::kGpuReset, ActKind::kReboot, ActKind::kPowerCycle}) {
    Act(kind, NodeSubject("node000"));
    Wait();
  }
  EXPECT_EQ(State().faults.size(), 2u);
}

TEST_F(LabActuatorTest, AnUnreachableNodeIsNotTouchedButItsPowerIs) {
  Put("unreachable", "node000");
  EXPECT_FALSE(actuator_.Before({ActKind::kReboot, NodeSubject("node000"), {}}).ok());
  EXPECT_EQ(Act(ActKind::kReboot, NodeSubject("node000")).did, Did::kRefused);
  EXPECT_THAT(actuator_.ReadFleet().value().silent, ::testing::ElementsAre("node000"));
  EXPECT_EQ(Act(ActKind::kPowerCycle, NodeSubject("node000")).did, Did::kAccepted);
  Wait();
  EXPECT_TRUE(actuator_.ReadFleet().value().silent.empty());
}

TEST_F(LabActuatorTest, ADrainWaitsForTheNextDurableCheckpoint) {
  const TimePoint start = clock_.Now();
  ASSERT_TRUE(actuator_
                  .StartJob({"job-1", "ada", {"node000", "node001"}, 4, start, {}},
                            std::chrono::minutes(10))
                  .has_value());
  Wait(std::chrono::minutes(25));
  auto jobs = actuator_.JobsOn("node001").value();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(*jobs[0].durable_at,
            std::chrono::floor<std::chrono::milliseconds>(start) + std::chrono::minutes(20));
  Act(ActKind::kDrain, NodeSubject("node000"));
  EXPECT_EQ(actuator_.JobsOn("node000").value().size(), 1u);
  Wait(std::chrono::minutes(6));
  EXPECT_TRUE(actuator_.JobsOn("node000").value().empty());
}

TEST_F(LabActuatorTest, AJobWithoutCheckpointsEndsOnlyByForce) {
  ASSERT_TRUE(
      actuator_.StartJob({"job-1", "ada", {"node000"}, 2, clock_.Now(), {}}, {}).has_value());
  Act(ActKind::kDrain, NodeSubject("node000"));
  Wait(std::chrono::hours(5));
  EXPECT_EQ(actuator_.JobsOn("node000").value().size(), 1u);
  Act(ActKind::kDrain, NodeSubject("node000"), {{"force", "true"}});
  EXPECT_TRUE(actuator_.JobsOn("node000").value().empty());
}

TEST_F(LabActuatorTest, WhatWasDoneIsInTheFileAndComesBack) {
  Act(ActKind::kReboot, NodeSubject("node000"));
  Act(ActKind::kServiceStop, NodeSubject("node001"), {{"unit", "nvidia-fabricmanager"}});
  Wait();
  LabState state = State();
  EXPECT_EQ(state.ops["node000"].boots, 1);
  EXPECT_TRUE(state.ops["node001"].stopped.contains("nvidia-fabricmanager"));
  ASSERT_TRUE(SaveLab(files_, state).has_value());
  EXPECT_EQ(State().ops, state.ops);
  EXPECT_FALSE(NodeNow(state, state.cluster.nodes[1], clock_.Now()).fabric_manager_running);
}

TEST_F(LabActuatorTest, WhatAPersonDidIsNotOverwritten) {
  Hold mine;
  mine.schedulable = false;
  mine.note = "mine";
  ASSERT_TRUE(actuator_.SetHold("node000", mine).has_value());
  const ContractStage stage{actuator_, "node000", "node001", clock_.Now()};
  EXPECT_EQ(
      actuator_.Do(muster::testing::ContractOrder(stage, ActKind::kCordon, "node000", "r", 1)).did,
      Did::kRefused);
  EXPECT_EQ(actuator_.ReadHold("node000").value().note, "mine");
}

}  // namespace
}  // namespace muster::lab
