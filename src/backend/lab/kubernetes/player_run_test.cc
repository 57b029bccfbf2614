#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/lab/kubernetes/pod_shell.h"
#include "backend/lab/kubernetes/testing/player_stage.h"

namespace muster::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct RunStage : PlayerStage {
  DnsZone zone{{std::chrono::milliseconds(500), Duration::zero()}};

  RunStage() { Begin({}); }
  void Begin(PodShell shell) {
    PlayerOptions options;
    options.nodes.emplace_back();
    options.nodes.back().name = "n0";
    options.run_commands = true;
    options.log_folder = "/logs";
    options.shell = std::move(shell);
    options.zone = &zone;
    options.files = &place.files;
    PlayerStage::Begin(std::move(options));
  }
  void Pod(const std::string& spec, const std::string& status = R"("phase":"Pending")") {
    place.api.Put(kube::kPods, "t", "p",
                  R"("metadata":{"annotations":{"muster.dev/run":"true"},"labels":{"a":"b"}},)"
                  R"("spec":{"nodeName":"n0",)" +
                      spec + R"(},"status":{)" + status + "}");
  }
  // The program of a container, and how its runs end; the last end again and again.
  void Ends(const std::string& line, const std::vector<int>& codes) {
    for (const int code : codes) {
      CommandResult result;
      result.exit_code = code;
      place.processes.On(line, result);
    }
  }
  std::string Json() {
    const auto body = place.client.Ask(kube::Get(kube::kPods, "t", "p"));
    return body.ok() ? *body : "";
  }
  std::string At(const char* pointer) { return kube::ValueAt(Json(), pointer).value_or(""); }
  bool Becomes(const char* pointer, const std::string& value) {
    return PlayerStage::Becomes([&] { return At(pointer) == value; }, 3000);
  }
};

constexpr const char* kPhase = "/status/phase";
constexpr const char* kRestarts = "/status/containerStatuses/0/restartCount";

TEST(PodsThatRun, AreRestartedOnFailureUntilTheySucceed) {
  RunStage stage;
  stage.Ends("train", {3, 3, 0});
  stage.Pod(R"("restartPolicy":"OnFailure","containers":[{"name":"c","command":["train"]}])");
  ASSERT_TRUE(stage.Becomes(kPhase, "Succeeded")) << stage.Json();
  EXPECT_EQ(stage.At(kRestarts), "2");
  EXPECT_EQ(stage.At("/status/containerStatuses/0/lastState/terminated/exitCode"), "3");
  EXPECT_EQ(stage.player->stats().restarts, 2u);
}

TEST(PodsThatRun, WaitLongerAndLongerBetweenRestarts) {
  RunStage stage;
  stage.Ends("train", {1});
  stage.Pod(R"("restartPolicy":"Always","containers":[{"name":"c","command":["train"]}])");
  std::vector<int64_t> pauses_s;
  for (const char* restarts : {"2", "3", "4"}) {
    ASSERT_TRUE(stage.Becomes(kRestarts, restarts)) << stage.Json();
    EXPECT_EQ(stage.At("/status/containerStatuses/0/state/waiting/reason"), "CrashLoopBackOff");
    EXPECT_EQ(stage.At(kPhase), "Running") << "a pod that restarts keeps its phase";
    const size_t runs = stage.place.processes.commands().size();
    const Duration since = stage.place.clock.Monotonic();
    ASSERT_TRUE(stage.place.Until([&] { return stage.place.processes.commands().size() > runs; }));
    pauses_s.push_back(
        std::chrono::duration_cast<std::chrono::seconds>(stage.place.clock.Monotonic() - since)
            .count());
  }
  EXPECT_GE(pauses_s[0], 8);
  EXPECT_GE(pauses_s[1], 18);
  EXPECT_GE(pauses_s[2], 36);
  EXPECT_LE(pauses_s[2], 60);
}

TEST(PodsThatRun, AlwaysMeansAlsoAfterAGoodEnd) {
  RunStage stage;
  stage.Ends("serve", {0});
  stage.Pod(R"("restartPolicy":"Always","containers":[{"name":"c","command":["serve"]}])");
  ASSERT_TRUE(stage.Becomes(kRestarts, "2")) << stage.Json();
}

