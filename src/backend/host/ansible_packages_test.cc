// Packages through Ansible: what would be run, and what is believed of it. ansible-playbook is a
// stand-in here that pins by the hosts' own tools; tests/e2e/packages runs the real one.
#include "backend/host/ansible_packages.h"

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/host/host_actuator.h"
#include "backend/host/testing/played_hosts.h"
#include "backend/testing/honest_actuator.h"
#include "base/strings.h"

namespace muster::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(AnsiblePackages, HostsAreReadFromAnsiblesList) {
  // As ansible-core 2.14 prints it.
  EXPECT_THAT(ListedHosts("\nplaybook: own.yaml\n\n  play #1 (gpus): gpus\tTAGS: []\n"
                          "    pattern: ['gpus']\n    hosts (2):\n      n1\n      n2\n"
                          "\n  play #2 (all): all\tTAGS: []\n    pattern: ['all']\n"
                          "    hosts (1):\n      n1\n"),
              ElementsAre("n1", "n2"));
  EXPECT_THAT(ListedHosts("    pattern: ['all']\n    hosts (0):\n"), IsEmpty());
  EXPECT_THAT(ListedHosts(""), IsEmpty());
}

// This machine, with an ansible-playbook whose behaviour is a file beside it.
class Control final : public Processes {
 public:
  explicit Control(fs::path folder, PlayedHost& host) : folder_(std::move(folder)), host_(host) {
    fs::create_directories(folder_ / "bin");
    // Lists its host; otherwise hands what is wanted to the node's apt-get.
    WriteText(folder_ / "bin" / "ansible-playbook",
              fmt::format(R"sh(#!/bin/sh
echo "$@" >>{0}/asked
[ ! -e {0}/silent ] || {{ echo 'ERROR! no inventory was parsed' >&2; exit 1; }}
case "$*" in *--list-hosts*) printf '    hosts (1):\n      %s\n' "$(cat {0}/lists)"; exit 0;; esac
[ ! -e {0}/slow ] || sleep 3
[ ! -e {0}/fails ] || {{ echo 'fatal: [n1]: FAILED!'; exit 2; }}
cat >{0}/playbook
MUSTER_STANDIN={1} exec python3 {2}/tests/host_tools/standin.py apt-get install cuda-drivers-570=570.211.01-1
)sh",
                          folder_.string(), host_.Folder().string(), MUSTER_SOURCE_DIR));
    fs::permissions(folder_ / "bin" / "ansible-playbook", fs::perms::owner_all);
    WriteText(folder_ / "lists", "n1");
  }
  Result<CommandResult> Run(const Command& command) override {
    Command here = command;
    here.env["PATH"] = (folder_ / "bin").string() + ":/usr/bin:/bin";
    return posix_.Run(here);
  }
  Result<std::unique_ptr<Child>> Start(const Command&, const std::string&) override {
    return Fail(Code::kInternal, "nothing is started here");
  }
  void Set(const std::string& name, const std::string& text = "") {
    WriteText(folder_ / name, text);
  }
  std::string Text(const std::string& name) const {
    return muster::testing::ReadWhole((folder_ / name).string()).value_or("");
  }

 private:
  fs::path folder_;
  PlayedHost& host_;
  PosixProcesses posix_;
};

class AnsiblePackagesTest : public ::testing::Test {
 protected:
  PlayedHost& N1() { return hosts_.Host("n1"); }
  std::shared_ptr<AnsiblePackages> Through(Processes& processes) {
    AnsibleOptions options;
    options.target = {"hosts.ini", ""};
    options.own_playbook = "- hosts: all\n";
    options.folder = (N1().Folder() / "..").string();
    options.state_folder = (N1().Folder() / "here").string();
    return std::make_shared<AnsiblePackages>(processes, std::move(options));
  }
  HostActuator Make(Processes& processes, int wait_s = 20) {
    return {site_, hosts_, {.keeps_holds = true, .wait_s = wait_s, .ansible = Through(processes)}};
  }
  Order Ready(HostActuator& actuator) {
    Order order;
    order.action = {ActKind::kPackages, NodeSubject("n1"), {{"driver", "570.211.01"}}};
    order.run = "run-a";
    order.token = fmt::format("run-a/{}", ++orders_);
    order.fence = 10;
    order.timeout = std::chrono::minutes(1);
    return muster::testing::Prepared(actuator, std::move(order));
  }
  bool Installed() { return N1().State()["packages"]["cuda-drivers-570"] == "570.211.01-1"; }

