// The start, the mapping and the end of the real monitor, with daemons that a script plays.
// tests/e2e/prometheus has the real ones.
#include <gtest/gtest.h>

#include "backend/lab/telemetry/monitor.h"
#include "base/strings.h"
#include "probes/prometheus/probes.h"
#include "world/random.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::lab {
namespace {

constexpr const char* kTargetsUrl = "http://127.0.0.1:3333/api/v1/targets?state=active";

class RealMonitor : public ::testing::Test {
 protected:
  RealMonitor()
      : state_(
            MakeLab(*ParseClusterSpec("nodes=1,gpus=1,numa=1,rails=1,leaves=1,spines=1,rate=400"),
                    3, clock_.Now())) {
    state_.folder = "/lab";
    files_.Put("/lab/lab.json", "{}");
    processes_.Otherwise([this](const Command& command) { return Play(command); });
    http_.On(kTargetsUrl, [this](const HttpRequest&) -> Result<HttpResponse> {
      return HttpResponse{200, {}, Targets(), {}};
    });
    http_.Serves("http://127.0.0.1:3333/-/ready", "ready");
    http_.Serves("http://127.0.0.1:2222/api/v2/alerts", "[]");
    http_.Serves("http://127.0.0.1:1111/synthetic?value=1", "1");
    monitor_ = MakeMonitor(state_, world_, "/opt/muster");
  }

  // What each program writes when it starts.
  Result<CommandResult> Play(const Command& command) {
    const std::string& program = command.argv[0];
    if (program == absent_) return Fail(Code::kNotFound, "no program");
    if (program == "/opt/muster") {
      files_.Put(command.argv.back(), "1111\n");
      return CommandResult{};
    }
    const std::string folder =
        command.argv[1].substr(std::string("--config.file=").size(),
                               command.argv[1].rfind('/') - std::string("--config.file=").size());
    const std::string port = program == "prometheus" ? "3333" : "2222";
    const std::string line =
        program == fails_ ? "err=\"no space left on device\"\n"
                          : "level=info msg=\"Listening on\" address=127.0.0.1:" + port + "\n";
    files_.Put(folder + "/" + program + ".log", line);
    return CommandResult{};
  }

  std::string Targets() {
    const std::string health = ++looks_ < 3 ? "unknown" : "up";
    const auto target = [&](const std::string& instance) {
      return R"({"labels":{"instance":")" + instance +
             R"(","job":"j"},"discoveredLabels":{},"scrapeUrl":"u","health":")" + health +
             R"(","lastScrape":"2026-11-20T00:00:00Z","scrapeInterval":"1s"})";
    };
    return R"({"status":"success","data":{"activeTargets":[)" + target("node000:9400") + "," +
           target("monitor:9464") + "]}}";
  }

  bool LeftBehind() const {
    for (const std::string& path : files_.Paths()) {
      if (Contains(path, "telemetry-")) return true;
    }
    return false;
  }
  Result<HttpResponse> Get(const std::string& url) { return monitor_->Do({.url = url}); }

  muster::testing::FakeClock clock_;
  muster::testing::MemoryFiles files_{&clock_};
  muster::testing::ScriptedProcesses processes_;
  muster::testing::ScriptedHttp http_;
  SeededRandom random_{1};
  World world_{clock_, files_, processes_, http_, random_};
  LabState state_;
  std::string absent_, fails_;
  int looks_ = 0;
  std::unique_ptr<MonitorPort> monitor_;
};

TEST_F(RealMonitor, MapsTheLogicalBasesOnceEveryNodeWasScraped) {
  EXPECT_EQ(Get("http://prometheus/-/ready")->body, "ready");
  EXPECT_EQ(looks_, 3);
  EXPECT_EQ(Get("http://alertmanager/api/v2/alerts")->body, "[]");
  EXPECT_EQ(Get("http://monitor/synthetic?value=1")->body, "1");
  EXPECT_EQ(Get("http://elsewhere/").error().code, Code::kNotFound);
  EXPECT_EQ(processes_.commands().size(), 3u);
}

TEST_F(RealMonitor, StartsNothingBeforeItIsAsked) {
  EXPECT_TRUE(processes_.commands().empty());
  EXPECT_FALSE(LeftBehind());
}

TEST_F(RealMonitor, GossipIsOffAndEverythingListensOnLoopback) {
  ASSERT_TRUE(monitor_->Prepare().ok());
  for (const Command& command : processes_.commands()) {
    if (command.argv[0] == "/opt/muster") continue;
    const std::string line = command.ToString();
    EXPECT_TRUE(Contains(line, "--web.listen-address=127.0.0.1:0")) << line;
    if (command.argv[0] == "prometheus-alertmanager") {
      EXPECT_EQ(command.argv.back(), "--cluster.listen-address=");
    }
  }
}

TEST_F(RealMonitor, ItsFolderGoesWithIt) {
  ASSERT_TRUE(monitor_->Prepare().ok());
  EXPECT_TRUE(LeftBehind());
  monitor_.reset();
  EXPECT_FALSE(LeftBehind());
}

TEST_F(RealMonitor, MissingPackageIsNamedAtEveryRequest) {
  for (const char* program : {"prometheus", "prometheus-alertmanager"}) {
    absent_ = program;
    monitor_ = MakeMonitor(state_, world_, "/opt/muster");
    for (int time = 0; time < 2; ++time) {
      const auto answer = Get("http://prometheus/-/ready");
      ASSERT_FALSE(answer.ok());
      EXPECT_EQ(answer.error().code, Code::kNotFound);
      EXPECT_TRUE(Contains(answer.error().message,
                           std::string(program) + " is not installed: apt-get install"));
    }
    EXPECT_FALSE(LeftBehind());
  }
}

TEST_F(RealMonitor, DaemonThatDoesNotComeUpIsSaidWithItsLastWord) {
  fails_ = "prometheus";
  const auto answer = Get("http://prometheus/-/ready");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  EXPECT_TRUE(Contains(answer.error().message, "no space left on device"))
      << answer.error().message;
  EXPECT_FALSE(LeftBehind());
}

TEST_F(RealMonitor, SweepsWhatADeadRunLeft) {
  files_.Put("/lab/telemetry-dead/data/wal", "x");
  files_.Put("/lab/telemetry-alive/data/wal", "x");
  const auto alive = files_.Lock("/lab/telemetry-alive/lock", "another run");
  ASSERT_TRUE(alive.ok());
  ASSERT_TRUE(monitor_->Prepare().ok());
  EXPECT_FALSE(files_.Stat("/lab/telemetry-dead/data/wal").ok());
  EXPECT_TRUE(files_.Stat("/lab/telemetry-alive/data/wal").ok());
}

TEST_F(RealMonitor, LabWithoutAFolderHasNoMonitor) {
  state_.folder.clear();
  EXPECT_EQ(Get("http://prometheus/-/ready").error().code, Code::kInvalid);
}

}  // namespace
}  // namespace muster::lab
