#include "app/sched_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world/testing/memory_files.h"

namespace muster {
namespace {

using muster::testing::MemoryFiles;
using ::testing::HasSubstr;

TEST(SchedTimeline, DrawsWhatTheTwoFilesSay) {
  MemoryFiles files;
  ASSERT_TRUE(
      files
          .WriteAtomic("s", R"({"t":0,"op":"node.add","name":"a","capacity":{"nvidia.com/gpu":"1"}}
{"t":9,"op":"end"})")
          .ok());
  ASSERT_TRUE(files.WriteAtomic("d", "").ok());
  ASSERT_TRUE(PlotTimeline(files, "s", "d", "out.svg").ok());
  EXPECT_THAT(*files.Read("out.svg"), HasSubstr("1 nodes, 0 jobs"));
}
TEST(SchedTimeline, WritesNothingWhenAFileIsWrong) {
  MemoryFiles files;
  ASSERT_TRUE(files.WriteAtomic("s", "{").ok());
  ASSERT_TRUE(files.WriteAtomic("d", "").ok());
  const auto plotted = PlotTimeline(files, "s", "d", "out.svg");
  ASSERT_FALSE(plotted.ok());
  EXPECT_THAT(plotted.error().ToString(), HasSubstr("script line 1"));
  EXPECT_FALSE(files.Read("out.svg").ok());
}

}  // namespace
}  // namespace muster