TEST(PodsThatRun, NeverMeansNever) {
  RunStage stage;
  stage.Ends("train", {7, 0});
  stage.Pod(R"("restartPolicy":"Never","containers":[{"name":"c","command":["train"]}])");
  ASSERT_TRUE(stage.Becomes(kPhase, "Failed"));
  EXPECT_EQ(stage.At("/status/containerStatuses/0/state/terminated/exitCode"), "7");
  EXPECT_EQ(stage.place.processes.commands().size(), 1u);
}

TEST(PodsThatRun, InitContainersGoFirstOneAfterTheOther) {
  RunStage stage;
  stage.Ends("fetch", {1, 0});
  stage.Ends("unpack", {0});
  stage.Ends("train", {0});
  stage.Pod(
      R"("restartPolicy":"OnFailure","initContainers":[{"name":"i0","command":["fetch"]},)"
      R"({"name":"side","command":["proxy"],"restartPolicy":"Always"},)"
      R"({"name":"i1","command":["unpack"]}],"containers":[{"name":"c","command":["train"]}])");
  ASSERT_TRUE(stage.Becomes(kPhase, "Succeeded")) << stage.Json();
  EXPECT_THAT(stage.place.processes.asked(), ElementsAre("fetch", "fetch", "unpack", "train"));
  EXPECT_EQ(stage.At("/status/initContainerStatuses/2/state/terminated/reason"), "Completed");
}

TEST(PodsThatRun, AnInitContainerThatFailsFailsAPodThatIsNeverRestarted) {
  RunStage stage;
  stage.Ends("fetch", {4});
  stage.Pod(R"("restartPolicy":"Never","initContainers":[{"name":"i0","command":["fetch"]}],)"
            R"("containers":[{"name":"c","command":["train"]}])");
  ASSERT_TRUE(stage.Becomes(kPhase, "Failed"));
  EXPECT_EQ(stage.At("/status/initContainerStatuses/0/state/terminated/exitCode"), "4");
  EXPECT_EQ(stage.At("/status/containerStatuses/0/state/waiting/reason"), "PodInitializing");
  EXPECT_THAT(stage.place.processes.asked(), ElementsAre("fetch"));
}

TEST(PodsThatRun, WritesThatFailLoseNoEnd) {
  RunStage stage;
  SeededRandom chance(11);
  stage.place.api.fault = [&](const kube::Exchange& exchange) {
    kube::testing::Fault fault;
    if (exchange.method != "PATCH" || chance.Below(3) == 0) return fault;
    fault.kind = chance.Below(2) == 0 ? kube::testing::Fault::Kind::kBreak
                                      : kube::testing::Fault::Kind::kRefuse;
    fault.status = 500;
    return fault;
  };
  stage.Ends("fetch", {1, 0});
  stage.Ends("train", {1, 1, 0});
  stage.Pod(R"("restartPolicy":"OnFailure","initContainers":[{"name":"i0","command":["fetch"]}],)"
            R"("containers":[{"name":"c","command":["train"]}])");
  ASSERT_TRUE(stage.Becomes(kPhase, "Succeeded")) << stage.Json();
  EXPECT_EQ(stage.At(kRestarts), "2");
}

TEST(PodsThatRun, SeeTheirOwnNamesAndAddress) {
  RunStage stage;
  PodShell shell;
  shell.enter = {"unshare", "--mount"};
  shell.nameserver = "127.77.0.10";
  shell.net = "127.77";
  stage.player.reset();
  stage.Begin(shell);
  stage.place.processes.Otherwise([](const Command&) { return CommandResult{}; });
  stage.place.api.Put(kube::kServices, "t", "ddp",
                      R"("spec":{"clusterIP":"None","selector":{"a":"b"}})");
  stage.Pod(R"json("restartPolicy":"Never","hostname":"ddp-0","subdomain":"ddp",)json"
            R"json("containers":[{"name":"c","command":["train","--at=$(HOSTNAME)"]}])json");
  ASSERT_TRUE(stage.Becomes(kPhase, "Succeeded")) << stage.Json();
  const Command command = stage.place.processes.commands().at(0);
  EXPECT_EQ(command.argv.front(), "unshare");
  EXPECT_EQ(command.argv.back(), "--at=ddp-0");
  EXPECT_THAT(stage.At("/status/podIP"), HasSubstr("127.77."));
  EXPECT_THAT(command.argv, ::testing::Contains(HasSubstr("ddp-0.ddp.t.svc.cluster.local\tddp-0")));
  EXPECT_THAT(command.argv, ::testing::Contains(HasSubstr("nameserver 127.77.0.10")));
}

