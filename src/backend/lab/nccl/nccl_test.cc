#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/lab/nccl/exchange.h"
#include "backend/lab/nccl/job.h"
#include "backend/lab/nccl/meeting_point.h"
#include "backend/lab/nccl/rank.h"
#include "backend/lab/nccl/tools.h"
#include "backend/lab/state/truth.h"
#include "base/strings.h"
#include "probes/nccl_log/nccl_map.h"
#include "probes/nccl_log/probes.h"
#include "probes/nccl_tests/collective_run.h"
#include "probes/nccl_tests/probes.h"
#include "world/posix/free_port.h"
#include "world/posix/posix_world.h"
#include "world/testing/captures.h"

namespace muster::lab {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const TimePoint kNow{std::chrono::hours(24 * 365 * 56)};

LabState Lab(std::string_view spec = "nodes=2,gpus=8,numa=2,rails=8,leaves=2,spines=2,rate=400") {
  return MakeLab(*ParseClusterSpec(spec), 1, kNow);
}
std::vector<std::string> Names(const LabState& state) {
  std::vector<std::string> names;
  for (const Node& node : state.cluster.nodes) names.push_back(node.name);
  return names;
}
LabState With(LabState state, std::string_view fault, const std::string& on) {
  const auto done = Inject(state, fault, on, kNow);
  EXPECT_TRUE(done.ok()) << done.error().message;
  return state;
}

// The observations of both probes, as "subject fact" to text.
std::map<std::string, std::string> Seen(const std::string& text) {
  Reading reading;
  reading.host = "all";
  reading.text = text;
  std::map<std::string, std::string> seen;
  for (const Probe& probe : {NcclTestsProbes()[0], NcclLogProbes()[0]}) {
    for (const Observation& one : probe.parse(reading)) {
      const std::string value = one.value() != nullptr ? FormatValue(*one.value(), Unit::kNone)
                                                       : "unknown: " + one.unobserved()->detail;
      seen[one.subject.ToString() + " " + one.fact] = value;
    }
  }
  return seen;
}

TEST(ModelledRun, IsReadByTheProductionProbes) {
  const LabState state = Lab();
  const auto names = Names(state);
  const CommandResult run = ModelledAllReduce(state, names, 8, kNow);
  EXPECT_EQ(run.exit_code, 0);
  const auto table = nccl_tests::ParseCollective(run.out);
  EXPECT_THAT(table.damage, IsEmpty());
  EXPECT_EQ(table.ranks.size(), 16u);
  EXPECT_EQ(table.rows.size(), 31u);
  EXPECT_NEAR(*nccl_tests::Plateau(table), BusBandwidth(state, names, 8, 3e9, kNow), 6);
  const auto log = nccl_log::ParseNcclLog(run.out);
  EXPECT_THAT(log.gaps, IsEmpty());
  auto seen = Seen(run.out);
  for (int rail = 0; rail < 8; ++rail) {
    EXPECT_EQ(seen[fmt::format("rail rail{} nccl.net", rail)], "NET/IB");
    EXPECT_EQ(seen[fmt::format("rail rail{} nccl.gdr", rail)], "yes");
  }
  for (const std::string& name : names) {
    EXPECT_EQ(seen["node " + name + " nccl.net_of_node"], "NET/IB");
    EXPECT_EQ(seen["node " + name + " nccl.version"], "2.26.2+cuda12.8");
  }
  EXPECT_EQ(seen["scope all collective.algorithm"], "Ring");
  EXPECT_EQ(seen["scope all collective.wrong"], "0");
}

TEST(ModelledRun, TakesLessTimeForSmallerMessages) {
  const LabState state = Lab();
  const auto table =
      nccl_tests::ParseCollective(ModelledAllReduce(state, Names(state), 8, kNow).out);
  for (size_t i = 1; i < table.rows.size(); ++i) {
    EXPECT_GE(table.rows[i].out_of_place->time_us, table.rows[i - 1].out_of_place->time_us);
  }
}

TEST(ModelledRun, ShowsTheNodeThatFellBackToTcp) {
  const LabState healthy = Lab("nodes=3,gpus=8,numa=2,rails=8,leaves=2,spines=2,rate=400");
  const std::string sick = Names(healthy)[1];
  const LabState state = With(healthy, "tcp_fallback", sick);
  auto seen = Seen(ModelledAllReduce(state, Names(state), 8, kNow).out);
  for (const std::string& name : Names(state)) {
    EXPECT_EQ(seen["node " + name + " nccl.net_of_node"], name == sick ? "NET/Socket" : "NET/IB");
  }
  EXPECT_LT(std::stod(seen["scope all collective.plateau"]), 4);
}

TEST(ModelledRun, ShowsTheRailWithoutGpuDirect) {
  const LabState state = With(Lab(), "gdr_off_rail", "rail3");
  auto seen = Seen(ModelledAllReduce(state, Names(state), 8, kNow).out);
  for (int rail = 0; rail < 8; ++rail) {
    EXPECT_EQ(seen[fmt::format("rail rail{} nccl.gdr", rail)], rail == 3 ? "no" : "yes") << rail;
    EXPECT_EQ(seen[fmt::format("rail rail{} nccl.net", rail)], "NET/IB");
  }
}

TEST(ModelledRun, ShowsWrongResults) {
  const LabState healthy = Lab();
  const LabState state = With(healthy, "wrong_result", Names(healthy)[0]);
  const CommandResult run = ModelledAllReduce(state, Names(state), 8, kNow);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_GT(std::stoll(Seen(run.out)["scope all collective.wrong"]), 0);
}

TEST(ModelledRun, NamesASlowRailWhenOneRailAtATimeIsAsked) {
  const LabState state = With(Lab(), "slow_rail", "rail5");
  const std::vector<std::string> args = {"-b", "1G", "-e", "4G", "-f", "2"};
  std::vector<double> plateau;
  for (int rail = 0; rail < 8; ++rail) {
    const auto run = ModelledAllReduce(state, Names(state), 8, kNow, args,
                                       {"Ring", fmt::format("=mlx5_{}", rail), true});
    plateau.push_back(*nccl_tests::Plateau(nccl_tests::ParseCollective(run.out)));
    EXPECT_EQ(Seen(run.out)[fmt::format("rail rail{} nccl.net", rail)], "NET/IB");
  }
  for (int rail = 0; rail < 8; ++rail) {
    if (rail == 5) continue;
    EXPECT_LT(plateau[5], 0.8 * plateau[static_cast<size_t>(rail)]);
  }
}

// The trap of gate 6 on two nodes: a tree prints more than the adapters can carry, so a slow rail
// hides behind it.
TEST(ModelledRun, ExceedsTheAdaptersOnTwoNodesUnlessRingIsForced) {
  const LabState state = Lab();
  const std::vector<std::string> args = {"-b", "8", "-e", "8G", "-f", "2"};
  const auto free = ModelledAllReduce(state, Names(state), 8, kNow, args, {"", "", true});
  const auto ring = ModelledAllReduce(state, Names(state), 8, kNow, args, {"Ring", "", true});
  EXPECT_GT(*nccl_tests::Plateau(nccl_tests::ParseCollective(free.out)), 400);
  EXPECT_LT(*nccl_tests::Plateau(nccl_tests::ParseCollective(ring.out)), 400);
  EXPECT_EQ(Seen(free.out)["scope all collective.algorithm"], "Tree");
}

TEST(ModelledRun, RefusesMoreRanksThanGpusAndUnknownNodes) {
  const LabState state = Lab();
  EXPECT_EQ(ModelledAllReduce(state, Names(state), 9, kNow).exit_code, 5);
  EXPECT_EQ(ModelledAllReduce(state, {"nobody"}, 1, kNow).exit_code, 5);
}

TEST(NcclTool, RunsOverTheGpusOfOneHost) {
  const LabState state = Lab();
  const std::vector<std::string> args = {"-b", "8", "-e", "8G", "-f", "2", "-g", "8"};
  const CommandResult run = NcclTools()[0].run({state, &state.cluster.nodes[0], args, kNow});
  EXPECT_EQ(run.exit_code, 0);
  auto seen = Seen(run.out);
  EXPECT_NEAR(std::stod(seen["scope all collective.plateau"]), 480, 15);
  EXPECT_THAT(seen["node " + state.cluster.nodes[0].name + " nccl.net_of_node"],
              HasSubstr("one node"));
}

TEST(SweepArgs, AreReadAsTheProgramReadsThem) {
  const std::vector<std::string> args = {"-b", "8", "-e", "8G", "-f", "2",
                                         "-g", "1", "-c", "0",  "-z", "0"};
  const auto sweep = ParseSweepArgs(args);
  ASSERT_TRUE(sweep.ok());
  EXPECT_EQ(sweep->Sizes().size(), 31u);
  EXPECT_EQ(sweep->Sizes().back(), 8ull << 30);
  EXPECT_FALSE(sweep->check);
  for (const std::vector<std::string>& bad : {std::vector<std::string>{"-b"},
                                              {"-b", "x"},
                                              {"-f", "1"},
                                              {"8G"},
                                              {"-b", "8G", "-e", "1G"},
                                              {"-g", "-3"}}) {
    EXPECT_FALSE(ParseSweepArgs(bad).ok()) << Join(bad, " ");
  }
}

TEST(MeetingPoint, HandsOverWhatOthersWrite) {
  auto server = MeetingServer::Start("127.0.0.1", 0);
  ASSERT_TRUE(server.ok());
  auto a = MeetingClient::Connect("127.0.0.1", (*server)->port(), std::chrono::seconds(5));
  auto b = MeetingClient::Connect("localhost", (*server)->port(), std::chrono::seconds(5));
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_TRUE((*a)->Set("x", std::string(200000, 'q')).ok());
  EXPECT_EQ((*b)->Get("x", std::chrono::seconds(5))->size(), 200000u);
  const auto absent = (*b)->Get("y", std::chrono::milliseconds(20));
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, Code::kTimeout);
}

