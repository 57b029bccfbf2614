#include "app/sched_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world/testing/memory_files.h"

namespace muster {
namespace {

using muster::testing::MemoryFiles;
using ::testing::HasSubstr;

TEST(SchedReplay, ShowsMeansOverItsSeeds) {
  MemoryFiles files;
  ASSERT_TRUE(
      files.WriteAtomic("n", "cpu_milli,memory_mib,gpu,model\n64000,9999,8,T4\n9,9,0,\n").ok());
  ASSERT_TRUE(
      files.WriteAtomic("p", "cpu_milli,memory_mib,num_gpu,gpu_milli\n1000,1,1,1000\n").ok());
  const auto report = ReplayOpenb(files, {"n", "p", packing::Policy::kFgd, 1.3, 1, 3});
  ASSERT_TRUE(report.ok()) << report.error().ToString();
  EXPECT_EQ(report->nodes, 1u);
  EXPECT_EQ(report->nodes_without_gpus, 1u);
  EXPECT_EQ(report->gpus, 8);
  EXPECT_EQ(report->runs.size(), 3u);
  EXPECT_DOUBLE_EQ(report->alloc_pct, 100);
  // Eleven pods of one GPU: the steps 5, 10, ..., 135 and the last, 137.
  ASSERT_EQ(report->steps.size(), 28u);
  EXPECT_EQ(report->steps.back().load_pct, 137);
  EXPECT_EQ(report->steps[9].load_pct, 50);
  EXPECT_DOUBLE_EQ(report->steps[9].alloc_pct, 50);
}
TEST(SchedReplay, SaysWhichFileAndWhereIsWrong) {
  MemoryFiles files;
  ASSERT_TRUE(files.WriteAtomic("n", "cpu_milli,memory_mib,gpu,model\n64000,9999,8,T4\n").ok());
  ASSERT_TRUE(files.WriteAtomic("p", "cpu_milli,memory_mib,num_gpu,gpu_milli\n1000,1,1,x\n").ok());
  const auto report = ReplayOpenb(files, {"n", "p"});
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().ToString(), HasSubstr("reading p"));
  EXPECT_THAT(report.error().ToString(), HasSubstr("line 2, column gpu_milli"));
  EXPECT_FALSE(ReplayOpenb(files, {"gone", "p"}).ok());
}
TEST(SchedReplay, RefusesLoadsAndSeedsOutOfRange) {
  MemoryFiles files;
  EXPECT_EQ(ReplayOpenb(files, {"n", "p", packing::Policy::kMuster, 0}).error().code,
            Code::kInvalid);
  EXPECT_EQ(ReplayOpenb(files, {"n", "p", packing::Policy::kMuster, 1, 1, 0}).error().code,
            Code::kInvalid);
}

}  // namespace
}  // namespace muster
