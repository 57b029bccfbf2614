// The scheduler as a service, against the API server in memory, and who may take whose lease.
#include "app/sched_serve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/testing/gang_cluster.h"
#include "kube/object.h"
#include "kube/testing/forbids.h"
#include "world/testing/scripted_http.h"

namespace muster {
namespace {

using testing::GangCluster;
using ::testing::HasSubstr;

// "stat" of a process: the 22nd field is when it began.
std::string StatOf(int pid, int began, char state = 'S') {
  return fmt::format("{} (a ) name) {} 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 {} 0 0\n", pid, state,
                     began);
}

struct Machine {
  Machine() : world{place().clock, place().files, place().processes, http, place().random} {
    Says("/proc/sys/kernel/hostname", "host-a\n");
    Says("/proc/sys/kernel/random/boot_id", "boot-1\n");
    Says("/proc/1/stat", StatOf(1, 1));
    Says("/proc/self/stat", StatOf(70, 700));
  }
  kube::testing::FakePlace& place() { return cluster.place; }
  void Says(const std::string& path, const std::string& text) { place().files.Put(path, text); }
  std::string HolderWith(const std::string& process) {
    const std::string own = SchedulerIdentity(world);
    const size_t at = own.find("70,700");
    return own.substr(0, at) + process + own.substr(at + 6);
  }
  Result<SchedServed> Once() {
    SchedServeOptions options;
    options.once = true;
    int turns = 0;
    return ServeSchedule(
        world, place().client, options, [&] { return ++turns > 3000; },
        [this](const std::string& note) { notes += note + "\n"; });
  }
  std::string LeaseHolder() {
    const auto body =
        place().client.Ask(kube::Get(kube::kLeases, "kube-system", "muster-scheduler"));
    return body.ok() ? kube::ValueAt(*body, "/spec/holderIdentity").value_or("") : "no lease";
  }
  void Lease(const std::string& holder) {
    place().api.Put(
        kube::kLeases, "kube-system", "muster-scheduler",
        fmt::format(R"("spec":{{"holderIdentity":"{}","leaseDurationSeconds":3000,)"
                    R"("renewTime":"2026-01-01T00:00:00.000000Z","leaseTransitions":4}})",
                    holder));
  }

  GangCluster cluster;
  testing::ScriptedHttp http;
  World world;
  std::string notes;
};

TEST(SchedServe, OncePlacesWhatIsThereAndGivesTheLeaseBack) {
  Machine machine;
  machine.cluster.Gang("ml", "a", 2, 8);
  machine.cluster.Gang("ml", "large", 3, 8);
  const auto served = machine.Once();
  ASSERT_TRUE(served.ok()) << served.error().ToString();
  EXPECT_EQ(served->bound, 2u);
  EXPECT_EQ(served->gangs_placed, 1u);
  EXPECT_EQ(served->waiting, 1) << "no cluster of two nodes could hold the other";
  EXPECT_EQ(machine.LeaseHolder(), "");
  EXPECT_THAT(machine.notes, HasSubstr("serving as host-a/boot-1,"));
}

TEST(SchedServe, WhatItCannotGoOnWithEndsItAndTheLeaseIsGivenBack) {
  Machine machine;
  machine.place().api.fault = kube::testing::Forbids("/pods");
  const auto served = machine.Once();
  ASSERT_FALSE(served.ok());
  EXPECT_EQ(served.error().code, Code::kPermission);
  EXPECT_EQ(machine.LeaseHolder(), "");
}

TEST(SchedServe, ALeaderOfThisMachineThatIsGoneIsFollowedAtOnce) {
  Machine machine;
  machine.Lease(machine.HolderWith("55,500"));
  const Duration began = machine.place().clock.Monotonic();
  ASSERT_TRUE(machine.Once().ok());
  EXPECT_LT(machine.place().clock.Monotonic() - began, std::chrono::seconds(60));
}

TEST(SchedServe, OneThatRunsIsWaitedFor) {
  Machine machine;
  machine.Says("/proc/55/stat", StatOf(55, 500));
  const std::string holder = machine.HolderWith("55,500");
  machine.Lease(holder);
  ASSERT_TRUE(machine.Once().ok()) << "until it is told to stop";
  EXPECT_EQ(machine.LeaseHolder(), holder);
}

TEST(HolderHasEnded, IsSaidOfProcessesThatCanBeSeenToBeGone) {
  Machine machine;
  machine.Says("/proc/55/stat", StatOf(55, 500));
  const auto ended = [&](const std::string& process) {
    return HolderHasEnded(machine.world, machine.HolderWith(process));
  };
  EXPECT_FALSE(ended("55,500"));
  EXPECT_TRUE(ended("55,499")) << "the pid is somebody else's by now";
  EXPECT_TRUE(ended("56,500"));
  machine.Says("/proc/55/stat", StatOf(55, 500, 'Z'));
  EXPECT_TRUE(ended("55,500")) << "it has ended and was not waited for";
  EXPECT_FALSE(ended("")) << "it does not say which process it is";
}

TEST(HolderHasEnded, IsNotSaidOfOthersMachinesAndBoots) {
  Machine machine;
  std::string other = machine.HolderWith("56,500");
  other.replace(other.find("boot-1"), 6, "boot-2");
  EXPECT_FALSE(HolderHasEnded(machine.world, other));
  for (const char* odd : {"", "a", "a/b/c", "a/b/c/d/e", "muster-0_5f0c"})
    EXPECT_FALSE(HolderHasEnded(machine.world, odd)) << odd;
}

TEST(HolderHasEnded, IsNotSaidWhereTheProcessesOfOthersAreHidden) {
  Machine machine;
  const std::string holder = machine.HolderWith("56,500");
  machine.Says("/proc/1/stat", "");
  EXPECT_FALSE(HolderHasEnded(machine.world, holder));
}

}  // namespace
}  // namespace muster
