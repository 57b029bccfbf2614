// Controllers that answer, hang, refuse and lie; and what is concluded from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/bmc/bmc_actuator.h"
#include "backend/bmc/ipmi.h"
#include "backend/bmc/redfish.h"
#include "backend/bmc/secret.h"
#include "world/testing/fake_clock.h"
#include "world/testing/faulty.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::bmc {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace muster::testing;

constexpr const char* kSecret = "s3cret-of-the-bmc";
constexpr const char* kBase = "https://bmc";

Environment Env() {
  return [](const std::string& name) -> std::optional<std::string> {
    if (name == "BMC_PASSWORD") return kSecret;
    return std::nullopt;
  };
}

// A controller as JSON pages; `power` and `last_reset` are what it says now.
struct FakeController {
  ScriptedHttp http;
  FakeClock clock;
  MemoryFiles files;
  std::string power = "On", last_reset = "2026-11-20T01:00:00Z";
  std::string allowed = R"(["On","ForceOff","PowerCycle","ForceRestart"])";
  HttpResponse reset_answer{204, {}, "", {}};

  FakeController() {
    http.On("POST https://bmc/redfish/v1/SessionService/Sessions",
            HttpResponse{201,
                         {{"x-auth-token", "tok"},
                          {"location", "https://bmc/redfish/v1/SessionService/Sessions/7"}},
                         "{}",
                         {}});
    http.On("DELETE https://bmc/redfish/v1/SessionService/Sessions/7",
            HttpResponse{204, {}, "", {}});
    http.Serves("https://bmc/redfish/v1/Systems",
                R"({"Members":[{"@odata.id":"/redfish/v1/Systems/1"}]})");
    http.On("GET https://bmc/redfish/v1/Systems/1",
            [this](const HttpRequest&) { return HttpResponse{200, {}, System(), {}}; });
    http.On("POST https://bmc/redfish/v1/Systems/1/Actions/ComputerSystem.Reset",
            [this](const HttpRequest&) { return reset_answer; });
    http.Serves("https://bmc/redfish/v1/Managers/1",
                R"({"LastResetTime":"2026-11-01T00:00:00Z","Actions":{"#Manager.Reset":
                    {"target":"/redfish/v1/Managers/1/Actions/Manager.Reset"}}})");
    http.On("POST https://bmc/redfish/v1/Managers/1/Actions/Manager.Reset",
            HttpResponse{204, {}, "", {}});
  }
  std::string System() const {
    return R"({"PowerState":")" + power + R"(","LastResetTime":")" + last_reset +
           R"(","Links":{"ManagedBy":[{"@odata.id":"/redfish/v1/Managers/1"}]},
              "Actions":{"#ComputerSystem.Reset":
              {"target":"/redfish/v1/Systems/1/Actions/ComputerSystem.Reset",
               "ResetType@Redfish.AllowableValues":)" +
           allowed + "}}}";
  }
  RedfishConfig Config() const {
    RedfishConfig config;
    config.url = kBase;
    config.user = "admin";
    config.password = {"env:BMC_PASSWORD"};
    return config;
  }
  std::unique_ptr<Bmc> Make() { return MakeRedfish(Config(), http, clock, files, Env()); }
};

TEST(Redfish, ReadsPowerThroughASessionAndClosesIt) {
  FakeController fake;
  {
    auto bmc = fake.Make();
    const auto seen = bmc->Look();
    ASSERT_TRUE(seen.ok()) << seen.error().ToString();
    EXPECT_EQ(seen->power, Power::kOn);
    EXPECT_EQ(seen->last_reset, "2026-11-20T01:00:00Z");
  }
  const auto asked = fake.http.requests();
  EXPECT_EQ(asked.front().method, "POST");
  EXPECT_EQ(asked.back().method, "DELETE");
  EXPECT_EQ(asked[1].headers.at("X-Auth-Token"), "tok");
  for (size_t i = 1; i < asked.size(); ++i) EXPECT_THAT(asked[i].body, Not(HasSubstr(kSecret)));
}

