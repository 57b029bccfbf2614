// The host actuator through real shells: its scripts are run by this machine's own sh, on hosts
// whose tools are stand-ins (tests/host_tools) that remember what was done to them. Rehearsed.
#include "backend/host/host_actuator.h"

#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/host/testing/played_hosts.h"
#include "backend/testing/actuator_contract.h"
#include "backend/testing/honest_actuator.h"
#include "base/strings.h"
#include "world/posix/posix_world.h"
#include "world/testing/captures.h"
#include "world/testing/faulty.h"

namespace muster::host {
namespace {

using muster::testing::FaultKind;
using ::testing::HasSubstr;

class HostActuatorTest : public ::testing::Test {
 protected:
  TimePoint Now() { return std::chrono::floor<std::chrono::milliseconds>(hosts_.clock().Now()); }
  PlayedHost& N1() { return hosts_.Host("n1"); }
  Order Make(ActKind kind, const Subject& on, std::map<std::string, std::string> params = {}) {
    Order order;
    order.action = {kind, on, std::move(params)};
    order.run = "run-a";
    order.step = std::string(ToString(kind));
    order.token = fmt::format("run-a/{}/{}", order.step, ++orders_);
    order.fence = 10;
    order.timeout = std::chrono::minutes(1);
    order.intended_at = Now();
    return order;
  }
  Order Ready(ActKind kind, const Subject& on, std::map<std::string, std::string> params = {}) {
    return muster::testing::Prepared(actuator_, Make(kind, on, std::move(params)));
  }
  Order Cordon(const std::string& node = "n1") {
    Order order = Make(ActKind::kCordon, NodeSubject(node));
    order.lease = {"muster", "run-a", "R6", true, "", Now(), Now() + std::chrono::hours(1), 10};
    return order;
  }

