#include "app/lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world/testing/memory_files.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A Service without clusterIP, and the Job that needs it headless.
constexpr const char* kService =
    "apiVersion: v1\nkind: Service\nmetadata: {name: ranks}\nspec:\n  publishNotReadyAddresses: "
    "true\n"
    "  selector: {job-name: ddp}\n";
constexpr const char* kJob =
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: ddp, labels: {kueue.x-k8s.io/queue-name: "
    "q}}\nspec:\n"
    "  parallelism: 2\n  completions: 2\n  completionMode: Indexed\n  backoffLimit: 0\n  "
    "ttlSecondsAfterFinished: 60\n"
    "  template:\n    spec:\n      subdomain: ranks\n      restartPolicy: Never\n      "
    "containers:\n        - name: c\n"
    "          image: registry.example/i@sha256:0\n          command: [sh, -c, 'until getent hosts "
    "ddp-0.ranks; do sleep 1; done; "
    "torchrun --nnodes=2 --rdzv_id=a --rdzv_backend=c10d --rdzv_endpoint=ddp-0.ranks:29500 "
    "t.py']\n";

TEST(LintPaths, AFolderIsOneSetAndItsRepairsApply) {
  testing::MemoryFiles files;
  files.Put("m/service.yaml", kService);
  files.Put("m/jobs/job.yml", kJob);
  files.Put("m/.hidden.yaml", "not: [read");
  files.Put("m/setup.sh", "#!/bin/sh\necho no sbatch\n");
  files.Put("m/readme.md", "text");
  auto report = LintPaths(files, {"m"}, std::nullopt);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->files, 2u);
  EXPECT_THAT(report->unreadable, IsEmpty());
  ASSERT_EQ(report->findings.size(), 1u) << ToString(report->findings.at(0));
  EXPECT_EQ(report->findings[0].code, "LINT-202");
  EXPECT_EQ(report->findings[0].file, "m/service.yaml");
  EXPECT_EQ(report->errors, 1);
  EXPECT_THAT(report->patch, HasSubstr("--- m/service.yaml\n+++ m/service.yaml\n"));
  EXPECT_THAT(report->patch, HasSubstr("+  clusterIP: None\n"));
  const auto changed = ApplyRepairs(files, *report);
  ASSERT_TRUE(changed.ok());
  EXPECT_THAT(*changed, ElementsAre("m/service.yaml"));
  report = LintPaths(files, {"m"}, std::nullopt);
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->findings, IsEmpty());
}

TEST(LintPaths, WhatCannotBeReadIsSaidAndTheRestIsJudged) {
  testing::MemoryFiles files;
  files.Put("a.yaml", kService);
  files.Put("b.yaml", "kind: [\n");
  files.Put("c.sh", "#!/bin/sh\n");
  const auto report = LintPaths(files, {"a.yaml", "b.yaml", "c.sh"}, std::nullopt);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->files, 1u);
  ASSERT_EQ(report->unreadable.size(), 2u);
  EXPECT_THAT(report->unreadable[0], HasSubstr("b.yaml:"));
  EXPECT_THAT(report->unreadable[1], HasSubstr("c.sh: a script without #SBATCH lines"));
}

TEST(LintPaths, NothingToReadAndMissingPathsAreErrors) {
  testing::MemoryFiles files;
  files.Put("m/readme.md", "text");
  EXPECT_EQ(LintPaths(files, {"m"}, std::nullopt).error().code, Code::kInvalid);
  EXPECT_EQ(LintPaths(files, {"gone.yaml"}, std::nullopt).error().code, Code::kNotFound);
}

TEST(LintPaths, ObjectsThatNoRuleIsAboutAreNamedAndDoNotCountAsClean) {
  testing::MemoryFiles files;
  files.Put("empty.yaml", "---\n");
  files.Put("other.yaml", "apiVersion: v1\nkind: Teapot\nmetadata: {name: short}\n");
  files.Put("service.yaml", kService);
  EXPECT_TRUE(LintPaths(files, {"empty.yaml"}, std::nullopt)->Empty());
  const auto other = LintPaths(files, {"other.yaml"}, std::nullopt);
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE(other->Empty());
  EXPECT_THAT(other->not_judged, ElementsAre("other.yaml:1: Teapot short"));
  const auto both = LintPaths(files, {"other.yaml", "service.yaml"}, std::nullopt);
  ASSERT_TRUE(both.ok());
  EXPECT_FALSE(both->Empty());
}

TEST(LintPaths, TheSitesNodesAreWhatShapesAreHeldTo) {
  testing::MemoryFiles files;
  files.Put("job.sh", "#!/bin/bash\n#SBATCH -N 2 --gres=gpu:6 --time=10 --requeue\nsrun x\n");
  Site site;
  site.cluster = BuildCluster(*ParseClusterSpec("nodes=2,gpus=4,numa=1,rails=4"));
  const auto report = LintPaths(files, {"job.sh"}, site);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->findings.size(), 1u);
  EXPECT_EQ(report->findings[0].code, "LINT-909");
}

}  // namespace
}  // namespace muster
