#include "app/sched_bench_load.h"

#include <gtest/gtest.h>

#include "sched/script_reader.h"

namespace muster {
namespace {

TEST(SchedBenchLoad, IsTheSameFromASeedAndCanBeRead) {
  const auto text = [](uint64_t seed) {
    BenchDice dice(seed);
    std::vector<std::string> gangs;
    const std::string pods = BenchPods(400, dice, gangs);
    return BenchNodes(40) + pods + BenchMonth(50, 320, 90, dice);
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
  BenchDice dice(1);
  std::vector<std::string> gangs;
  const auto pods = sched::ReadScript(BenchPods(400, dice, gangs));
  ASSERT_TRUE(pods.ok());
  int ranks = 0;
  for (const auto& event : *pods)
    ranks += std::get<sched::JobSubmit>(event.body).job.tasks[0].count;
  EXPECT_EQ(ranks, 400);
  EXPECT_FALSE(gangs.empty());
}

TEST(SchedBenchLoad, AMonthHasJobsOfEverySizeInOrderOfArrival) {
  BenchDice dice(7);
  const auto month = sched::ReadScript(BenchMonth(3000, 40000, 90, dice));
  ASSERT_TRUE(month.ok()) << month.error().message;
  int64_t largest = 0;
  for (const auto& event : *month) {
    const auto& task = std::get<sched::JobSubmit>(event.body).job.tasks[0];
    largest = std::max(largest, task.count * task.shape.at("nvidia.com/gpu"));
    EXPECT_LT(event.t, 30ll * 24 * 3600 * 1000 + 1000);
  }
  EXPECT_EQ(largest, 4096);
}

}  // namespace
}  // namespace muster
