#include "backend/lab/lab_jobs.h"

#include <cstdlib>
#include <filesystem>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/lab/gang_label.h"
#include "base/strings.h"
#include "world/posix/free_port.h"
#include "world/posix/posix_world.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::lab {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Real processes of this machine, in a folder that goes with the test.
class LabJobsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-gang-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    state_.folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(state_.folder); }

  LabJobs Jobs(LabJobsOptions options = {}) {
    return LabJobs(state_, posix_.ports(), std::move(options));
  }
  GangSpec Gang(std::vector<std::string> argv, int ranks_per_node = 2) {
    GangSpec spec;
    spec.name = "test-gang";
    spec.nodes = {"node000", "node002"};
    spec.ranks_per_node = ranks_per_node;
    spec.argv = std::move(argv);
    return spec;
  }
  void Put(std::string_view kind, std::string_view on) {
    ASSERT_TRUE(Inject(state_, kind, on, posix_.ports().clock.Now()).ok());
  }

  PosixWorld posix_;
  LabState state_ = MakeLab(ParseClusterSpec("nodes=3,gpus=4,rails=4").value(), 5, TimePoint{});
};

TEST_F(LabJobsTest, EveryRankRunsWithItsIdentity) {
  GangSpec spec = Gang(
      {"/bin/sh", "-c",
       "echo $RANK/$WORLD_SIZE local $LOCAL_RANK/$LOCAL_WORLD_SIZE node $NODE_RANK $MUSTER_NODE at "
       "$MASTER_ADDR:$MASTER_PORT of $MUSTER_LAB with $EXTRA"});
  spec.env["EXTRA"] = "more";
  LabJobs jobs = Jobs();
  const auto result = jobs.RunGang(spec);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_TRUE(result->all_started);
  ASSERT_EQ(result->ranks.size(), 4u);
  const char* expected[] = {"0/4 local 0/2 node 0 node000", "1/4 local 1/2 node 0 node000",
                            "2/4 local 0/2 node 1 node002", "3/4 local 1/2 node 1 node002"};
  for (size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(result->ranks[r].rank, static_cast<int>(r));
    EXPECT_EQ(result->ranks[r].result.exit_code, 0);
    EXPECT_THAT(result->ranks[r].result.out, HasSubstr(expected[r]));
    EXPECT_THAT(result->ranks[r].result.out, HasSubstr("at 127.0.0.1:"));
    EXPECT_THAT(result->ranks[r].result.out, HasSubstr("of " + state_.folder + " with more"));
  }
  EXPECT_THAT(jobs.Leftovers("test-gang").value(), IsEmpty());
}

TEST_F(LabJobsTest, KnownProgramsBecomeTheBinarysOwn) {
  // echo plays muster, so that what it would be called with is what it prints.
  LabJobs jobs = Jobs({"/bin/echo"});
  EXPECT_EQ(jobs.RunGang(Gang({"muster-train", "--steps", "3"}))->ranks[0].result.out,
            "lab-rank muster-train --steps 3\n");
  EXPECT_EQ(jobs.RunGang(Gang({"true"}))->ranks[3].result.out, "lab-rank true\n");
  EXPECT_EQ(jobs.RunGang(Gang({"/bin/echo", "plain"}))->ranks[0].result.out, "plain\n");
}

TEST_F(LabJobsTest, AFailedRankIsInTheResultAndEndsTheOthers) {
  GangSpec spec = Gang({"/bin/sh", "-c", "[ $RANK = 1 ] && exit 7; exec sleep 600"});
  spec.timeout = std::chrono::seconds(120);
  LabJobs jobs = Jobs({"", 64, std::chrono::milliseconds(10)});
  const auto result = jobs.RunGang(spec);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->ranks[1].result.exit_code, 7);
  EXPECT_NE(result->ranks[0].result.exit_code, 0);
  EXPECT_FALSE(result->ranks[0].result.timed_out);
  EXPECT_LT(result->took, std::chrono::seconds(60));
  EXPECT_THAT(jobs.Leftovers("test-gang").value(), IsEmpty());
}

