// Who does what, that nobody acts without the lease, and what is known of a host that fell silent.
#include "backend/composed_actuator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/lease_text.h"
#include "backend/testing/actuator_contract.h"
#include "world/testing/fake_clock.h"
#include "world/testing/faulty.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster {
namespace {

using muster::testing::FakeClock;
using muster::testing::FaultKind;
using muster::testing::FaultPlan;
using muster::testing::FaultyFiles;
using muster::testing::MemoryFiles;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// A part that does what it can, at once, and keeps holds if it is asked to.
class Part final : public Actuator {
 public:
  explicit Part(std::vector<ActKind> can, Origin from = Origin::kLive)
      : can_(std::move(can)), from_(from) {}
  Origin origin() const override { return from_; }
  std::vector<ActKind> Can() const override { return can_; }
  std::vector<std::string> Render(const Action& action) const override {
    return {action.ToString()};
  }
  Result<Fingerprint> Before(const Action& action) override {
    if (!answers) return Fail(Code::kUnavailable, "silent");
    return Fingerprint{{"n", std::to_string(count[action.ToString()])}};
  }
  DidResult Do(const Order& order) override {
    if (!answers) return {Did::kUnknown, "silent"};
    Hold& hold = holds[std::string(order.action.on.Host())];
    uint64_t& fence = fences[std::string(order.action.on.Host())];
    if (order.fence < fence) return {Did::kRefused, "older"};
    const bool ours = hold.lease && hold.lease->run == order.lease.run;
    if (order.action.kind == ActKind::kCordon) {
      if (hold.lease && !ours) return {Did::kRefused, "held"};
      if (!hold.lease) hold = {false, order.lease, "", "1"};
    } else if (order.action.kind == ActKind::kReturn) {
      if (!ours) return {Did::kRefused, "not ours"};
      hold = {};
    }
    fence = order.fence;
    ++count[order.action.ToString()];
    did.push_back(order.action.kind);
    return {Did::kAccepted, ""};
  }
  ProbeResult Probe(const Order& order) override {
    if (!answers) return {Happened::kUnknown, "silent"};
    if (order.action.kind == ActKind::kCordon || order.action.kind == ActKind::kReturn) {
      const auto& lease = holds[std::string(order.action.on.Host())].lease;
      const bool ours = lease && lease->run == order.lease.run;
      return {ours == (order.action.kind == ActKind::kCordon) ? Happened::kYes : Happened::kNo, ""};
    }
    const bool more = std::to_string(count[order.action.ToString()]) != order.before.at("n");
    return {more ? Happened::kYes : Happened::kNo, ""};
  }
  Result<Hold> ReadHold(const std::string& node) override {
    if (!answers) return Fail(Code::kUnavailable, "silent");
    return holds[node];
  }
  Result<Fleet> ReadFleet() override {
    Fleet fleet;
    for (const auto& [node, hold] : holds) fleet.nodes.push_back({node, hold});
    return fleet;
  }
  Result<std::vector<RunningJob>> JobsOn(const std::string&) override {
    return std::vector<RunningJob>{};
  }

  bool answers = true;
  std::map<std::string, Hold> holds;
  std::map<std::string, uint64_t> fences;
  std::map<std::string, int> count;
  std::vector<ActKind> did;

 private:
  std::vector<ActKind> can_;
  Origin from_;
};

class ComposedTest : public ::testing::Test {
 protected:
  ComposedTest() {
    ActuatorParts parts;
    parts.scheduler = scheduler_;
    parts.host = host_;
    parts.power = power_;
    parts.memory = std::make_unique<HoldMemory>(Local(), "/site/.muster/holds");
    actuator_ = std::make_unique<ComposedActuator>(std::move(parts));
  }
  World Local() { return {clock_, files_, processes_, http_, random_}; }
  Order Make(ActKind kind, const std::string& run = "run-a") {
    Order order;
    order.action = {kind, NodeSubject("n1"), {}};
    order.run = run;
    order.fence = 10;
    order.lease = {"muster", run, "R6", true, "", clock_.Now(), clock_.Now(), 10};
    if (auto before = actuator_->Before(order.action); before.ok()) order.before = *before;
    return order;
  }