  PlayedHosts hosts_{MUSTER_SOURCE_DIR};
  Site site_ = TwoNodes();
  HostActuator actuator_{site_, hosts_, {.keeps_holds = true, .wait_s = 20}};
  int orders_ = 0;
};

TEST_F(HostActuatorTest, KeepsTheContract) {
  const muster::testing::ContractStage stage{actuator_, "n1", "n2", Now()};
  muster::testing::KeepsTheLease(stage);
  const std::string mark = (hosts_.Host("n2").Folder() / "mark").string();
  for (const ContractAct& act : ContractActs(
           (hosts_.Host("n2").Folder() / "conf").string(),
           {{ActKind::kPersistence, {{"mode", "1"}}},
            {ActKind::kClocks, {{"lock", "1980,1980"}}},
            {ActKind::kPowerCap, {{"watt", "500"}}},
            {ActKind::kEccMode, {{"mode", "1"}}},
            {ActKind::kMigSet, {{"layout", "3g.40gb,3g.40gb"}}},
            {ActKind::kMigClear},
            {ActKind::kPackages, {{"driver", "570.211.01"}}},
            {ActKind::kCommand, {{"argv", "touch " + mark}, {"probe_argv", "test -e " + mark}}}}))
    muster::testing::ProbesWhatItDid(stage, act.kind, act.params, [] {});
}

TEST_F(HostActuatorTest, ALeaseIsSeenByASecondEngine) {
  ASSERT_EQ(actuator_.Do(Cordon()).did, Did::kAccepted);
  HostActuator second(site_, hosts_);
  const Hold hold = second.ReadHold("n1").value();
  EXPECT_FALSE(hold.schedulable);
  EXPECT_EQ(hold.lease->run, "run-a");
  Order theirs = Cordon();
  theirs.lease.run = theirs.run = "run-b";
  theirs.fence = 11;
  EXPECT_EQ(second.Do(theirs).did, Did::kRefused);
}

TEST_F(HostActuatorTest, OfManyEnginesAtOnceOneHoldsTheNode) {
  constexpr int kEngines = 6;
  std::vector<Order> orders;
  for (int i = 0; i < kEngines; ++i) {
    orders.push_back(Cordon());
    orders.back().run = orders.back().lease.run = fmt::format("run-{}", i);
  }
  std::vector<DidResult> did(kEngines);
  {
    std::vector<std::jthread> engines;
    for (size_t i = 0; i < kEngines; ++i)
      engines.emplace_back([&, i] { did[i] = HostActuator(site_, hosts_).Do(orders[i]); });
  }
  const Hold hold = actuator_.ReadHold("n1").value();
  ASSERT_TRUE(hold.lease.has_value());
  int holders = 0;
  for (size_t i = 0; i < kEngines; ++i) {
    if (did[i].did != Did::kAccepted) continue;
    ++holders;
    EXPECT_EQ(hold.lease->run, orders[i].lease.run);
  }
  EXPECT_EQ(holders, 1);
}

TEST_F(HostActuatorTest, AResetIsRecordedAndMarkedInTheKernelLog) {
  Order order = Ready(ActKind::kGpuReset, GpuSubject("n1", 1));
  EXPECT_EQ(order.before.at("bus"), "00000000:11:00.0");
  ASSERT_EQ(actuator_.Do(order).did, Did::kAccepted);
  EXPECT_THAT(N1().Asked(), HasSubstr("nvidia-smi --gpu-reset -i 00000000:11:00.0\n"));
  EXPECT_EQ(muster::testing::ReadWhole((N1().Folder() / "kmsg").string()),
            "muster: gpu reset done: 00000000:11:00.0\n");
  EXPECT_EQ(actuator_.Probe(order).happened, Happened::kYes);
  // The same order once more: it is not reset twice.
  ASSERT_EQ(actuator_.Do(order).did, Did::kAccepted);
  EXPECT_EQ(N1().State()["gpus"][1]["resets"], 1);
  EXPECT_FALSE(N1().State()["gpus"][0].contains("resets"));
}

TEST_F(HostActuatorTest, AResetThatTheToolRefusesHasNotHappened) {
  Json state = N1().State();
  state["fails"]["nvidia-smi --gpu-reset"] = {3, "GPU Reset couldn't run because GPU 11 is in use"};
  N1().Set(state);
  const Order order = Ready(ActKind::kGpuReset, GpuSubject("n1", 1));
  const DidResult did = actuator_.Do(order);
  EXPECT_EQ(did.did, Did::kFailed);
  EXPECT_THAT(did.detail, HasSubstr("in use"));
  EXPECT_EQ(actuator_.Probe(order).happened, Happened::kNo);
  EXPECT_EQ(muster::testing::ReadWhole((N1().Folder() / "kmsg").string()), "");
}

TEST_F(HostActuatorTest, ALostGpuIsNotResetByAnIndexThatShifted) {
  Json state = N1().State();
  state["gpus"].erase(0);
  state["gpus"][0]["index"] = "0";
  N1().Set(state);
  const auto before = actuator_.Before({ActKind::kGpuReset, GpuSubject("n1", 0), {}});
  ASSERT_FALSE(before.ok());
  EXPECT_THAT(before.error().ToString(), HasSubstr("indices may have shifted"));
  // With its UUID pinned it is found wherever it went.
  site_.cluster.nodes[0].gpus[1].uuid = "GPU-11";
  EXPECT_EQ(actuator_.Before({ActKind::kGpuReset, GpuSubject("n1", 1), {}})->at("bus"),
            "00000000:11:00.0");
}

TEST_F(HostActuatorTest, ALostConnectionIsUnknownAndTheActGoesOn) {
  // The answer is lost: the script did run.
  Order order = Ready(ActKind::kServiceRestart, NodeSubject("n1"), {{"unit", "nvidia-dcgm"}});
  FaultPlan plan(FaultKind::kHang, 2);  // 1: who holds it; 2: the order
  hosts_.plan = &plan;
  EXPECT_EQ(actuator_.Do(order).did, Did::kUnknown);
  hosts_.plan = nullptr;
  N1().answers = false;
  EXPECT_EQ(actuator_.Probe(order).happened, Happened::kUnknown);
  N1().answers = true;
  EXPECT_NE(actuator_.Probe(order).happened, Happened::kUnknown);
}

TEST_F(HostActuatorTest, WhoeverFailsAtTheNthCallNeverInventsASuccess) {
  muster::testing::NeverInventsASuccess(20, [&](FaultPlan& plan) {
    const Order order = Ready(ActKind::kPersistence, NodeSubject("n1"), {{"mode", "1"}});
    Json state = N1().State();
    for (auto& gpu : state["gpus"]) gpu["persistence"] = "Disabled";
    N1().Set(state);
    hosts_.plan = &plan;
    const DidResult did = actuator_.Do(order);
    const ProbeResult probe = actuator_.Probe(order);
    const auto hold = actuator_.ReadHold("n1");
    EXPECT_FALSE(hold.ok() && hold->lease.has_value()) << "nobody cordoned it";
    hosts_.plan = nullptr;
    return muster::testing::Told{did, probe, N1().State()["gpus"][0]["persistence"] == "Enabled"};
  });
}

TEST_F(HostActuatorTest, AFenceIsKeptOnTheHost) {
  Order order = Ready(ActKind::kServiceStop, NodeSubject("n1"), {{"unit", "nvidia-dcgm"}});
  order.fence = 20;
  ASSERT_EQ(actuator_.Do(order).did, Did::kAccepted);
  HostActuator second(site_, hosts_);
  Order older = Ready(ActKind::kServiceStart, NodeSubject("n1"), {{"unit", "nvidia-dcgm"}});
  older.fence = 19;
  const DidResult did = second.Do(older);
  EXPECT_EQ(did.did, Did::kRefused);
  EXPECT_THAT(did.detail, HasSubstr("fence 19 is older than 20"));
  EXPECT_EQ(N1().State()["units"]["nvidia-dcgm"]["state"], "inactive");
}

TEST_F(HostActuatorTest, WithoutItsLeaseNothingIsDone) {
  Order order = Ready(ActKind::kReboot, NodeSubject("n1"));
  order.lease = Cordon().lease;
  EXPECT_EQ(actuator_.Do(order).did, Did::kRefused);
  ASSERT_EQ(actuator_.Do(Cordon()).did, Did::kAccepted);
  EXPECT_EQ(actuator_.Do(order).did, Did::kAccepted);
  EXPECT_EQ(actuator_.Probe(order).happened, Happened::kYes);
  EXPECT_EQ(N1().State()["boots"], 1);
  // The lease has outlived the boot.
  EXPECT_EQ(actuator_.ReadHold("n1")->lease->run, "run-a");
}

TEST_F(HostActuatorTest, EveryCutOfTheHoldIsNoticed) {
  ASSERT_EQ(actuator_.Do(Cordon()).did, Did::kAccepted);
  const std::string path = (N1().Folder() / "state" / "hold.json").string();
  const std::string whole = muster::testing::ReadWhole(path).value();
  for (const size_t size : {size_t{0}, size_t{1}, whole.size() / 2, whole.size() - 1}) {
    WriteText(path, whole.substr(0, size));
    const Hold hold = actuator_.ReadHold("n1").value();
    EXPECT_FALSE(hold.schedulable) << size;
    EXPECT_FALSE(hold.lease.has_value()) << size;
    EXPECT_THAT(hold.note, HasSubstr("cannot be read"));
    EXPECT_EQ(actuator_.Do(Cordon()).did, Did::kRefused) << size;
    EXPECT_EQ(muster::testing::ReadWhole(path), whole.substr(0, size));
  }
  // What a crash leaves is the file beside it: the hold is the old one, and the next act goes on.
  WriteText(path, whole);
  WriteText(path + ".new", whole.substr(0, 20));
  EXPECT_EQ(actuator_.ReadHold("n1")->lease->run, "run-a");
  Order back = Cordon();
  back.action.kind = ActKind::kReturn;
  EXPECT_EQ(actuator_.Do(back).did, Did::kAccepted);
  EXPECT_TRUE(actuator_.ReadHold("n1")->schedulable);
}

TEST_F(HostActuatorTest, AnActThatWasBegunAndCutOffIsUnknownUnlessSomethingTells) {
  Order order = Ready(ActKind::kGpuReset, GpuSubject("n1", 0));
  ASSERT_EQ(actuator_.Do(order).did, Did::kAccepted);
  fs::path record;
  for (const auto& entry : fs::directory_iterator(N1().Folder() / "state" / "acts"))
    record = entry.path();
  fs::remove(record / "ended");
  EXPECT_EQ(actuator_.Probe(order).happened, Happened::kUnknown);
  // A counter that was there before and is gone tells that it was reset; one that stands, not.
  order.before["uncorrected"] = "3";
  EXPECT_EQ(actuator_.Probe(order).happened, Happened::kYes);
  Json state = N1().State();
  state["gpus"][0]["errors"] = "3";
  N1().Set(state);
  EXPECT_EQ(actuator_.Probe(order).happened, Happened::kNo);
  // A boot resets them, whatever was recorded.
  WriteText(N1().Folder() / "boot_id", "99999999-2222-3333-4444-555555555555\n");
  EXPECT_EQ(actuator_.Probe(order).happened, Happened::kYes);
  fs::remove_all(record);
  order.before["boot_id"] = "99999999-2222-3333-4444-555555555555";
  EXPECT_EQ(actuator_.Probe(order).happened, Happened::kNo);
}

TEST_F(HostActuatorTest, WhatRunsLongIsBegunAndLookedForLater) {
  const std::string go = (N1().Folder() / "go").string();
  const std::string wait = fmt::format("/bin/sh {}/wait.sh", N1().Folder().string());
  WriteText(N1().Folder() / "wait.sh", fmt::format("while [ ! -e {} ]; do sleep 0.02; done\n", go));
  Order order = Ready(ActKind::kCommand, NodeSubject("n1"),
                      {{"argv", wait}, {"probe_argv", "test -e " + go}});
  HostActuator quick(site_, hosts_, {.keeps_holds = true, .wait_s = 1});
  const DidResult did = quick.Do(order);
  EXPECT_EQ(did.did, Did::kAccepted);
  EXPECT_THAT(did.detail, HasSubstr("not ended yet"));
  EXPECT_EQ(quick.Probe(order).happened, Happened::kUnknown);
  WriteText(go, "");
  for (int i = 0; i < 500 && quick.Probe(order).happened != Happened::kYes; ++i) continue;
  EXPECT_EQ(quick.Probe(order).happened, Happened::kYes);
}

TEST_F(HostActuatorTest, WorkOnTheGpusIsNamedWaitedForAndEndedByForceAlone) {
  PosixProcesses posix;
  auto child = posix.Start({{"sleep", "600"}}, "/dev/null").value();
  Json state = N1().State();
  state["jobs"] = {{child->pid(), "GPU-10", "python3"}, {child->pid(), "GPU-11", "python3"}};
  N1().Set(state);
  const auto jobs = actuator_.JobsOn("n1").value();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].gpus, 2);
  EXPECT_EQ(jobs[0].owner, "python3");
  EXPECT_GT(jobs[0].started, Now() - std::chrono::hours(1));
  EXPECT_FALSE(jobs[0].durable_at.has_value());
  Order drain = Ready(ActKind::kDrain, NodeSubject("n1"));
  EXPECT_EQ(actuator_.Do(drain).did, Did::kAccepted);
  EXPECT_EQ(actuator_.Probe(drain).happened, Happened::kNo);
  EXPECT_FALSE(child->Poll().has_value());
  drain.action.params["force"] = "true";
  drain.token += "/2";
  std::jthread reaper([&] { static_cast<void>(child->Wait(std::chrono::seconds(20)).ok()); });
  EXPECT_EQ(actuator_.Do(drain).did, Did::kAccepted);
  reaper.join();
  EXPECT_TRUE(child->Poll().has_value());
  EXPECT_EQ(actuator_.Probe(drain).happened, Happened::kYes);
}