TEST_F(LabJobsTest, TheTimeoutEndsEveryRank) {
  GangSpec spec = Gang({"/bin/sleep", "600"});
  spec.timeout = std::chrono::milliseconds(100);
  LabJobs jobs = Jobs();
  const auto result = jobs.RunGang(spec);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->all_started);
  for (const RankResult& rank : result->ranks) EXPECT_TRUE(rank.result.timed_out);
  EXPECT_THAT(jobs.Leftovers("test-gang").value(), IsEmpty());
}

TEST_F(LabJobsTest, ANodeWhoseRanksNeverStartLeavesTheGangIncomplete) {
  Put("rank_never_starts", "node002");
  GangSpec spec = Gang({"/bin/sleep", "600"});
  spec.timeout = std::chrono::milliseconds(100);
  const auto result = Jobs().RunGang(spec);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->all_started);
  ASSERT_EQ(result->ranks.size(), 2u);
  for (const RankResult& rank : result->ranks) {
    EXPECT_EQ(rank.node, "node000");
    EXPECT_TRUE(rank.result.timed_out);
  }
  // Plain programs start there: the gang proof of gate 4 is not what fails.
  EXPECT_TRUE(Jobs().RunGang(Gang({"true"}))->all_started);
}

TEST_F(LabJobsTest, AProgramThatIsNotThereStartsNothing) {
  LabJobs jobs = Jobs();
  const auto result = jobs.RunGang(Gang({"/no/such/program"}));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kNotFound);
  EXPECT_THAT(jobs.Leftovers("test-gang").value(), IsEmpty());
}

TEST_F(LabJobsTest, AGangWhoseRunnerWasKilledIsProvenGone) {
  const pid_t runner = ::fork();
  if (runner == 0) {
    PosixWorld world;
    LabJobs jobs(state_, world.ports());
    (void)jobs.RunGang(Gang({"/bin/sleep", "600"}));
    ::_exit(0);
  }
  LabJobs jobs = Jobs();
  // Four ranks and the label. Looking early must not disturb the gang.
  while (jobs.Leftovers("test-gang")->size() < 5) {
    int status = 0;
    ASSERT_EQ(::waitpid(runner, &status, WNOHANG), 0) << "the runner ended by itself";
  }
  EXPECT_EQ(jobs.RunGang(Gang({"/bin/true"})).error().code, Code::kConflict);
  ::kill(runner, SIGKILL);
  int status = 0;
  ::waitpid(runner, &status, 0);
  // The kernel ends the ranks; a test that runs for ever would mean that it did not.
  while (!jobs.Leftovers("test-gang")->empty()) ::usleep(1000);
  EXPECT_FALSE(std::filesystem::exists(state_.folder + "/gangs/test-gang.json"));
  EXPECT_TRUE(jobs.RunGang(Gang({"/bin/true"})).ok());
}

// Refusals, on a machine where a start would be noticed.
class LabJobsRefusalTest : public ::testing::Test {
 protected:
  void Refuses(const GangSpec& spec, std::string_view why, Code code = Code::kRefused) {
    LabJobs jobs(state_, {clock_, files_, processes_, http_, random_});
    const auto result = jobs.RunGang(spec);
    ASSERT_FALSE(result.ok()) << why;
    EXPECT_EQ(result.error().code, code) << result.error().ToString();
    EXPECT_THAT(result.error().message, HasSubstr(std::string(why)));
    EXPECT_TRUE(processes_.asked().empty());
    EXPECT_TRUE(files_.Paths().empty());
  }
  GangSpec Whole() {
    GangSpec spec;
    spec.name = "g";
    spec.nodes = {"node000", "node001"};
    spec.ranks_per_node = 4;
    spec.argv = {"true"};
    return spec;
  }

  testing::FakeClock clock_;
  testing::MemoryFiles files_;
  testing::ScriptedProcesses processes_;
  testing::ScriptedHttp http_;
  SeededRandom random_{1};
  LabState state_ = MakeLab(ParseClusterSpec("nodes=3,gpus=4,rails=4").value(), 5, TimePoint{});
};

TEST_F(LabJobsRefusalTest, WhatCannotBePlacedWholeStartsNothing) {
  GangSpec spec = Whole();
  spec.gpus_per_rank = 2;
  Refuses(spec, "asks for 8");
  spec = Whole();
  spec.ranks_per_node = 1;
  spec.gpus_per_rank = 5;
  Refuses(spec, "4 GPUs that answer");
  spec = Whole();
  spec.nodes = {"node000", "node009"};
  Refuses(spec, "no node node009");
  spec.nodes = {"node000", "node000"};
  Refuses(spec, "twice");
}