TEST(MeetingPoint, GivesUpWhereNobodyListens) {
  auto server = MeetingServer::Start("127.0.0.1", 0);
  ASSERT_TRUE(server.ok());
  const int port = (*server)->port();
  server->reset();
  const auto client = MeetingClient::Connect("127.0.0.1", port, std::chrono::milliseconds(30));
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.error().code, Code::kTimeout);
}

// Real processes: the children of this test, each with a rank's environment and its own file for
// stdout.
class RealRanks : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-ranks-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  struct Outcome {
    int exit_code = 0;
    std::string out;
  };
  // Starts the ranks named in `which` of a gang over all nodes of the lab and waits for them.
  std::vector<Outcome> Run(LabState state, int per_node, const std::vector<int>& which,
                           const std::vector<std::string>& args, int timeout_s = 20) {
    state.folder = folder_;
    PosixWorld world;
    EXPECT_TRUE(SaveLab(world.ports().files, state).ok());
    const auto nodes = Names(state);
    const int port = FreeLoopbackPort().value();
    std::vector<pid_t> children;
    std::fflush(nullptr);
    for (int rank : which) {
      const pid_t pid = fork();
      if (pid == 0) {
        const std::string log = fmt::format("{}/{}.log", folder_, rank);
        if (std::freopen(log.c_str(), "w", stdout) == nullptr) _exit(99);
        const auto set = [](const char* name, const std::string& value) {
          setenv(name, value.c_str(), 1);
        };
        set("RANK", std::to_string(rank));
        set("WORLD_SIZE", std::to_string(static_cast<int>(nodes.size()) * per_node));
        set("LOCAL_RANK", std::to_string(rank % per_node));
        set("MASTER_ADDR", "127.0.0.1");
        set("MASTER_PORT", std::to_string(port));
        set("MUSTER_LAB", folder_);
        set("MUSTER_NODE", nodes[static_cast<size_t>(rank / per_node)]);
        set("MUSTER_RENDEZVOUS_TIMEOUT_S", std::to_string(timeout_s));
        set("NCCL_ALGO", "Ring");
        set("NCCL_DEBUG", "INFO");
        PosixWorld mine;
        World ports = mine.ports();
        const int code = AllReduceRankMain(args, ports);
        std::fflush(stdout);
        _exit(code);
      }
      children.push_back(pid);
    }
    std::vector<Outcome> outcomes;
    for (size_t i = 0; i < children.size(); ++i) {
      int status = 0;
      waitpid(children[i], &status, 0);
      outcomes.push_back(
          {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
           muster::testing::ReadWhole(fmt::format("{}/{}.log", folder_, which[i])).value_or("")});
    }
    return outcomes;
  }
  static std::vector<int> All(int ranks) {
    std::vector<int> all(static_cast<size_t>(ranks));
    for (int i = 0; i < ranks; ++i) all[static_cast<size_t>(i)] = i;
    return all;
  }
  static std::string Joined(const std::vector<Outcome>& outcomes) {
    std::string text;
    for (const Outcome& one : outcomes) text += one.out;
    return text;
  }
  const std::vector<std::string> sweep_ = {"-b", "8", "-e", "4G", "-f", "2", "-g", "1"};
  std::string folder_;
};