TEST_F(HostActuatorTest, AnUnknownToolAnswerIsNoEmptyNode) {
  Json state = N1().State();
  state["fails"]["nvidia-smi --query-compute-apps"] = {255, "Unknown Error"};
  N1().Set(state);
  EXPECT_FALSE(actuator_.JobsOn("n1").ok());
  state["fails"]["nvidia-smi --query-compute-apps"] = {9, "NVIDIA driver is not loaded"};
  N1().Set(state);
  EXPECT_TRUE(actuator_.JobsOn("n1")->empty());
}

TEST_F(HostActuatorTest, ASilentNodeIsListedAsSilent) {
  hosts_.Host("n2").answers = false;
  const Actuator::Fleet fleet = actuator_.ReadFleet().value();
  ASSERT_EQ(fleet.nodes.size(), 1u);
  EXPECT_EQ(fleet.nodes[0].node, "n1");
  EXPECT_EQ(fleet.silent, std::vector<std::string>{"n2"});
  EXPECT_EQ(actuator_.Do(Cordon("n2")).did, Did::kRefused);
}

TEST_F(HostActuatorTest, AFullDiskRefusesBeforeAnythingIsDone) {
  fs::create_directories(N1().Folder() / "state");
  WriteText(N1().Folder() / "state" / "acts", "no folder can be made here");
  Order order = Ready(ActKind::kServiceStop, NodeSubject("n1"), {{"unit", "nvidia-dcgm"}});
  const DidResult did = actuator_.Do(order);
  EXPECT_EQ(did.did, Did::kRefused);
  EXPECT_THAT(did.detail, HasSubstr("nothing can be written down"));
  EXPECT_EQ(N1().State()["units"]["nvidia-dcgm"]["state"], "active");
}

TEST_F(HostActuatorTest, AUnitThatIsNotThereIsNotStarted) {
  EXPECT_FALSE(
      actuator_.Before({ActKind::kServiceStart, NodeSubject("n1"), {{"unit", "nothing"}}}).ok());
}

TEST_F(HostActuatorTest, PackagesThatTheMirrorLacksAreSaid) {
  const Order order = Ready(ActKind::kPackages, NodeSubject("n1"), {{"driver", "999"}});
  const DidResult did = actuator_.Do(order);
  EXPECT_EQ(did.did, Did::kFailed);
  EXPECT_THAT(did.detail, HasSubstr("was not found"));
  EXPECT_EQ(actuator_.Probe(order).happened, Happened::kNo);
}

}  // namespace
}  // namespace muster::host
