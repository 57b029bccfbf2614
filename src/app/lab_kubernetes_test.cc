// Bringing a lab up and down as far as its own folder and processes go; tests/e2e/kubernetes_sched
// brings a real control plane up and down.
#include "app/lab_kubernetes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world/random.h"
#include "world/testing/fake_clock.h"
#include "world/testing/faulty.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string StatOf(int pid) {
  std::string line = fmt::format("{} (part) S", pid);
  for (int field = 4; field < 22; ++field) line += " 0";
  return line + " 123 0 0\n";
}

// A machine on which the parts start, and stay or end at once; the API server never answers.
struct LabMachine {
  LabMachine() {
    for (const char* name : {"etcd", "kube-apiserver", "kube-controller-manager"})
      files.Put(std::string("/bin/") + name, "");
    processes.Otherwise([this](const Command& command) { return Ran(command); });
  }
  CommandResult Ran(const Command& command) {
    const auto& argv = command.argv;
    if (argv[0] == "openssl" && argv[1] == "rsa") files.Put(argv.back(), "key");
    if (argv[0] != "sh") return {};
    if (argv.size() > 6 && argv[4] == "muster-lab") {  // a part: its log, its record, its words
      files.Put(argv[6], StatOf(++pid));
      if (stays) files.Put(fmt::format("/proc/{}/stat", pid), StatOf(pid));
      started.push_back(argv[6].substr(argv[6].rfind('/') + 1));
    } else if (argv.size() == 5) {  // a signal and whose it is
      EXPECT_TRUE(files.Remove("/proc/" + argv[4] + "/stat").ok());
    }
    return {};
  }
  Result<LabKubernetes> Up(World in) {
    LabKubernetesOptions options;
    options.folder = "/lab", options.binaries = "/bin", options.self_binary = "/muster";
    return LabKubernetesUp(in, options, [](const std::string&) {});
  }
  Result<LabKubernetes> Up() { return Up(world); }

  testing::FakeClock clock;
  testing::MemoryFiles files{&clock};
  testing::ScriptedProcesses processes;
  testing::ScriptedHttp http;
  SeededRandom random{1};
  World world{clock, files, processes, http, random};
  bool stays = true;
  int pid = 100;
  std::vector<std::string> started;
};

TEST(LabKubernetesUp, WithoutTheBinariesNothingIsMade) {
  LabMachine machine;
  ASSERT_TRUE(machine.files.Remove("/bin/etcd").ok());
  const auto before = machine.files.Paths();
  const auto up = machine.Up();
  ASSERT_FALSE(up.ok());
  EXPECT_EQ(up.error().code, Code::kNotFound);
  EXPECT_THAT(up.error().message, HasSubstr("tests/kubernetes/build.sh"));
  EXPECT_EQ(machine.files.Paths(), before);
}

TEST(LabKubernetesUp, AFolderOfSomebodyElseIsLeftAlone) {
  LabMachine machine;
  machine.files.Put("/lab/thesis.tex", "years of work");
  const auto before = machine.files.Paths();
  const auto up = machine.Up();
  ASSERT_FALSE(up.ok());
  EXPECT_EQ(up.error().code, Code::kInvalid);
  EXPECT_EQ(machine.files.Paths(), before);
  EXPECT_EQ(LabKubernetesDown(machine.world, "/lab", true).error().code, Code::kNotFound);
  EXPECT_EQ(machine.files.Paths(), before);
}

TEST(LabKubernetesUp, AServerThatNeverAnswersIsWaitedForAndNotForEver) {
  LabMachine machine;
  const auto up = machine.Up();
  ASSERT_FALSE(up.ok());
  EXPECT_EQ(up.error().code, Code::kTimeout);
  EXPECT_THAT(up.error().message, HasSubstr("the API server is not ready"));
  EXPECT_THAT(machine.started, ElementsAre("etcd", "apiserver"));
  EXPECT_GE(machine.clock.Monotonic(), std::chrono::minutes(2));
  // What runs is not started again.
  EXPECT_EQ(machine.Up().error().code, Code::kTimeout);
  EXPECT_THAT(machine.started, ElementsAre("etcd", "apiserver"));
}

TEST(LabKubernetesUp, APartThatEndsIsToldWithTheEndOfItsLog) {
  LabMachine machine;
  machine.stays = false;
  machine.files.Put("/lab/muster-lab-kubernetes", "");
  machine.files.Put("/lab/log/apiserver.log", "bind: address already in use\n");
  const auto up = machine.Up();
  ASSERT_FALSE(up.ok());
  EXPECT_EQ(up.error().code, Code::kInternal);
  EXPECT_THAT(up.error().message, HasSubstr("apiserver ended: bind: address already in use"));
}

// Wherever it was killed, the folder is known as ours, and up again goes on as far as it can here.
TEST(LabKubernetesUp, KilledAtEveryCallItIsFinishedByTheNext) {
  int at = 1;
  for (bool reached = true; reached && at < 200; ++at) {
    LabMachine machine;
    testing::FaultPlan plan(testing::FaultKind::kFail, at, true);
    testing::FaultyFiles files(machine.files, plan);
    testing::FaultyProcesses processes(machine.processes, plan);
    const auto killed =
        machine.Up(World{machine.clock, files, processes, machine.http, machine.random});
    ASSERT_FALSE(killed.ok());
    reached = plan.reached() && killed.error().code != Code::kTimeout;
    const auto next = machine.Up();
    ASSERT_FALSE(next.ok());
    EXPECT_EQ(next.error().code, Code::kTimeout) << at << ": " << next.error().ToString();
    EXPECT_THAT(machine.files.Paths(), Contains("/lab/pki/tokens.csv"));
  }
  EXPECT_GT(at, 15) << "so many calls there are at least";
}

TEST(LabKubernetesUp, TokensAreNotWrittenWhereTheFolderCannotBeClosed) {
  LabMachine machine;
  CommandResult refused;
  refused.exit_code = 1, refused.err = "Operation not permitted";
  machine.processes.On("chmod 700 /lab /lab/pki", refused);
  const auto up = machine.Up();
  ASSERT_FALSE(up.ok());
  EXPECT_THAT(up.error().message, HasSubstr("Operation not permitted"));
  for (const std::string& path : machine.files.Paths())
    EXPECT_EQ(path.find("token"), std::string::npos) << path;
}

TEST(LabKubernetesDown, EndsWhatUpStartedLastFirst) {
  LabMachine machine;
  EXPECT_FALSE(machine.Up().ok());
  const auto ended = LabKubernetesDown(machine.world, "/lab", false);
  ASSERT_TRUE(ended.ok()) << ended.error().ToString();
  EXPECT_THAT(*ended, ElementsAre("apiserver", "etcd"));
  EXPECT_THAT(LabKubernetesDown(machine.world, "/lab", false).value(), ElementsAre());
  EXPECT_TRUE(machine.files.Stat("/lab/kubeconfig").ok()) << "the next up finds its clients";
  ASSERT_TRUE(LabKubernetesDown(machine.world, "/lab", true).ok());
  EXPECT_FALSE(machine.files.Stat("/lab/kubeconfig").ok());
}

}  // namespace
}  // namespace muster