TEST(Redfish, FallsBackToBasicWhereThereAreNoSessions) {
  FakeController fake;
  fake.http.On("POST https://bmc/redfish/v1/SessionService/Sessions",
               HttpResponse{404, {}, "", {}});
  EXPECT_TRUE(fake.Make()->Look().ok());
  EXPECT_THAT(fake.http.requests().back().headers.at("Authorization"), HasSubstr("Basic "));
}

TEST(Redfish, ARefusedLoginIsNoReasonToTryTheOtherWay) {
  FakeController fake;
  fake.http.On("POST https://bmc/redfish/v1/SessionService/Sessions",
               HttpResponse{401, {}, kSecret, {}});
  const auto seen = fake.Make()->Look();
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.error().code, Code::kPermission);
  EXPECT_THAT(seen.error().ToString(), Not(HasSubstr(kSecret)));
  EXPECT_EQ(fake.http.requests().size(), 1u);
}

TEST(Redfish, WhatItDoesNotAllowIsRefusedUnsent) {
  FakeController fake;
  const auto did = fake.Make()->Do(PowerAct::kGracefulRestart);
  EXPECT_EQ(did.did, Did::kRefused);
  for (const auto& request : fake.http.requests())
    EXPECT_THAT(request.url, Not(HasSubstr("Actions")));
}

TEST(Redfish, WithoutACycleOfItsOwnItIsSwitchedOffAndThenOn) {
  FakeController fake;
  fake.allowed = R"(["On","ForceOff"])";
  std::vector<std::string> sent;
  int looks = 0;
  fake.http.On("POST https://bmc/redfish/v1/Systems/1/Actions/ComputerSystem.Reset",
               [&](const HttpRequest& request) {
                 sent.push_back(request.body);
                 return fake.reset_answer;
               });
  fake.http.On("GET https://bmc/redfish/v1/Systems/1", [&](const HttpRequest&) {
    if (!sent.empty() && ++looks > 3) fake.power = "Off";
    return HttpResponse{200, {}, fake.System(), {}};
  });
  EXPECT_EQ(fake.Make()->Do(PowerAct::kCycle).did, Did::kAccepted);
  EXPECT_EQ(sent,
            (std::vector<std::string>{R"({"ResetType":"ForceOff"})", R"({"ResetType":"On"})"}));
}

TEST(Redfish, WhatDoesNotGoOffIsNotSwitchedOnAndNobodyKnows) {
  FakeController fake;
  fake.allowed = R"(["On","ForceOff"])";
  const DidResult did = fake.Make()->Do(PowerAct::kCycle);
  EXPECT_EQ(did.did, Did::kUnknown);
  EXPECT_THAT(did.detail, HasSubstr("its power is on"));
  size_t resets = 0;
  for (const auto& request : fake.http.requests()) resets += request.url.ends_with(".Reset");
  EXPECT_EQ(resets, 1u);
}

TEST(Redfish, ATaskIsFollowedToItsEndAndNoFurther) {
  FakeController fake;
  fake.reset_answer = {202, {{"location", "/redfish/v1/TaskService/Tasks/5"}}, "", {}};
  int polls = 0;
  std::string end = "Completed";
  fake.http.On("GET https://bmc/redfish/v1/TaskService/Tasks/5", [&](const HttpRequest&) {
    const std::string state = ++polls < 4 ? "Running" : end;
    return HttpResponse{200, {}, R"({"TaskState":")" + state + "\"}", {}};
  });
  EXPECT_EQ(fake.Make()->Do(PowerAct::kCycle).did, Did::kAccepted);
  EXPECT_EQ(polls, 4);
  end = "Exception";
  polls = 0;
  EXPECT_EQ(fake.Make()->Do(PowerAct::kCycle).did, Did::kFailed);
  end = "Running";
  EXPECT_EQ(fake.Make()->Do(PowerAct::kCycle).did, Did::kUnknown);
  EXPECT_LT(polls, 1000);
}

