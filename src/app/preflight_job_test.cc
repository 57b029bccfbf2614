#include "app/preflight_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

Result<std::vector<Job>> Of(const std::string& text) {
  testing::FakeClock clock;
  testing::MemoryFiles files(&clock);
  files.Put("job", text);
  return JobsOfFile(files, "job");
}

TEST(PreflightJob, IndexedJobIsOneGang) {
  const auto jobs = Of(
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: ddp}\nspec:\n  completions: 2\n"
      "  parallelism: 2\n  completionMode: Indexed\n  template:\n    spec:\n      restartPolicy: "
      "Never\n"
      "      containers:\n      - name: w\n        image: i@sha256:1\n        resources: {limits: "
      "{nvidia.com/gpu: 8}}\n");
  ASSERT_TRUE(jobs.ok()) << jobs.error().ToString();
  ASSERT_EQ(jobs->size(), 1u);
  EXPECT_EQ(jobs->front().tasks.front().count, 2);
  EXPECT_EQ(jobs->front().tasks.front().shape.at("nvidia.com/gpu"), 8);
}

TEST(PreflightJob, SbatchScriptIsOneGang) {
  const auto jobs = Of("#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\nsrun train\n");
  ASSERT_TRUE(jobs.ok()) << jobs.error().ToString();
  EXPECT_EQ(jobs->size(), 1u);
}

TEST(PreflightJob, FilesWithoutAJobSayWhat) {
  EXPECT_EQ(Of("apiVersion: v1\nkind: Service\nmetadata: {name: s}\n").error().code,
            Code::kNotFound);
  EXPECT_THAT(Of("a: [\n").error().message, HasSubstr("job:"));
}

}  // namespace
}  // namespace muster
