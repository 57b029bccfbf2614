// The host backend without a network: scripts run by this machine's own sh, ssh played by a script.
// tests/e2e/sshd runs it against a real sshd.
#include <cstdlib>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "backend/host/host_jobs.h"
#include "backend/host/host_site.h"
#include "backend/host/remote_script.h"
#include "base/strings.h"
#include "world/posix/posix_world.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::host {
namespace {

using testing::FakeClock;
using testing::MemoryFiles;
using testing::ScriptedHttp;
using testing::ScriptedProcesses;

Node NodeOf(std::string name, std::string address = "") {
  Node node;
  node.name = std::move(name);
  node.address = std::move(address);
  return node;
}

Site SiteOf(std::vector<Node> nodes) {
  Site site;
  site.kind = SiteKind::kHost;
  site.cluster.nodes = std::move(nodes);
  return site;
}

// --- scripts, read by the real sh ---

CommandResult Sh(const std::string& script) {
  PosixProcesses processes;
  return *processes.Run({{"/bin/sh", "-c", script}});
}

TEST(CommandScriptTest, ArgumentsFolderAndEnvironmentArriveAsTheyAre) {
  Command command{{"/bin/sh", "-c", "printf '%s|' \"$@\"; printf '%s ' \"$WORD\"; pwd", "sh", "a b",
                   "it's", "$(id)", "`id`", "new\nline", "\"", "\\", "", "*", "!x"}};
  command.env["WORD"] = "v'al ue\n$HOME";
  command.folder = "/usr";
  const CommandResult result = Sh(*CommandScript(command, "mark", 10));
  EXPECT_EQ(result.out, "a b|it's|$(id)|`id`|new\nline|\"|\\||*|!x|v'al ue\n$HOME /usr\n");
  EXPECT_EQ(result.exit_code, 0);
}

RC_GTEST_PROP(CommandScriptProperty, AnyWordSurvivesTwoShells, ()) {
  auto word = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  std::erase(word, '\0');
  const std::string script = *CommandScript({{"printf", "%s", word}}, "mark", 0);
  RC_ASSERT(Sh(ShellLine(script)).out == word);
}

TEST(CommandScriptTest, EndingsAreToldApart) {
  CommandResult result = Sh(*CommandScript({{"sh", "-c", "exit 7"}}, "mark", 10));
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(TakeMarked(result.err, "mark", "exit"), std::nullopt);

  result = Sh(*CommandScript({{"sh", "-c", "echo said >&2; exit 255"}}, "mark", 10));
  EXPECT_EQ(result.exit_code, 255);
  EXPECT_TRUE(TakeMarked(result.err, "mark", "exit").has_value());
  EXPECT_EQ(result.err, "said\n");

  result = Sh(*CommandScript({{"no-such-program-here"}}, "mark", 10));
  EXPECT_EQ(result.exit_code, 255);
  EXPECT_TRUE(TakeMarked(result.err, "mark", "missing").has_value());

  result = Sh(*CommandScript({{"/etc/passwd"}}, "mark", 10));
  EXPECT_EQ(result.exit_code, 255);
  EXPECT_TRUE(TakeMarked(result.err, "mark", "forbidden").has_value());

  Command elsewhere{{"true"}};
  elsewhere.folder = "/no/such/folder";
  result = Sh(*CommandScript(elsewhere, "mark", 10));
  EXPECT_TRUE(TakeMarked(result.err, "mark", "folder").has_value());

  result = Sh(*CommandScript({{"sh", "-c", "kill -KILL $$"}}, "mark", 10));
  EXPECT_EQ(result.exit_code, 137);
}

TEST(CommandScriptTest, HostEndsTheProgramAtItsTime) {
  const CommandResult result = Sh(*CommandScript({{"sleep", "1000"}}, "mark", 1));
  EXPECT_EQ(result.exit_code, 124);
}

TEST(CommandScriptTest, NameThatNoShellAcceptsIsRefused) {
  Command command{{"true"}};
  command.env["A; reboot #"] = "x";
  EXPECT_EQ(CommandScript(command, "mark", 0).error().code, Code::kInvalid);
  EXPECT_EQ(CommandScript({}, "mark", 0).error().code, Code::kInvalid);
}

TEST(TakeMarkedTest, LastMarkIsTakenOutAndTheRestStays) {
  std::string err = "one\n\nm started 17.5\ntwo\n";
  EXPECT_EQ(*TakeMarked(err, "m", "started"), "17.5");
  EXPECT_EQ(err, "one\ntwo\n");
  EXPECT_EQ(TakeMarked(err, "m", "started"), std::nullopt);
}

// --- ssh, played ---

class SshTest : public ::testing::Test {
 protected:
  SshTest() {
    processes_.Otherwise([this](const Command& command) -> Result<CommandResult> {
      CommandResult result;
      if (command.argv[0] == "mktemp") {
        result.out = "/tmp/muster-ssh.abc\n";
      } else if (command.argv[0] == "ssh" && command.argv.back() == "exit 0") {
        ++knocks_;
        result.exit_code = connects_ ? 0 : 255;
        result.err = connects_ ? "" : said_;
      } else if (command.argv[0] == "ssh") {
        return answer_(command);
      }
      return result;
    });
  }
  World Local() { return {clock_, files_, processes_, http_, random_}; }
  HostPorts At(HostSite& site, std::string_view host) { return *site.At(host); }