TEST(Redfish, ALinkOutOfTheTreeIsNotFollowed) {
  for (const char* link :
       {"http://elsewhere/x", "/etc/passwd", "/redfish/../x", "", "//x/redfish"}) {
    FakeController fake;
    fake.http.Serves("https://bmc/redfish/v1/Systems",
                     std::string(R"({"Members":[{"@odata.id":")") + link + "\"}]}");
    EXPECT_EQ(fake.Make()->Look().error().code, Code::kParse) << link;
  }
}

TEST(Redfish, PlainHttpIsForThisMachineAlone) {
  RedfishConfig config;
  config.url = "http://bmc-07";
  EXPECT_EQ(CheckRedfish(config).error().code, Code::kInvalid);
  for (const char* url : {"https://bmc-07", "http://127.0.0.1:8000", "http://localhost"}) {
    config.url = url;
    EXPECT_TRUE(CheckRedfish(config).has_value()) << url;
  }
}

TEST(Redfish, EveryCallThatBreaksIsNeverAcceptedForDone) {
  for (const FaultKind kind : {FaultKind::kFail, FaultKind::kHang, FaultKind::kGarble}) {
    for (int n = 1; n < 20; ++n) {
      FakeController fake;
      FaultPlan plan(kind, n);
      FaultyHttp http(fake.http, plan);
      auto bmc = MakeRedfish(fake.Config(), http, fake.clock, fake.files, Env());
      const auto did = bmc->Do(PowerAct::kCycle);
      if (!plan.reached()) {
        EXPECT_EQ(did.did, Did::kAccepted);
        break;
      }
      // Before the POST it is refused; the POST itself leaves nobody the wiser.
      if (did.did == Did::kAccepted) {
        EXPECT_EQ(kind, FaultKind::kGarble) << n;
      }
      EXPECT_THAT(did.detail, Not(HasSubstr(kSecret)));
    }
  }
}

TEST(Secrets, AreNamedAndNeverWritten) {
  EXPECT_FALSE(SecretRef::Parse("hunter2").ok());
  EXPECT_THAT(SecretRef::Parse("hunter2").error().message, Not(HasSubstr("hunter2")));
  EXPECT_TRUE(SecretRef::Parse("file:/run/bmc").ok());
  MemoryFiles files;
  ASSERT_TRUE(files.MakeFolders("/run").has_value());
  ASSERT_TRUE(files.WriteAtomic("/run/bmc", "abc\n").has_value());
  EXPECT_EQ(ReadSecret({"file:/run/bmc"}, files, Env()).value(), "abc");
  EXPECT_EQ(ReadSecret({"env:NOT_SET"}, files, Env()).error().code, Code::kNotFound);
  EXPECT_EQ(WithoutSecret("a abc b abc", "abc"), "a *** b ***");
  EXPECT_EQ(WithoutSecret("a * b", "*"), "a *** b");
}

constexpr const char* kIpmi = "ipmitool -I lanplus -C 17 -H bmc -p 623 -U ADMIN -E ";

struct FakeIpmi {
  ScriptedProcesses processes;
  MemoryFiles files;
  std::unique_ptr<Bmc> Make(Processes* through = nullptr) {
    IpmiConfig config;
    config.host = "bmc";
    config.user = "ADMIN";
    config.password = {"env:BMC_PASSWORD"};
    return MakeIpmi(config, through == nullptr ? processes : *through, files, Env());
  }
};

TEST(Ipmi, ThePasswordIsOnNoCommandLine) {
  FakeIpmi fake;
  fake.processes.Prints(std::string(kIpmi) + "chassis power status", "Chassis Power is on\n");
  EXPECT_EQ(fake.Make()->Look().value().power, Power::kOn);
  for (const Command& command : fake.processes.commands()) {
    EXPECT_THAT(command.ToString(), Not(HasSubstr(kSecret)));
    EXPECT_EQ(command.env.at("IPMI_PASSWORD"), kSecret);
  }
  EXPECT_THAT(fake.Make()->Render(PowerAct::kCycle), Not(HasSubstr(kSecret)));
}