TEST_F(RealRanks, MeetMoveDataAndPrintWhatTheProbesRead) {
  const LabState state = Lab("nodes=2,gpus=2,numa=1,rails=2,leaves=2,spines=2,rate=400");
  const auto outcomes = Run(state, 2, All(4), sweep_);
  for (const Outcome& one : outcomes) EXPECT_EQ(one.exit_code, 0) << one.out;
  EXPECT_THAT(
      outcomes[0].out,
      HasSubstr(
          "# rehearsed: times come from the lab's modelled fabric, data moved over loopback"));
  const std::string text = Joined(outcomes);
  EXPECT_THAT(nccl_tests::ParseCollective(text).damage, IsEmpty());
  EXPECT_THAT(nccl_log::ParseNcclLog(text).gaps, IsEmpty());
  auto seen = Seen(text);
  EXPECT_EQ(seen["scope all collective.wrong"], "0");
  EXPECT_EQ(seen["scope all collective.rows"], "3");
  EXPECT_EQ(seen["rail rail1 nccl.gdr"], "yes");
}

TEST_F(RealRanks, FindTheElementsThatARankCorrupts) {
  const LabState healthy = Lab("nodes=2,gpus=2,numa=1,rails=2,leaves=2,spines=2,rate=400");
  const LabState state = With(healthy, "wrong_result", Names(healthy)[1]);
  const auto outcomes = Run(state, 2, All(4), sweep_);
  EXPECT_EQ(outcomes[0].exit_code, 1);
  // Twelve elements, or all of a smaller message, wrong on each of four ranks, in both halves of a
  // row.
  EXPECT_EQ(Seen(Joined(outcomes))["scope all collective.wrong"],
            std::to_string((2 + 4 + 8 + 27 * 12) * 4 * 2));
}

