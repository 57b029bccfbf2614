#include "backend/lab/kubernetes/control_plane.h"

#include <gtest/gtest.h>

#include "backend/lab/kubernetes/kubelets_main.h"
#include "world/random.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::lab {
namespace {

std::string Stat(int pid, int began, const std::string& name = "(kube apiserver) x)") {
  std::string line = std::to_string(pid) + " (" + name + ") S";
  for (int field = 4; field < 22; ++field) line += " 0";
  return line + " " + std::to_string(began) + " 0 0\n";
}

struct Place {
  muster::testing::FakeClock clock;
  muster::testing::MemoryFiles files;
  muster::testing::ScriptedProcesses processes;
  muster::testing::ScriptedHttp http;
  SeededRandom random{1};
  World world{clock, files, processes, http, random};
  RecordedProcesses recorded{world, "/lab"};
};

TEST(RecordedProcesses, ARecordedProcessThatStillRunsIsFound) {
  Place place;
  ASSERT_TRUE(place.files.WriteAtomic("/lab/pid/etcd", Stat(77, 123)).ok());
  EXPECT_FALSE(place.recorded.Running("etcd").has_value());
  ASSERT_TRUE(place.files.WriteAtomic("/proc/77/stat", Stat(77, 123, "etcd")).ok());
  EXPECT_EQ(place.recorded.Running("etcd"), 77);
}

TEST(RecordedProcesses, APidThatIsSomebodyElsesByNowIsNotOurs) {
  Place place;
  ASSERT_TRUE(place.files.WriteAtomic("/lab/pid/etcd", Stat(77, 123)).ok());
  ASSERT_TRUE(place.files.WriteAtomic("/proc/77/stat", Stat(77, 999)).ok());
  EXPECT_FALSE(place.recorded.Running("etcd").has_value());
  EXPECT_TRUE(place.recorded.Stop("etcd", std::chrono::seconds(1)).ok());
  EXPECT_TRUE(place.processes.commands().empty()) << "nobody was sent a signal";
  EXPECT_FALSE(place.files.Stat("/lab/pid/etcd").ok());
}

TEST(RecordedProcesses, ARecordThatIsNoneNamesNobody) {
  Place place;
  for (const std::string text : {"", "77", "x (y) S 1", "1 (init) S 0 0", "-1 (a) S"}) {
    ASSERT_TRUE(place.files.WriteAtomic("/lab/pid/etcd", text).ok());
    EXPECT_FALSE(place.recorded.Running("etcd").has_value()) << text;
  }
}

TEST(RecordedProcesses, WhatRunsIsNotStartedAgain) {
  Place place;
  ASSERT_TRUE(place.files.WriteAtomic("/lab/pid/etcd", Stat(77, 123)).ok());
  ASSERT_TRUE(place.files.WriteAtomic("/proc/77/stat", Stat(77, 123)).ok());
  EXPECT_TRUE(place.recorded.Start({"etcd", {"etcd"}}).ok());
  EXPECT_TRUE(place.processes.commands().empty());
}

TEST(ControlPlane, EverythingIsOnLoopbackAndInItsFolder) {
  ControlPlaneSpec spec{"/lab", "/bin", "/muster", 6443, 2379};
  const auto processes = ControlPlaneProcesses(spec);
  ASSERT_EQ(processes.size(), 4u);
  EXPECT_EQ(processes.back().argv, (std::vector<std::string>{"/muster", "lab-kubelets", "/lab"}));
  for (const PlaneProcess& process : processes) {
    for (const std::string& word : process.argv) {
      if (word.find("://") == std::string::npos) continue;
      EXPECT_TRUE(word.find("127.0.0.1") != std::string::npos ||
                  word.find("kubernetes.default.svc") != std::string::npos)
          << word;
    }
  }
}

TEST(KubeletsSpec, IsReadAsItIsWritten) {
  const KubeletsSpec spec{33, 8, "restricted", true, std::chrono::milliseconds(750)};
  const auto read = ParseKubeletsSpec(FormatKubeletsSpec(spec));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(FormatKubeletsSpec(*read), FormatKubeletsSpec(spec));
  EXPECT_EQ(read->dns_delay, spec.dns_delay);
  for (const char* text : {"", "1 2 3", "0 8 none play 0", "4 99 none play 0", "4 x none play 0",
                           "4 8 none play", "4 8 none play soon", "4 8 none play -1"})
    EXPECT_FALSE(ParseKubeletsSpec(text).ok()) << text;
  const auto nodes = NodesOf(spec);
  ASSERT_EQ(nodes.size(), 33u);
  EXPECT_EQ(nodes[32].labels.at("muster.dev/leaf"), "leaf04");
  EXPECT_EQ(nodes[32].labels.at("muster.dev/spine"), "spine01");
}

}  // namespace
}  // namespace muster::lab