TEST(Ipmi, NoSessionIsRefusedAndALostAnswerUnknown) {
  FakeIpmi fake;
  const std::string cycle = std::string(kIpmi) + "chassis power cycle";
  fake.processes.On(
      cycle,
      CommandResult{1, false, false, "", "Error: Unable to establish IPMI v2 / RMCP+ session", {}});
  EXPECT_EQ(fake.Make()->Do(PowerAct::kCycle).did, Did::kRefused);
  FakeIpmi slow;
  slow.processes.On(cycle, CommandResult{137, true, false, "", "", {}});
  EXPECT_EQ(slow.Make()->Do(PowerAct::kCycle).did, Did::kUnknown);
  FakeIpmi none;
  EXPECT_EQ(none.Make()->Do(PowerAct::kCycle).did, Did::kRefused) << "there is no ipmitool";
}

TEST(Ipmi, AGracefulRestartIsNeverMadeIntoAHardOne) {
  FakeIpmi fake;
  EXPECT_EQ(fake.Make()->Do(PowerAct::kGracefulRestart).did, Did::kRefused);
  EXPECT_TRUE(fake.processes.commands().empty());
}

TEST(Ipmi, ReadsWhatItPrintsAndRefusesTheRest) {
  EXPECT_EQ(ParseChassisPower("Chassis Power is off\n").value(), Power::kOff);
  EXPECT_FALSE(ParseChassisPower("Chassis Power is on fire").ok());
  const auto sensors = ParseSdr("Inlet Temp,23,degrees C,ok\nFan 1,,,ns\n");
  ASSERT_TRUE(sensors.ok());
  EXPECT_EQ(sensors->at(0).value, 23);
  EXPECT_FALSE(sensors->at(1).value.has_value());
  EXPECT_FALSE(ParseSdr("nonsense\n").ok());
  const auto events =
      ParseSel("1,11/20/2026,10:00:00,Power Supply PS1,Presence detected,Asserted\n");
  ASSERT_TRUE(events.ok());
  EXPECT_EQ(events->at(0).message, "Power Supply PS1, Presence detected, Asserted");
}

// One node, whose host and controller can be moved by hand.
struct OneNode final : public Hosts {
  FakeClock clock;
  MemoryFiles files;
  ScriptedProcesses processes;
  ScriptedHttp http;
  SeededRandom random{1};
  bool answers = true;

  OneNode() { (void)files.MakeFolders("/proc/sys/kernel/random"); }
  void Boots(const std::string& id, int uptime_s) {
    (void)files.WriteAtomic("/proc/sys/kernel/random/boot_id", id + "\n");
    (void)files.WriteAtomic("/proc/uptime", std::to_string(uptime_s) + ".00 1.00\n");
  }
  std::vector<std::string> Names() const override { return {"n1"}; }
  Result<HostPorts> At(std::string_view) override {
    if (!answers) return Fail(Code::kUnavailable, "it does not answer");
    return HostPorts{"n1", {clock, files, processes, http, random}, Origin::kRehearsed};
  }
  Origin origin() const override { return Origin::kRehearsed; }
  int Parallel() const override { return 1; }
};

struct PowerStage {
  FakeController controller;
  OneNode node;
  BmcActuator actuator;
  Order order;

  PowerStage() : actuator(Bmcs(), node, node.clock) {
    node.Boots("11111111-aaaa", 5000);
    order.action = {ActKind::kPowerCycle, NodeSubject("n1"), {}};
    order.intended_at = node.clock.Now();
    order.before = actuator.Before(order.action).value();
  }
  std::map<std::string, std::unique_ptr<Bmc>> Bmcs() {
    std::map<std::string, std::unique_ptr<Bmc>> bmcs;
    bmcs["n1"] = controller.Make();
    return bmcs;
  }
};