TEST_F(RealRanks, EndWithAnErrorWhenAPeerNeverComes) {
  const LabState state = Lab("nodes=2,gpus=2,numa=1,rails=2,leaves=2,spines=2,rate=400");
  const auto outcomes = Run(state, 2, {0, 1, 3}, sweep_, 1);
  for (const Outcome& one : outcomes) EXPECT_EQ(one.exit_code, 3);
  EXPECT_THAT(outcomes[0].out, HasSubstr("rank 2 of 4 did not come to the rendezvous"));
  EXPECT_THAT(Seen(Joined(outcomes))["scope all collective.plateau"], HasSubstr("unknown"));
}

TEST_F(RealRanks, ThirtyTwoOfThemAgree) {
  const LabState state = Lab("nodes=4,gpus=8,numa=2,rails=8,leaves=2,spines=2,rate=400");
  const auto outcomes = Run(state, 8, All(32), sweep_);
  for (const Outcome& one : outcomes)
    EXPECT_EQ(one.exit_code, 0) << one.out.substr(one.out.size() > 400 ? one.out.size() - 400 : 0);
  auto seen = Seen(Joined(outcomes));
  EXPECT_EQ(seen["scope all collective.wrong"], "0");
  for (int rail = 0; rail < 8; ++rail)
    EXPECT_EQ(seen[fmt::format("rail rail{} nccl.gdr", rail)], "yes");
}

}  // namespace
}  // namespace muster::lab
