#include "app/init.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/testing/lab_site.h"

namespace muster {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LabSite;
using ::testing::Not;
using testing::TestMachine;

constexpr const char* kOut = "/new/site.yaml";

Result<std::vector<std::string>> Host(TestMachine& machine, std::vector<std::string> addresses,
                                      bool look = false, std::string name = "hall",
                                      bool force = false) {
  World world = machine.world();
  SilentProgress progress;
  return InitHost(world, kOut, name, addresses, look, force, progress);
}
Site Written(TestMachine& machine) { return ReadSiteFile(machine.files, kOut).value().site; }

TEST(InitHost, EveryHostGetsItsNameAndIsReachedAsItWasGiven) {
  TestMachine machine;
  ASSERT_TRUE(Host(machine, {"ops@gpu-01.example:22", "10.0.0.7", "[fd00::1]:22", "fd00::2"}).ok());
  const Site site = Written(machine);
  ASSERT_EQ(site.cluster.nodes.size(), 4u);
  EXPECT_EQ(site.cluster.nodes[0].name, "gpu-01");
  EXPECT_EQ(site.cluster.nodes[0].address, "ops@gpu-01.example:22");
  EXPECT_EQ(site.cluster.nodes[1].name, "host-1");
  EXPECT_EQ(site.cluster.nodes[2].name, "host-2");
  EXPECT_EQ(site.cluster.nodes[3].name, "host-3");
  EXPECT_EQ(site.cluster.nodes[3].address, "fd00::2");
}

TEST(InitHost, TwoHostsOfOneNameAreRefusedAndNothingIsWritten) {
  for (const auto& addresses : {std::vector<std::string>{"gpu-01.a", "gpu-01.b"},
                                std::vector<std::string>{"gpu-01", "ops@gpu-01"},
                                std::vector<std::string>{"gpu-01", "gpu-01"}}) {
    TestMachine machine;
    const auto made = Host(machine, addresses);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, Code::kInvalid);
    EXPECT_THAT(made.error().message, HasSubstr(addresses[1]));
    EXPECT_THAT(machine.files.Paths(), IsEmpty());
  }
}

TEST(InitHost, FileThatWouldNotBeReadBackIsNotWritten) {
  TestMachine machine;
  for (const auto& made : {Host(machine, {"fabric"}), Host(machine, {"gpu-01"}, false, "CHANGE_ME"),
                           Host(machine, {"<gpu>"})}) {
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, Code::kInvalid);
  }
  EXPECT_THAT(machine.files.Paths(), IsEmpty());
}

TEST(InitHost, FileOfAPersonIsNotOverwrittenWithoutForce) {
  TestMachine machine;
  machine.files.Put(kOut, "mine");
  EXPECT_EQ(Host(machine, {"gpu-01"}).error().code, Code::kConflict);
  EXPECT_EQ(machine.files.Read(kOut).value(), "mine");
  EXPECT_TRUE(Host(machine, {"gpu-01"}, false, "hall", true).ok());
  EXPECT_EQ(Written(machine).name, "hall");
}

TEST(InitHost, LookFillsTheFileWithWhatIsThere) {
  LabSite lab;
  auto context = lab.Open();
  ASSERT_TRUE(context.ok());
  TestMachine machine;
  machine.processes.Otherwise([&](const Command& command) {
    return context->hosts->At("node000")->world.processes.Run(command);
  });
  const auto notes = Host(machine, {"localhost"}, true);
  ASSERT_TRUE(notes.ok()) << notes.error().ToString();
  const Site site = Written(machine);
  ASSERT_EQ(site.cluster.nodes.size(), 1u);
  EXPECT_EQ(site.cluster.nodes[0].gpus.size(), 2u);
  EXPECT_EQ(site.cluster.nodes[0].gpus[0].model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(site.cluster.nodes[0].nics.size(), 2u);
  EXPECT_EQ(site.cluster.nodes[0].nics[0].rate_gbit_per_s, 400);
  EXPECT_FALSE(site.driver_version.empty());
  EXPECT_THAT(*notes, IsEmpty());
}

TEST(InitHost, WhatCouldNotBeSeenIsSaid) {
  TestMachine machine;  // no program is there
  const auto notes = Host(machine, {"localhost"}, true);
  ASSERT_TRUE(notes.ok());
  EXPECT_THAT(*notes, Contains(HasSubstr("did not answer")));
  EXPECT_THAT(*notes, Contains(HasSubstr("no GPU was seen")));
  EXPECT_THAT(Written(machine).cluster.nodes[0].gpus, IsEmpty());
}

TEST(InitLab, LabIsOpenedAndItsGatesCanBeLookedAt) {
  LabSite lab;
  ASSERT_EQ(lab.problem, "");
  EXPECT_TRUE(lab.Open().ok());
  EXPECT_TRUE(lab.files.Stat("/site/lab/facility/signoff.json").ok());
}

TEST(InitLab, SpecThatDescribesNothingLeavesNothingBehind) {
  TestMachine machine;
  World world = machine.world();
  for (const char* spec : {"gpus=0", "rails=0,leaves=2,spines=2"}) {
    const auto made = InitLab(world, kOut, "lab", ParseClusterSpec(spec).value(), 1, false);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, Code::kInvalid);
  }
  EXPECT_EQ(InitLab(world, kOut, "<name>", ClusterSpec{}, 1, false).error().code, Code::kInvalid);
  EXPECT_THAT(machine.files.Paths(), IsEmpty());
}

TEST(InitLab, SiteFileIsWrittenLastSoThatWhatIsThereCanBeOpened) {
  for (int call = 1;; ++call) {
    ASSERT_LT(call, 200);
    TestMachine machine;
    testing::FaultPlan plan(testing::FaultKind::kFail, call);
    testing::FaultyFiles failing(machine.files, plan);
    World world = machine.world(failing);
    const auto made =
        InitLab(world, kOut, "lab", ParseClusterSpec(testing::kTestSpec).value(), 1, false);
    if (!plan.reached()) {
      EXPECT_TRUE(made.ok());
      break;
    }
    const bool there = machine.files.Stat(kOut).ok();
    EXPECT_EQ(there, made.ok()) << "call " << call;
    EXPECT_EQ(OpenSite(kOut, machine.world(), {"", true}).ok(), there) << "call " << call;
  }
}

}  // namespace
}  // namespace muster
