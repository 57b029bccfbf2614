#include "app/preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "app/testing/lab_site.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

Job Asking(std::vector<std::pair<int, int64_t>> groups) {
  Job job;
  job.name = "j";
  for (const auto& [min, gpus] : groups) {
    TaskGroup group;
    group.name = "worker";
    group.count = group.min = min;
    group.shape["nvidia.com/gpu"] = gpus;
    job.tasks.push_back(group);
  }
  return job;
}

std::vector<Node> Nodes(int count, int domains, int gpus_a_domain) {
  std::vector<Node> nodes(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    Node& node = nodes[static_cast<size_t>(i)];
    node.name = "n" + std::to_string(i);
    node.numa_domains = domains;
    for (int g = 0; g < domains * gpus_a_domain; ++g) {
      Gpu gpu;
      gpu.index = g;
      gpu.numa = g / gpus_a_domain;
      node.gpus.push_back(gpu);
    }
  }
  return nodes;
}

TEST(Preflight, GangThatFindsRoomWholePassesAndOneRankMoreDoesNot) {
  EXPECT_EQ(FitsWhole(Asking({{4, 8}}), Nodes(4, 2, 4)).level, Level::kPass);
  EXPECT_EQ(FitsWhole(Asking({{5, 8}}), Nodes(4, 2, 4)).level, Level::kFail);
  EXPECT_EQ(FitsWhole(Asking({{2, 5}}), Nodes(1, 2, 4)).level, Level::kFail) << "5 + 5 on 8";
  EXPECT_EQ(FitsWhole(Asking({{1, 0}, {1, 8}}), Nodes(1, 2, 4)).level, Level::kPass)
      << "a launcher without GPUs";
  EXPECT_EQ(FitsWhole(Asking({{1, 2}, {1, 6}}), Nodes(1, 2, 4)).level, Level::kPass);
  EXPECT_EQ(FitsWhole(Asking({{1, 1}}), {}).level, Level::kFail);
}

TEST(Preflight, SixGpusOnTwoDomainsOfFourAreRefusedWithTheValidShapes) {
  const AdmissionAnswer answer = FitsNuma(Asking({{1, 6}}), Nodes(2, 2, 4));
  EXPECT_EQ(answer.level, Level::kFail);
  EXPECT_THAT(answer.text, HasSubstr("valid: 1, 2, 3, 4, 8"));
  for (const int64_t gpus : {1, 2, 3, 4, 8})
    EXPECT_EQ(FitsNuma(Asking({{1, gpus}}), Nodes(2, 2, 4)).level, Level::kPass) << gpus;
  EXPECT_EQ(FitsNuma(Asking({{1, 4}}), {}).level, Level::kUnknown);
}

TEST(Preflight, FreeSpaceIsReadFromDfAndNotGuessed) {
  EXPECT_EQ(FreeBytesOfDf("Filesystem 1-blocks Used Available Capacity Mounted on\n"
                          "/dev/sda1 100 40 60 40% /data\n"),
            60);
  for (const char* text :
       {"", "df: no such file", "Filesystem 1-blocks\n", "Filesystem a\n/dev 1 2 x 4 /\n",
        "Filesystem 1-blocks Used Available Capacity Mounted on\n/dev/sda1 100 40"})
    EXPECT_FALSE(FreeBytesOfDf(text)) << text;
}

Result<Preflight> Fly(testing::LabSite& lab, PreflightOptions options) {
  options.collective = false;  // real processes: tests/e2e/cli runs it
  TRY(SiteContext context, lab.Open());
  SilentProgress progress;
  return RunPreflight(context, options, progress);
}

const PreflightCheck* Of(const Preflight& preflight, const std::string& code) {
  for (const PreflightCheck& check : preflight.checks)
    if (check.code == code) return &check;
  return nullptr;
}

TEST(Preflight, HealthyLabPassesWhatWasAskedAndSaysWhatWasNot) {
  testing::LabSite lab;
  PreflightOptions options;
  options.checkpoint = "/scratch/run";
  options.jobs = {Asking({{2, 2}})};
  const auto preflight = Fly(lab, options);
  ASSERT_TRUE(preflight.ok()) << preflight.error().ToString();
  ASSERT_EQ(preflight->checks.size(), 7u);
  for (const PreflightCheck& check : preflight->checks) {
    EXPECT_EQ(check.level, check.code == "PRE-003" ? Level::kUnknown : Level::kPass)
        << check.code << " " << check.text;
    EXPECT_EQ(check.origin, Origin::kRehearsed);
    EXPECT_GT(check.source.size(), 10u);
  }
  EXPECT_EQ(preflight->level, Level::kUnknown) << "a check that was left out is no pass";
}

TEST(Preflight, WhatWasNotAskedIsNotAPass) {
  testing::LabSite lab;
  const auto preflight = Fly(lab, {});
  EXPECT_EQ(Of(*preflight, "PRE-007")->level, Level::kUnknown);
  EXPECT_EQ(Of(*preflight, "PRE-005")->level, Level::kNotApplicable);
}

TEST(Preflight, FaultsOfTheLabAreNamedByTheirCheckAndNode) {
  const std::tuple<const char*, const char*, const char*, const char*> kFaults[] = {
      {"gpu_missing", "node001/gpu1", "PRE-001", "node001"},
      {"hca_missing", "node001/mlx5_0", "PRE-002", "node001"},
      {"checkpoint_disk_full", "node001", "PRE-007", "No space left on device"},
      {"unreachable", "node001", "PRE-004", "node001"},
  };
  for (const auto& [fault, on, code, found] : kFaults) {
    testing::LabSite lab;
    lab.Inject(fault, on);
    ASSERT_EQ(lab.problem, "") << fault;
    PreflightOptions options;
    options.checkpoint = "/scratch/run";
    const auto preflight = Fly(lab, options);
    ASSERT_TRUE(preflight.ok()) << fault;
    const PreflightCheck* check = Of(*preflight, code);
    EXPECT_NE(check->level, Level::kPass) << fault;
    ASSERT_FALSE(check->found.empty()) << fault;
    EXPECT_THAT(check->found, ::testing::Contains(HasSubstr(found))) << fault;
  }
}

TEST(Preflight, NameThatNobodyKnowsFails) {
  testing::LabSite lab;
  PreflightOptions options;
  options.rendezvous = "trainer-0.trainer.default.svc";
  options.only = {"PRE-004"};
  const auto preflight = Fly(lab, options);
  ASSERT_EQ(preflight->checks.size(), 1u);
  EXPECT_EQ(preflight->level, Level::kFail);
}

TEST(Preflight, UnknownNodesAndCodesAreRefused) {
  testing::LabSite lab;
  PreflightOptions options;
  options.nodes = {"nobody"};
  EXPECT_THAT(Fly(lab, options).error().message, HasSubstr("nobody"));
  options = {};
  options.only = {"PRE-099"};
  EXPECT_THAT(Fly(lab, options).error().message, HasSubstr("PRE-001 to PRE-007"));
}

RC_GTEST_PROP(Preflight, MoreNodesNeverRefuseWhatFewerTook, ()) {
  const auto count = *rc::gen::inRange(1, 6), min = *rc::gen::inRange(1, 9);
  const int64_t gpus = *rc::gen::inRange<int64_t>(1, 9);
  const Job job = Asking({{min, gpus}});
  if (FitsWhole(job, Nodes(count, 2, 4)).level == Level::kPass)
    RC_ASSERT(FitsWhole(job, Nodes(count + 1, 2, 4)).level == Level::kPass);
}

}  // namespace
}  // namespace muster