TEST(PodsThatRun, AreNamedAMomentAfterTheyAreReady) {
  RunStage stage;
  stage.place.api.Put(kube::kServices, "t", "ddp",
                      R"("spec":{"clusterIP":"None","selector":{"a":"b"}})");
  stage.place.api.Put(
      kube::kPods, "t", "p",
      R"("metadata":{"labels":{"a":"b"}},"spec":{"nodeName":"n0","hostname":"ddp-0","subdomain":"ddp",)"
      R"("containers":[{"name":"c"}]},"status":{"phase":"Pending"})");
  const std::string name = "ddp-0.ddp.t.svc.cluster.local";
  ASSERT_TRUE(stage.place.Until([&] { return stage.zone.PublishedAt(name).has_value(); }));
  const Duration at = *stage.zone.PublishedAt(name);
  EXPECT_FALSE(stage.zone.Find(name, at - std::chrono::milliseconds(1)).exists);
  EXPECT_TRUE(stage.zone.Find(name, at).exists);
}

TEST(PodsThatRun, ThatCannotBecomeTheirCommandSayWhy) {
  RunStage stage;
  PodShell shell;
  shell.enter = {"unshare"};
  stage.player.reset();
  stage.Begin(shell);
  CommandResult result;
  result.exit_code = 128;
  stage.place.processes.Otherwise([&](const Command& command) {
    // The folder is the word after the script's name.
    const auto at = std::find(command.argv.begin(), command.argv.end(), "muster-pod");
    EXPECT_TRUE(
        stage.place.files.WriteAtomic(*(at + 1) + "/start-error", "no such program\n").ok());
    return result;
  });
  stage.Pod(R"("restartPolicy":"Always","containers":[{"name":"c","command":["nope"]}])");
  ASSERT_TRUE(stage.Becomes(kPhase, "Failed")) << stage.Json();
  EXPECT_EQ(stage.At("/status/containerStatuses/0/state/terminated/reason"), "StartError");
  EXPECT_EQ(stage.At("/status/message"), "no such program");
}

TEST(PodsThatRun, ThatLostTheirPlayerAreRestartedByTheNext) {
  RunStage stage;
  stage.Ends("train", {0});
  const std::string status =
      R"("phase":"Running","podIP":"127.64.1.1","startTime":"2026-11-20T00:00:00Z")";
  stage.Pod(R"("restartPolicy":"OnFailure","containers":[{"name":"c","command":["train"]}])",
            status);
  ASSERT_TRUE(stage.Becomes(kPhase, "Succeeded")) << stage.Json();
  EXPECT_EQ(stage.At(kRestarts), "1");
}

TEST(WaysIntoAPod, TheStrongestThatTheMachineAllowsIsTaken) {
  muster::testing::ScriptedProcesses processes;
  std::vector<std::string> notes;
  const auto note = [&](const std::string& text) { notes.push_back(text); };
  EXPECT_TRUE(FindWayIn(processes, note).empty());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("no mount namespaces")));
  notes.clear();
  processes.Prints("setpriv --pdeathsig KILL unshare --mount --uts --map-root-user true", "");
  EXPECT_THAT(FindWayIn(processes, note), ::testing::Contains("--map-root-user"));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("no process namespaces")));
  notes.clear();
  processes.Otherwise([](const Command&) { return CommandResult{}; });
  EXPECT_THAT(FindWayIn(processes, note), ::testing::Contains("--pid"));
  EXPECT_TRUE(notes.empty());
}

}  // namespace
}  // namespace muster::lab