  FakeClock clock_;
  MemoryFiles files_;
  ScriptedProcesses processes_;
  ScriptedHttp http_;
  SeededRandom random_{7};
  bool connects_ = true;
  int knocks_ = 0;
  std::string said_ = "ssh: connect to host gpu-01 port 22: Connection refused\n";
  std::function<Result<CommandResult>(const Command&)> answer_ = [](const Command&) {
    return CommandResult{};
  };
};

TEST_F(SshTest, ThisMachineIsKnownByItsAddressOrItsNameAndNeverByAccident) {
  files_.Put("/proc/sys/kernel/hostname", "box\n");
  HostSite many(SiteOf({NodeOf("box.example.org"), NodeOf("gpu-02"), NodeOf("c", "localhost"),
                        NodeOf("d", "10.0.0.4")}),
                "/site", Local());
  EXPECT_EQ(many.Ssh("box.example.org"), nullptr);
  EXPECT_NE(many.Ssh("gpu-02"), nullptr);
  EXPECT_EQ(many.Ssh("c"), nullptr);
  EXPECT_NE(many.Ssh("d"), nullptr);
  HostSite one(SiteOf({NodeOf("workstation")}), "/site", Local());
  EXPECT_EQ(one.Ssh("workstation"), nullptr);
  Site named = SiteOf({NodeOf("workstation")});
  named.ssh["user"] = "ops";
  HostSite other(named, "/site", Local());
  EXPECT_NE(other.Ssh("workstation"), nullptr);
}

TEST_F(SshTest, SpecialHostsAreThere) {
  files_.Put("/site/facility/signoff.json", "{}");
  Site site = SiteOf({NodeOf("a", "10.0.0.1"), NodeOf("b", "10.0.0.2")});
  HostSite hosts(site, "/site", Local());
  EXPECT_EQ(*At(hosts, "facility").world.files.Read("/facility/signoff.json"), "{}");
  EXPECT_EQ(At(hosts, "facility").world.files.Read("/../etc/passwd").error().code,
            Code::kPermission);
  EXPECT_EQ(At(hosts, "monitor").host, "monitor");
  EXPECT_EQ(At(hosts, "fabric").host, "fabric");
  EXPECT_EQ(&At(hosts, "fabric").world.processes, &At(hosts, "a").world.processes);
  EXPECT_EQ(hosts.At("nobody").error().code, Code::kNotFound);
  EXPECT_EQ(At(hosts, "a").origin, Origin::kLive);
  site.fabric_host = "sm-host";
  HostSite elsewhere(site, "/site", Local());
  EXPECT_NE(elsewhere.Ssh("sm-host"), nullptr);
  EXPECT_EQ(elsewhere.Names(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(SshTest, TheMonitorIsWhatTheSiteFileNames) {
  Site site = SiteOf({NodeOf("a", "10.0.0.1")});
  site.endpoints["prometheus"] = {"prometheus", "http://10.0.0.9:9090/prom/", ""};
  HostSite hosts(site, "/site", Local());
  http_.Serves("http://10.0.0.9:9090/prom/api/v1/targets?state=active", "here");
  HttpRequest request;
  request.url = "http://prometheus/api/v1/targets?state=active";
  const auto answer = At(hosts, "monitor").world.http.Do(request);
  ASSERT_TRUE(answer.ok()) << answer.error().ToString();
  EXPECT_EQ(answer->body, "here");
  request.url = "http://alertmanager/api/v2/alerts";
  const auto none = At(hosts, "monitor").world.http.Do(request);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("telemetry.alertmanager"), std::string::npos);
}

TEST_F(SshTest, OptionsOfTheSiteReachSshAndNothingAsksAQuestion) {
  Site site = SiteOf({NodeOf("a", "10.0.0.1"), NodeOf("b", "10.0.0.2")});
  site.ssh = {{"user", "ops"},
              {"port", "2222"},
              {"identity_file", "keys/id"},
              {"config", "/etc/muster/ssh"}};
  HostSite hosts(site, "/site", Local());
  ASSERT_TRUE(At(hosts, "b").world.processes.Run({{"true"}}).ok());
  const std::string line = Join(processes_.commands().back().argv, " ");
  for (const char* part :
       {"BatchMode=yes", "ConnectTimeout=10", "User=ops", "Port=2222", "IdentityFile=/site/keys/id",
        "-F /etc/muster/ssh", "ControlPath=/tmp/muster-ssh.abc/0", "ControlPersist=60",
        "-- 10.0.0.2 "}) {
    EXPECT_TRUE(Contains(line, part)) << part << " in " << line;
  }
  EXPECT_FALSE(Contains(line, "StrictHostKeyChecking"));
}

TEST_F(SshTest, HostThatDoesNotAnswerIsUnavailableAndAskedAgainOnlyAfterAWhile) {
  connects_ = false;
  HostSite hosts(SiteOf({NodeOf("gpu-01", "10.0.0.1"), NodeOf("gpu-02", "10.0.0.2")}), "/site",
                 Local());
  Processes& processes = At(hosts, "gpu-01").world.processes;
  for (int i = 0; i < 5; ++i) {
    const auto result = processes.Run({{"true"}});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::kUnavailable);
    EXPECT_TRUE(Contains(result.error().message, "gpu-01 cannot be reached: ssh: connect to host"));
  }
  EXPECT_EQ(knocks_, 1);
  connects_ = true;
  clock_.Advance(std::chrono::seconds(31));
  EXPECT_TRUE(processes.Run({{"true"}}).ok());
  EXPECT_EQ(knocks_, 2);
}

TEST_F(SshTest, RefusedKeyIsNoPermission) {
  connects_ = false;
  for (const char* said :
       {"ops@gpu-01: Permission denied (publickey).\n", "Host key verification failed.\n"}) {
    said_ = said;
    HostSite hosts(SiteOf({NodeOf("gpu-01", "10.0.0.1"), NodeOf("b", "10.0.0.2")}), "/site",
                   Local());
    const auto result = At(hosts, "gpu-01").world.processes.Run({{"true"}});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::kPermission);
    EXPECT_TRUE(Contains(result.error().message, "gpu-01 refuses the login"));
  }
}

TEST_F(SshTest, Exit255OfTheProgramIsAResultAndOfSshAnError) {
  HostSite hosts(SiteOf({NodeOf("gpu-01", "10.0.0.1"), NodeOf("b", "10.0.0.2")}), "/site", Local());
  Processes& processes = At(hosts, "gpu-01").world.processes;
  answer_ = [](const Command& command) -> Result<CommandResult> {
    // The script's own last words, with the marker it was sent.
    const std::string& line = command.argv.back();
    const size_t at = line.find("muster-");
    CommandResult result;
    result.exit_code = 255;
    result.err = fmt::format("own words\n\n{} exit\n", line.substr(at, 23));
    return result;
  };
  const auto own = processes.Run({{"tool"}});
  ASSERT_TRUE(own.ok()) << own.error().ToString();
  EXPECT_EQ(own->exit_code, 255);
  EXPECT_EQ(own->err, "own words\n");
  answer_ = [](const Command&) -> Result<CommandResult> {
    CommandResult result;
    result.exit_code = 255;
    result.err = "client_loop: send disconnect: Broken pipe\n";
    return result;
  };
  EXPECT_EQ(processes.Run({{"tool"}}).error().code, Code::kUnavailable);
}

TEST_F(SshTest, TimeoutOnTheHostIsATimeout) {
  HostSite hosts(SiteOf({NodeOf("gpu-01", "10.0.0.1"), NodeOf("b", "10.0.0.2")}), "/site", Local());
  answer_ = [](const Command&) -> Result<CommandResult> {
    CommandResult result;
    result.exit_code = 124;
    result.took = std::chrono::seconds(61);
    return result;
  };
  EXPECT_TRUE(At(hosts, "gpu-01").world.processes.Run({{"tool"}})->timed_out);
  Command longer{{"tool"}};
  longer.timeout = std::chrono::seconds(100);
  EXPECT_FALSE(At(hosts, "gpu-01").world.processes.Run(longer)->timed_out);
}

TEST_F(SshTest, FilesOfAHostAreOnlyRead) {
  HostSite hosts(SiteOf({NodeOf("gpu-01", "10.0.0.1"), NodeOf("b", "10.0.0.2")}), "/site", Local());
  Files& files = At(hosts, "gpu-01").world.files;
  EXPECT_EQ(files.WriteAtomic("/etc/x", "1").error().code, Code::kRefused);
  EXPECT_EQ(files.Remove("/etc").error().code, Code::kRefused);
  EXPECT_EQ(files.OpenAppend("/etc/x").error().code, Code::kRefused);
}

TEST_F(SshTest, ConnectionIsEndedAndItsFolderRemoved) {
  {
    HostSite hosts(SiteOf({NodeOf("gpu-01", "10.0.0.1"), NodeOf("b", "10.0.0.2")}), "/site",
                   Local());
    ASSERT_TRUE(At(hosts, "gpu-01").world.processes.Run({{"true"}}).ok());
  }
  const std::string last = processes_.asked().back();
  EXPECT_TRUE(Contains(last, "-O exit -- 10.0.0.1")) << last;
}

// --- gangs on this machine, as real processes ---

class GangTest : public ::testing::Test {
 protected:
  GangTest() {
    HostJobsOptions options;
    options.failure_grace = std::chrono::milliseconds(100);
    Node node = NodeOf("here", "localhost");
    node.gpus.resize(4);
    jobs_ = std::make_unique<HostJobs>(SiteOf({node}), world_.ports(), options);
  }
  GangSpec Spec(std::vector<std::string> argv) {
    GangSpec spec;
    spec.name = fmt::format("test-{}-{}", ::getpid(),
                            ::testing::UnitTest::GetInstance()->current_test_info()->name());
    spec.nodes = {"here"};
    spec.ranks_per_node = 4;
    spec.argv = std::move(argv);
    return spec;
  }
  PosixWorld world_;
  std::unique_ptr<HostJobs> jobs_;
};

TEST_F(GangTest, EveryRankHasItsIdentityAndNothingIsLeft) {
  GangSpec spec = Spec({"sh", "-c",
                        "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK "
                        "$MASTER_ADDR $EXTRA; echo note >&2; test $MASTER_PORT -gt 1024"});
  spec.env["EXTRA"] = "a b";
  const auto result = jobs_->RunGang(spec);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_TRUE(result->all_started);
  ASSERT_EQ(result->ranks.size(), 4u);
  for (int rank = 0; rank < 4; ++rank) {
    const RankResult& one = result->ranks[static_cast<size_t>(rank)];
    EXPECT_EQ(one.rank, rank);
    EXPECT_EQ(one.node, "here");
    EXPECT_EQ(one.result.exit_code, 0);
    EXPECT_EQ(one.result.out, fmt::format("{0}/4 {0}/4 0 127.0.0.1 a b\n", rank));
    EXPECT_EQ(one.result.err, "note\n");
    EXPECT_GE(one.started_after, Duration::zero());
    EXPECT_LE(one.started_after, result->took);
  }
  EXPECT_TRUE(jobs_->Leftovers(spec.name)->empty());
}

TEST_F(GangTest, GangThatDoesNotFitIsRefusedBeforeAnythingStarts) {
  GangSpec spec = Spec({"true"});
  spec.gpus_per_rank = 2;
  EXPECT_EQ(jobs_->RunGang(spec).error().code, Code::kRefused);
  spec = Spec({"true"});
  spec.nodes = {"here", "nowhere"};
  EXPECT_EQ(jobs_->RunGang(spec).error().code, Code::kRefused);
  spec = Spec({"no-such-program-here"});
  const auto refused = jobs_->RunGang(spec);
  EXPECT_EQ(refused.error().code, Code::kRefused);
  EXPECT_TRUE(Contains(refused.error().message, "no program"));
  EXPECT_TRUE(jobs_->Leftovers(spec.name)->empty());
  spec.name = "../../etc";
  EXPECT_EQ(jobs_->RunGang(spec).error().code, Code::kInvalid);
}

TEST_F(GangTest, RankThatFailsIsInTheResultAndTheOthersAreEnded) {
  const GangSpec spec = Spec({"sh", "-c", "[ $RANK = 2 ] && exit 3; exec sleep 1000"});
  const auto result = jobs_->RunGang(spec);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_TRUE(result->all_started);
  EXPECT_EQ(result->ranks[2].result.exit_code, 3);
  for (const size_t other : {0u, 1u, 3u}) EXPECT_GE(result->ranks[other].result.exit_code, 128);
  EXPECT_TRUE(jobs_->Leftovers(spec.name)->empty());
}

TEST_F(GangTest, TimeoutEndsRanksAndWhatTheyStarted) {
  GangSpec spec = Spec({"sh", "-c", "setsid sleep 1000 & exec sleep 1000"});
  spec.timeout = std::chrono::milliseconds(300);
  const auto result = jobs_->RunGang(spec);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  for (const RankResult& rank : result->ranks) EXPECT_TRUE(rank.result.timed_out);
  EXPECT_TRUE(jobs_->Leftovers(spec.name)->empty());
}

TEST_F(GangTest, LeftoversOfAKilledMusterAreSeenAndCleaned) {
  const GangSpec spec =
      Spec({"sh", "-c", "echo up > \"$READY.$RANK\"; setsid sleep 1000 & exec sleep 1000"});
  std::string folder =
      (std::filesystem::temp_directory_path() / "muster-gang-test-XXXXXX").string();
  folder = ::mkdtemp(folder.data());
  const pid_t caller = ::fork();
  if (caller == 0) {
    GangSpec mine = spec;
    mine.env["READY"] = folder + "/up";
    PosixWorld world;
    Node node = NodeOf("here", "localhost");
    HostJobs jobs(SiteOf({node}), world.ports());
    static_cast<void>(jobs.RunGang(mine).ok());
    ::_exit(0);
  }
  while (world_.ports().files.List(folder)->size() < 4) ::usleep(1000);
  ::kill(caller, SIGKILL);
  ::waitpid(caller, nullptr, 0);
  EXPECT_FALSE(jobs_->Leftovers(spec.name)->empty());
  EXPECT_EQ(jobs_->RunGang(spec).error().code, Code::kRefused);
  ASSERT_TRUE(jobs_->Clean(spec.name).ok());
  EXPECT_TRUE(jobs_->Leftovers(spec.name)->empty());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster::host