TEST(BmcActuator, AcceptedShowsNothingWhileTheHostRunsOn) {
  PowerStage stage;
  ASSERT_EQ(stage.actuator.Do(stage.order).did, Did::kAccepted);
  // It lies: it even names another reset, but the host has the boot id of before.
  stage.controller.last_reset = "2026-11-20T02:00:00Z";
  EXPECT_EQ(stage.actuator.Probe(stage.order).happened, Happened::kNo);
}

TEST(BmcActuator, AnotherBootIdShowsIt) {
  PowerStage stage;
  ASSERT_EQ(stage.actuator.Do(stage.order).did, Did::kAccepted);
  stage.node.answers = false;
  EXPECT_EQ(stage.actuator.Probe(stage.order).happened, Happened::kUnknown);
  stage.node.answers = true;
  stage.node.Boots("22222222-bbbb", 10);
  EXPECT_EQ(stage.actuator.Probe(stage.order).happened, Happened::kYes);
}

TEST(BmcActuator, ASilentHostIsJudgedByItsControllersResetTime) {
  PowerStage stage;
  stage.node.answers = false;
  stage.order.before = stage.actuator.Before(stage.order.action).value();
  EXPECT_FALSE(stage.order.before.contains("boot_id"));
  ASSERT_EQ(stage.actuator.Do(stage.order).did, Did::kAccepted);
  EXPECT_EQ(stage.actuator.Probe(stage.order).happened, Happened::kUnknown);
  stage.controller.last_reset = "2026-11-20T02:00:00Z";
  EXPECT_EQ(stage.actuator.Probe(stage.order).happened, Happened::kYes);
}

TEST(BmcActuator, AHostThatWasSilentAndRanAllTheTimeWasNotCycled) {
  PowerStage stage;
  stage.node.answers = false;
  stage.order.before = stage.actuator.Before(stage.order.action).value();
  stage.node.answers = true;
  EXPECT_EQ(stage.actuator.Probe(stage.order).happened, Happened::kNo);
  stage.node.clock.Advance(std::chrono::minutes(10));
  stage.node.Boots("11111111-aaaa", 60);
  EXPECT_EQ(stage.actuator.Probe(stage.order).happened, Happened::kYes);
}

TEST(BmcActuator, HalfACycleHasNotHappenedAndIsGivenAgain) {
  PowerStage stage;
  stage.node.answers = false;
  stage.controller.power = "Off";
  EXPECT_EQ(stage.actuator.Probe(stage.order).happened, Happened::kNo);
}

TEST(BmcActuator, WhatIsOffIsSwitchedOn) {
  PowerStage stage;
  stage.controller.power = "Off";
  ASSERT_EQ(stage.actuator.Do(stage.order).did, Did::kAccepted);
  EXPECT_THAT(stage.controller.http.requests().back().body, HasSubstr("\"On\""));
}

TEST(BmcActuator, AnOlderEngineAndAnUnknownNodeAreRefused) {
  PowerStage stage;
  stage.order.fence = 7;
  EXPECT_EQ(stage.actuator.Do(stage.order).did, Did::kAccepted);
  stage.order.fence = 6;
  EXPECT_EQ(stage.actuator.Do(stage.order).did, Did::kRefused);
  stage.order.action.on = NodeSubject("n2");
  EXPECT_EQ(stage.actuator.Do(stage.order).did, Did::kRefused);
}

TEST(BmcActuator, AControllerWithoutAStartTimeIsNotRestarted) {
  PowerStage stage;
  stage.order.action.kind = ActKind::kBmcReset;
  EXPECT_TRUE(stage.actuator.Before(stage.order.action).ok());
  stage.controller.http.Serves("https://bmc/redfish/v1/Managers/1", "{}");
  EXPECT_EQ(stage.actuator.Before(stage.order.action).error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace muster::bmc
