// How the proofs of gates 6 and 7 start their work on real sites, and what they
// make of it; no process is started here.
#include "app/proofs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/collective_sweep.h"
#include "app/derive.h"
#include "app/testing/lab_site.h"

namespace muster {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using testing::TestMachine;

// A machine room with nothing in it but names.
class NamesOnly final : public Hosts {
 public:
  explicit NamesOnly(World world) : world_(world) {}
  std::vector<std::string> Names() const override { return {}; }
  Result<HostPorts> At(std::string_view host) override {
    return HostPorts{std::string(host), world_, Origin::kLive};
  }
  Origin origin() const override { return Origin::kLive; }
  int Parallel() const override { return 1; }

 private:
  World world_;
};

// Remembers the gangs; every rank prints the same.
class PrintingJobs final : public Jobs {
 public:
  Result<GangResult> RunGang(const GangSpec& spec) override {
    ran.push_back(spec);
    GangResult result;
    result.all_started = true;
    for (const std::string& node : spec.nodes) {
      for (int i = 0; i < spec.ranks_per_node; ++i) {
        RankResult rank;
        rank.rank = static_cast<int>(result.ranks.size());
        rank.node = node;
        rank.started_after = std::chrono::milliseconds(100 * rank.rank);
        rank.result.out = prints;
        result.ranks.push_back(std::move(rank));
      }
    }
    return result;
  }
  Result<std::vector<std::string>> Leftovers(const std::string&) override {
    return std::vector<std::string>{};
  }
  std::vector<GangSpec> ran;
  std::string prints;
};

struct Stage {
  explicit Stage(const std::string& more, int hosts = 2) {
    std::string text =
        "apiVersion: muster/v1\nkind: Site\nname: hall\ntype: "
        "host\ncluster:\n  nodes:\n";
    for (int i = 1; i <= hosts; ++i) {
      text += fmt::format(
          "    - {{name: gpu-0{0}, address: \"ops@gpu-0{0}.hall:22\", gpus: 8, "
          "gpu_model: NVIDIA H100 "
          "80GB HBM3, nics: [mlx5_0, mlx5_1], nic_rate: 400 Gb/s}}\n",
          i);
      nodes.push_back(fmt::format("gpu-0{}", i));
    }
    auto parsed = ParseSite(text + more, "site.yaml");
    EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
    if (parsed.ok()) site = *parsed;
  }
  Evidence Prove(int gate) {
    NamesOnly hosts(machine.world());
    testing::NoEndpoints endpoints;
    World world = machine.world();
    SilentProgress progress;
    return ProveGate(gate,
                     {site, hosts, jobs, endpoints, world, progress, nodes, "/runs/r", "r-1", own});
  }
  TestMachine machine;
  PrintingJobs jobs;
  Site site;
  std::vector<std::string> nodes, own;
};

const Observation* Find(const Evidence& evidence, std::string_view fact) {
  for (const Observations* part : {&evidence.observations, &evidence.derived}) {
    for (const Observation& o : *part) {
      if (o.fact == fact) return &o;
    }
  }
  return nullptr;
}

TEST(CollectiveOnHosts, OneHostRunsOneProcessOverAllItsGpus) {
  Stage stage("collective: {program: /opt/nccl-tests/build/all_reduce_perf}\n", 1);
  (void)stage.Prove(6);
  ASSERT_EQ(stage.jobs.ran.size(), 1u);
  const GangSpec& gang = stage.jobs.ran[0];
  EXPECT_EQ(gang.ranks_per_node, 1);
  EXPECT_EQ(gang.gpus_per_rank, 8);
  EXPECT_EQ(gang.argv[0], "/opt/nccl-tests/build/all_reduce_perf");
  const auto g = std::find(gang.argv.begin(), gang.argv.end(), "-g");
  ASSERT_NE(g, gang.argv.end());
  EXPECT_EQ(*(g + 1), "8");
  EXPECT_EQ(gang.env.at("NCCL_DEBUG"), "INFO");
}

TEST(CollectiveOnHosts, SeveralHostsAreStartedByOneMpirunOnTheFirst) {
  Stage stage(
      "collective: {program: /opt/arp, mpi: true, mpirun: [mpirun, "
      "--bind-to, none]}\n");
  (void)stage.Prove(6);
  ASSERT_FALSE(stage.jobs.ran.empty());
  const GangSpec& gang = stage.jobs.ran[0];
  EXPECT_THAT(gang.nodes, ElementsAre("gpu-01"));
  EXPECT_EQ(gang.ranks_per_node, 1);
  EXPECT_EQ(gang.gpus_per_rank, 8);
  EXPECT_THAT(std::vector<std::string>(gang.argv.begin(), gang.argv.begin() + 9),
              ElementsAre("mpirun", "--bind-to", "none", "-np", "16", "--host",
                          "gpu-01.hall:8,gpu-02.hall:8", "--map-by", "ppr:8:node"));
  EXPECT_THAT(gang.argv, IsSupersetOf({"-x", "NCCL_DEBUG=INFO", "NCCL_ALGO=Ring", "/opt/arp"}));
  // A rail alone: one rank a host, its adapters named to every rank.
  bool rail = false;
  for (const GangSpec& one : stage.jobs.ran) {
    if (one.name != "r-1-nccl-rail1" && one.name != "r-1-nccl-1") continue;
    rail = true;
    EXPECT_THAT(one.argv, Contains("NCCL_IB_HCA==mlx5_1"));
    EXPECT_THAT(one.argv, Contains("gpu-01.hall:1,gpu-02.hall:1"));
  }
  EXPECT_TRUE(rail);
}

TEST(CollectiveOnHosts, WithoutMpiNothingIsStartedOverSeveralHostsAndTheWayOnIsSaid) {
  Stage stage("");
  const Evidence evidence = stage.Prove(6);
  EXPECT_THAT(stage.jobs.ran, IsEmpty());
  const Observation* plateau = Find(evidence, "collective.plateau");
  ASSERT_NE(plateau, nullptr);
  ASSERT_NE(plateau->unobserved(), nullptr);
  EXPECT_EQ(plateau->unobserved()->reason, UnknownReason::kNotObserved);
  EXPECT_THAT(plateau->unobserved()->detail, HasSubstr("mpi: true"));
}

TEST(CollectiveOnHosts, ASweepAsksForAsManyRanksAsTheSmallestNodeHasAndKeepsItsTime) {
  Stage stage("    - {name: gpu-03, gpus: 2, gpu_model: NVIDIA H100 80GB HBM3}\n", 2);
  EXPECT_EQ(RanksPerNode(stage.site, {"gpu-01", "gpu-02"}), 8);
  EXPECT_EQ(RanksPerNode(stage.site, {"gpu-01", "gpu-03"}), 2);
  NamesOnly hosts(stage.machine.world());
  CollectiveSweep sweep{{SubjectKind::kScope, "all"}, {"gpu-01"}, 8, ShortSweep(1)};
  sweep.timeout = std::chrono::minutes(2);
  const auto readings =
      RunSweep({stage.site, hosts, stage.jobs, stage.machine.world().clock, "preflight-1"}, sweep);
  ASSERT_EQ(readings.size(), 2u);
  EXPECT_EQ(readings[0].probe, "nccl_tests.all_reduce");
  EXPECT_EQ(readings[1].probe, "nccl_log.transport");
  ASSERT_EQ(stage.jobs.ran.size(), 1u);
  EXPECT_EQ(stage.jobs.ran[0].name, "preflight-1-nccl-all");
  EXPECT_EQ(stage.jobs.ran[0].timeout, std::chrono::minutes(2));
}

TEST(CollectiveOnHosts, EnvironmentAndHostsBecomeWordsOfMpirun) {
  EXPECT_THAT(
      MpirunArgv({"mpirun"}, {"a", "b", "c"}, 2, {{"A", "1 2"}, {"B", ""}}, {"prog", "-g", "1"}),
      ElementsAre("mpirun", "-np", "6", "--host", "a:2,b:2,c:2", "--map-by", "ppr:2:node", "-x",
                  "A=1 2", "-x", "B=", "prog", "-g", "1"));
}

std::string MegatronLog(int steps) {
  std::string text;
  for (int i = 1; i <= steps; ++i) {
    text += fmt::format(
        " [2026-11-20 00:00:00.000000] iteration {:8d}/ {:8d} | consumed "
        "samples: {:12d} | elapsed time "
        "per iteration (ms): 1000.0 | throughput per GPU (TFLOP/s/GPU): 400.0 "
        "| learning rate: "
        "1.0E-04 | global batch size:   128 | lm loss: {:.6E} | loss scale: "
        "1.0 | grad norm: 1.0 | "
        "number of skipped iterations:   0 | number of nan iterations:   0 |\n",
        i, steps, i * 128, 10.0 - 0.05 * i);
  }
  return text;
}

TEST(TrainingOnHosts, LogOfASitesOwnJobIsReadForItsFigures) {
  Stage stage("training: {command: [train.sh], ranks_per_node: 8}\n");
  stage.jobs.prints = MegatronLog(60);
  const Evidence evidence = stage.Prove(7);
  ASSERT_EQ(stage.jobs.ran.size(), 1u);
  EXPECT_THAT(stage.jobs.ran[0].argv, ElementsAre("train.sh"));
  EXPECT_EQ(std::get<int64_t>(*Find(evidence, "train.ranks_started")->value()), 16);
  EXPECT_EQ(std::get<double>(*Find(evidence, "train.step_time")->value()), 1.0);
  // 400 TFLOP/s of an H100's dense 989.4, which the GPU table knows.
  EXPECT_NEAR(std::get<double>(*Find(evidence, "train.mfu")->value()), 400 / 989.4, 1e-9);
  EXPECT_NEAR(std::get<double>(*Find(evidence, "train.start_spread")->value()), 1.5, 1e-9);
  EXPECT_GT(std::get<double>(*Find(evidence, "train.loss_drop")->value()), 0.2);
  EXPECT_FALSE(stage.site.Features().contains("training_reports"));
}

TEST(TrainingOnHosts, CommandThatPrintsNoStepsIsUnknownAndNotPassed) {
  Stage stage("training: {command: [train.sh]}\n");
  stage.jobs.prints = "all went well\n";
  const Evidence evidence = stage.Prove(7);
  EXPECT_EQ(Find(evidence, "train.mfu")->value(), nullptr);
  EXPECT_EQ(std::get<int64_t>(*Find(evidence, "train.ranks_started")->value()), 0);
}

TEST(TrainingOnHosts, CommandWithReportsIsReadRankByRank) {
  Stage stage("training: {command: [train.sh], rank_reports: true}\n");
  EXPECT_TRUE(stage.site.Features().contains("training_reports"));
  const Evidence evidence = stage.Prove(7);
  EXPECT_NE(Find(evidence, "train.checkpoint_written"), nullptr);
}

TEST(TrainingOnHosts, OwnSmallJobRunsOnThisMachineAndSaysWhatItIs) {
  Stage stage("training: {ranks_per_node: 2, steps: 30}\n", 1);
  stage.own = {"/usr/bin/muster", "lab-rank", "muster-train"};
  const Evidence evidence = stage.Prove(7);
  ASSERT_EQ(stage.jobs.ran.size(), 1u);
  EXPECT_THAT(stage.jobs.ran[0].argv,
              ElementsAre("/usr/bin/muster", "lab-rank", "muster-train", "--steps", "30",
                          "--checkpoint", "/runs/r/checkpoint"));
  EXPECT_EQ(stage.jobs.ran[0].gpus_per_rank, 0) << "it takes none";
  EXPECT_THAT(evidence.readings[0].command, HasSubstr("Muster's own small job"));
}

TEST(TrainingOnHosts, OwnSmallJobIsNotSentToOtherHosts) {
  Stage stage("");
  const Evidence evidence = stage.Prove(7);
  EXPECT_THAT(stage.jobs.ran, IsEmpty());
  const Observation* mfu = Find(evidence, "train.mfu");
  ASSERT_NE(mfu, nullptr);
  EXPECT_EQ(mfu->value(), nullptr);
  EXPECT_THAT(evidence.readings[0].fault->detail, HasSubstr("training.command"));
}

TEST(TrainingOnHosts, FiguresOfTheOwnSmallJobAreNoBaselineOfARealSite) {
  Observation mfu;
  mfu.subject = {SubjectKind::kGang, "train"};
  mfu.fact = "train.mfu";
  mfu.seen = 0.02;
  mfu.unit = Unit::kRatio;
  Source source;
  source.command = std::string(kOwnSmallJob) + ": muster";
  mfu.source = std::make_shared<Source>(source);
  EXPECT_THAT(FiguresOf({mfu}), IsEmpty());
  mfu.origin = Origin::kRehearsed;
  EXPECT_EQ(FiguresOf({mfu}).size(), 1u);
}

TEST(CollectiveSettings, OfALabAreRefused) {
  const auto site = ParseSite(
      "apiVersion: muster/v1\nkind: Site\nname: "
      "x\ntype: lab\ncluster: {spec: nodes=2}\n"
      "collective: {mpi: true}\n",
      "site.yaml");
  ASSERT_FALSE(site.ok());
  EXPECT_THAT(site.error().message, HasSubstr("site.yaml:6:"));
}

struct ClusterStage : Stage {
  explicit ClusterStage(const std::string& more) : Stage("", 2) {
    auto parsed = ParseSite(
        "apiVersion: muster/v1\nkind: Site\nname: hall\ntype: kubernetes\ncluster:\n  nodes:\n"
        "    - {name: gpu-01, gpus: 8, gpu_model: NVIDIA H100 80GB HBM3, nics: [mlx5_0]}\n"
        "    - {name: gpu-02, gpus: 8, gpu_model: NVIDIA H100 80GB HBM3, nics: [mlx5_0]}\n" +
            more,
        "site.yaml");
    EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
    if (parsed.ok()) site = *parsed;
  }
};

TEST(CollectiveOnAClusterOfPods, RunsTheSitesCommandARankOnTheNodesThatItMeasures) {
  ClusterStage stage("collective: {command: [python3, ar.py], image: \"i@sha256:" +
                     std::string(64, 'a') + "\"}\n");
  (void)stage.Prove(6);
  ASSERT_FALSE(stage.jobs.ran.empty());
  const GangSpec& gang = stage.jobs.ran[0];
  EXPECT_THAT(gang.nodes, ElementsAre("gpu-01", "gpu-02"));
  EXPECT_EQ(gang.ranks_per_node, 8);
  EXPECT_TRUE(gang.pod_a_node && gang.exactly_there);
  EXPECT_THAT(gang.image, HasSubstr("i@sha256:"));
  EXPECT_EQ(gang.argv[1], "ar.py");
  EXPECT_THAT(gang.argv, Contains("-b")) << "nccl-tests' options follow";
}

TEST(CollectiveOnAClusterOfPods, WithoutACommandNothingIsStartedAndTheReasonIsTold) {
  ClusterStage stage("");
  const Evidence evidence = stage.Prove(6);
  EXPECT_THAT(stage.jobs.ran, IsEmpty());
  ASSERT_TRUE(evidence.readings.front().fault.has_value());
  EXPECT_THAT(evidence.readings.front().fault->detail, HasSubstr("collective: {command"));
}

TEST(TrainingOnAClusterOfPods, IsTheSchedulersToPlaceUnlessItIsAPartOfTheSite) {
  ClusterStage stage("training: {command: [train], ranks_per_node: 8}\n");
  (void)stage.Prove(7);
  ASSERT_EQ(stage.jobs.ran.size(), 1u);
  EXPECT_TRUE(stage.jobs.ran[0].pod_a_node);
  EXPECT_FALSE(stage.jobs.ran[0].exactly_there);
  stage.nodes = {"gpu-02"};
  (void)stage.Prove(7);
  EXPECT_TRUE(stage.jobs.ran[1].exactly_there);
}

TEST(TrainingOnAClusterOfPods, ThatNobodyCouldStartIsUnknownAndNotAFailure) {
  ClusterStage stage("");
  const Evidence evidence = stage.Prove(7);
  EXPECT_THAT(stage.jobs.ran, IsEmpty()) << "no image has Muster's own small job";
  ASSERT_FALSE(evidence.derived.empty());
  for (const Observation& o : evidence.derived) EXPECT_EQ(o.value(), nullptr) << o.fact;
}

}  // namespace
}  // namespace muster