  PlayedHosts hosts_{MUSTER_SOURCE_DIR};
  Site site_ = TwoNodes();
  Control control_{N1().Folder() / "control", N1()};
  int orders_ = 0;
};

TEST_F(AnsiblePackagesTest, APlaybookPinsAndTheHostIsAskedWhetherItDid) {
  HostActuator actuator = Make(control_);
  const Order order = Ready(actuator);
  EXPECT_THAT(actuator.Render(order.action),
              ::testing::Contains(HasSubstr("ansible-playbook -i hosts.ini --limit n1 -e "
                                            "{\"muster_packages\":[{\"name\":\"cuda-drivers-570\","
                                            "\"version\":\"570.211.01-1\"}]} /dev/stdin")));
  EXPECT_EQ(actuator.Probe(order).happened, Happened::kNo);
  ASSERT_EQ(actuator.Do(order).did, Did::kAccepted);
  EXPECT_EQ(actuator.Probe(order).happened, Happened::kYes);
  EXPECT_EQ(control_.Text("playbook"), "- hosts: all\n");
  // The host itself was asked for nothing but its hold and its packages.
  EXPECT_THAT(N1().Asked(), ::testing::Not(HasSubstr("apt-mark")));
  // An older engine is shut out on the host, by whatever way it would act.
  HostActuator plain(site_, hosts_);
  Order older = order;
  older.fence = 9;
  EXPECT_THAT(plain.Do(older).detail, HasSubstr("fence 9 is older than 10"));
}

TEST_F(AnsiblePackagesTest, APlaybookThatFailsOrLiesIsNoInstallation) {
  HostActuator actuator = Make(control_);
  const Order order = Ready(actuator);
  control_.Set("fails");
  const DidResult did = actuator.Do(order);
  EXPECT_EQ(did.did, Did::kFailed);
  EXPECT_THAT(did.detail, HasSubstr("fatal: [n1]: FAILED!"));
  EXPECT_EQ(actuator.Probe(order).happened, Happened::kNo);
}

TEST_F(AnsiblePackagesTest, WhileItIsUnderWayNobodyKnows) {
  HostActuator actuator = Make(control_, 1);
  const Order order = Ready(actuator);
  control_.Set("slow");
  EXPECT_THAT(actuator.Do(order).detail, HasSubstr("not ended yet"));
  EXPECT_EQ(actuator.Probe(order).happened, Happened::kUnknown);
  // Another engine gives the same order: it waits for the first, and runs nothing.
  EXPECT_EQ(Make(control_, 1).Do(order).did, Did::kAccepted);
  for (int i = 0; i < 500 && actuator.Probe(order).happened != Happened::kYes; ++i) continue;
  EXPECT_EQ(actuator.Probe(order).happened, Happened::kYes);
  EXPECT_EQ(Lines(control_.Text("asked")).size(), 4u);  // listed three times, run once
}

TEST_F(AnsiblePackagesTest, WithoutAnsibleOrWithAnotherHostNothingIsBegun) {
  HostActuator actuator = Make(control_);
  const Order order = Ready(actuator);
  const auto refused = [&](const std::string& why) {
    EXPECT_THAT(actuator.Before(order.action).error().ToString(), HasSubstr(why));
    const DidResult did = actuator.Do(order);
    EXPECT_EQ(did.did, Did::kRefused);
    EXPECT_THAT(did.detail, HasSubstr(why));
    EXPECT_FALSE(Installed());
  };
  control_.Set("lists", "n1\n      n2");
  refused("means n1, n2 by n1");
  control_.Set("silent");
  refused("no inventory was parsed");
  PosixProcesses bare;
  site_.cluster.nodes[0].name = "all:!n2";
  EXPECT_THAT(Through(bare)->Ready("all:!n2").error().message, HasSubstr("takes for one host"));
}

TEST_F(AnsiblePackagesTest, WhoeverFailsAtTheNthCallNeverInventsASuccess) {
  muster::testing::NeverInventsASuccess(20, [&](FaultPlan& plan) {
    HostActuator whole = Make(control_);
    Json state = N1().State();
    state["packages"]["cuda-drivers-570"] = "570.100-1";
    N1().Set(state);
    const Order order = Ready(whole);
    FaultyProcesses faulty(control_, plan);
    HostActuator actuator = Make(faulty);
    const DidResult did = actuator.Do(order);
    const ProbeResult probe = actuator.Probe(order);
    return muster::testing::Told{did, probe, Installed()};
  });
}

}  // namespace
}  // namespace muster::host