TEST_F(LabJobsRefusalTest, SickNodesAreNotPlacedOn) {
  ASSERT_TRUE(Inject(state_, "xid_79", "node001/gpu2", clock_.Now()).ok());
  Refuses(Whole(), "node001 offers 3 GPUs");
  ASSERT_TRUE(Inject(state_, "unreachable", "node000", clock_.Now()).ok());
  Refuses(Whole(), "node000 does not answer");
}

TEST_F(LabJobsRefusalTest, ASpecThatCannotBeMeantIsInvalid) {
  GangSpec spec = Whole();
  spec.name = "../x";
  Refuses(spec, "name", Code::kInvalid);
  spec = Whole();
  spec.argv.clear();
  Refuses(spec, "command", Code::kInvalid);
  spec = Whole();
  spec.nodes.clear();
  Refuses(spec, "nodes", Code::kInvalid);
}

TEST_F(LabJobsRefusalTest, AStartThatFailsEndsTheRanksThatRan) {
  state_.folder = "/lab";
  files_.Put("/proc/1/environ", "");
  int starts = 0;
  processes_.Otherwise([&](const Command&) -> Result<CommandResult> {
    if (++starts == 3) return Fail(Code::kUnavailable, "no more processes");
    return CommandResult{};
  });
  LabJobs jobs(state_, {clock_, files_, processes_, http_, random_});
  const auto result = jobs.RunGang(Whole());
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().ToString(), HasSubstr("rank 2"));
  EXPECT_EQ(files_.Stat("/lab/gangs/g.json").error().code, Code::kNotFound);
}

TEST_F(LabJobsRefusalTest, ACollectiveTooLargeForOneMachineIsModelled) {
  GangSpec spec = Whole();
  spec.argv = {"all_reduce_perf", "-b", "1G", "-e", "2G", "-f", "2"};
  LabJobs jobs(state_, {clock_, files_, processes_, http_, random_}, {"", 7, {}});
  const auto result = jobs.RunGang(spec);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  ASSERT_EQ(result->ranks.size(), 8u);
  EXPECT_TRUE(result->all_started);
  EXPECT_THAT(result->ranks[0].result.out, HasSubstr("1073741824"));
  EXPECT_EQ(result->ranks[7].node, "node001");
  EXPECT_TRUE(processes_.asked().empty());
}

TEST(GangLabel, AProcessIsKnownByItsWholeMark) {
  const std::string environ("A=1\0MUSTER_GANG=run-1\0B=MUSTER_GANG=run-2\0", 43);
  EXPECT_TRUE(EnvironmentHas(environ, "MUSTER_GANG", "run-1"));
  EXPECT_FALSE(EnvironmentHas(environ, "MUSTER_GANG", "run"));
  EXPECT_FALSE(EnvironmentHas(environ, "MUSTER_GANG", "run-2"));
  EXPECT_FALSE(EnvironmentHas(environ, "GANG", "run-1"));
}

TEST(ProcessMark, NamesAProcessWhileItLives) {
  PosixWorld posix;
  Files& files = posix.ports().files;
  const std::string self = ProcessMark(files, "self");
  EXPECT_TRUE(StartsWith(self, std::to_string(::getpid()) + " ")) << self;
  EXPECT_TRUE(StillLives(files, self));
  EXPECT_FALSE(StillLives(files, self + "1"));
  EXPECT_FALSE(StillLives(files, ""));
  EXPECT_FALSE(StillLives(files, "0 0"));
  testing::MemoryFiles fake;
  fake.Put("/proc/7/stat", "7 (a) b) c) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 8812 1 1");
  EXPECT_EQ(ProcessMark(fake, "7"), "7 8812");
  fake.Put("/proc/7/stat", "7 (a) Z 1 7");
  EXPECT_EQ(ProcessMark(fake, "7"), "");
}

TEST(FreePort, IsAPortAbove1023) {
  const auto port = FreeLoopbackPort();
  ASSERT_TRUE(port.ok());
  EXPECT_GT(*port, 1023);
}

}  // namespace
}  // namespace muster::lab