  FakeClock clock_;
  MemoryFiles files_;
  muster::testing::ScriptedProcesses processes_;
  muster::testing::ScriptedHttp http_;
  SeededRandom random_{1};
  std::shared_ptr<Part> scheduler_ =
      std::make_shared<Part>(std::vector{ActKind::kCordon, ActKind::kDrain, ActKind::kReturn});
  std::shared_ptr<Part> host_ =
      std::make_shared<Part>(std::vector{ActKind::kReboot, ActKind::kGpuReset, ActKind::kCordon});
  std::shared_ptr<Part> power_ =
      std::make_shared<Part>(std::vector{ActKind::kPowerCycle}, Origin::kRehearsed);
  std::unique_ptr<ComposedActuator> actuator_;
};

TEST_F(ComposedTest, KeepsTheContract) {
  scheduler_->holds["n1"] = {};
  const muster::testing::ContractStage stage{*actuator_, "n1", "n2", clock_.Now()};
  muster::testing::KeepsTheLease(stage);
  const auto none = [] {};
  for (const ActKind kind :
       {ActKind::kDrain, ActKind::kReboot, ActKind::kGpuReset, ActKind::kPowerCycle})
    muster::testing::ProbesWhatItDid(stage, kind, {}, none);
}

TEST_F(ComposedTest, EachActHasOnePartAndOnlyThatOneDoesIt) {
  ASSERT_EQ(actuator_->Do(Make(ActKind::kCordon)).did, Did::kAccepted);
  for (const ActKind kind : {ActKind::kDrain, ActKind::kReboot, ActKind::kPowerCycle})
    ASSERT_EQ(actuator_->Do(Make(kind)).did, Did::kAccepted);
  EXPECT_EQ(scheduler_->did, (std::vector{ActKind::kCordon, ActKind::kDrain}));
  EXPECT_EQ(host_->did, std::vector{ActKind::kReboot});
  EXPECT_EQ(power_->did, std::vector{ActKind::kPowerCycle});
  EXPECT_EQ(actuator_->origin(), Origin::kRehearsed);
  EXPECT_THAT(actuator_->Can(), Contains(ActKind::kPowerCycle));
  EXPECT_THAT(actuator_->Can(), Not(Contains(ActKind::kBmcReset)));
}

TEST_F(ComposedTest, WithoutTheLeaseNeitherHostNorPowerIsTouched) {
  for (const ActKind kind : {ActKind::kReboot, ActKind::kPowerCycle}) {
    EXPECT_EQ(actuator_->Do(Make(kind)).did, Did::kRefused);
    ASSERT_EQ(actuator_->Do(Make(ActKind::kCordon, "run-b")).did, Did::kAccepted);
    EXPECT_EQ(actuator_->Do(Make(kind)).did, Did::kRefused);
    ASSERT_EQ(actuator_->Do(Make(ActKind::kReturn, "run-b")).did, Did::kAccepted);
  }
  EXPECT_TRUE(host_->did.empty());
  EXPECT_TRUE(power_->did.empty());
  // And not by an engine that slept.
  ASSERT_EQ(actuator_->Do(Make(ActKind::kCordon)).did, Did::kAccepted);
  Order older = Make(ActKind::kPowerCycle);
  older.fence = 9;
  EXPECT_EQ(actuator_->Do(older).did, Did::kRefused);
}

TEST_F(ComposedTest, AMissingPartRefusesAndShowsNothing) {
  ActuatorParts parts;
  parts.scheduler = scheduler_;
  ComposedActuator half(std::move(parts));
  EXPECT_FALSE(half.Before({ActKind::kPowerCycle, NodeSubject("n1"), {}}).ok());
  EXPECT_EQ(half.Do(Make(ActKind::kPowerCycle)).did, Did::kRefused);
  EXPECT_EQ(half.Probe(Make(ActKind::kPowerCycle)).happened, Happened::kUnknown);
  EXPECT_THAT(half.Render({ActKind::kPowerCycle, NodeSubject("n1"), {}})[0],
              HasSubstr("names nobody"));
  EXPECT_FALSE(ComposedActuator(ActuatorParts{}).ReadHold("n1").ok());
  EXPECT_FALSE(ComposedActuator(ActuatorParts{}).ReadFleet().ok());
  ActuatorParts lost;
  lost.missing = "no kubeconfig";
  EXPECT_THAT(ComposedActuator(std::move(lost)).ReadHold("n1").error().message,
              HasSubstr("no kubeconfig"));
}

TEST_F(ComposedTest, OfASilentHostTheLastLeaseIsKnownAndItsPowerMayBeCycled) {
  ASSERT_EQ(actuator_->Do(Make(ActKind::kCordon)).did, Did::kAccepted);
  const Order cycle = Make(ActKind::kPowerCycle);
  scheduler_->answers = false;
  const Hold hold = actuator_->ReadHold("n1").value();
  EXPECT_EQ(hold.lease->run, "run-a");
  EXPECT_THAT(hold.note, HasSubstr("as it was when the node last answered"));
  EXPECT_EQ(actuator_->Do(cycle).did, Did::kAccepted);
  Order theirs = cycle;
  theirs.lease.run = "run-b";
  EXPECT_EQ(actuator_->Do(theirs).did, Did::kRefused);
  // Another engine's memory is its own; without one nobody may.
  ActuatorParts parts;
  parts.scheduler = scheduler_;
  parts.power = power_;
  EXPECT_EQ(ComposedActuator(std::move(parts)).Do(cycle).did, Did::kRefused);
  // As soon as the host answers it has the word.
  scheduler_->answers = true;
  scheduler_->holds["n1"] = {};
  EXPECT_FALSE(actuator_->ReadHold("n1")->lease.has_value());
  scheduler_->answers = false;
  EXPECT_FALSE(actuator_->ReadHold("n1").ok());
}

TEST_F(ComposedTest, AMemoryThatBreaksAtTheNthCallNeverInventsALease) {
  for (const FaultKind kind : {FaultKind::kFail, FaultKind::kHang, FaultKind::kGarble}) {
    for (int n = 1; n <= 8; ++n) {
      MemoryFiles files;
      FaultPlan plan(kind, n);
      FaultyFiles faulty(files, plan);
      HoldMemory memory({clock_, faulty, processes_, http_, random_}, "/holds");
      Hold hold{false, Lease{"muster", "run-a", "why", true, "", clock_.Now(), clock_.Now(), 3}, "",
                "1"};
      memory.Saw("n1", hold);
      if (const auto last = memory.Last("n1")) {
        EXPECT_EQ(last->lease, hold.lease) << n;
      }
      EXPECT_FALSE(memory.Last("n2").has_value());
      memory.Saw("n1", Hold{});
      memory.Saw("n1", Hold{});
      EXPECT_FALSE(memory.Last("n1").has_value()) << n;
    }
  }
}

}  // namespace
}  // namespace muster
