#include "app/sched_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kNodes[] =
    R"({"t":0,"op":"topology","levels":["leaf","node"]}
{"t":0,"op":"node.add","name":"n1","at":["l0"],"capacity":{"cpu":"192","memory":"2Ti","nvidia.com/gpu":"8"},"numa":[{"cpu":"96","memory":"1Ti","nvidia.com/gpu":[0,1,2,3]},{"cpu":"96","memory":"1Ti","nvidia.com/gpu":[4,5,6,7]}],"topology_manager":{"policy":"single-numa-node"}}
{"t":0,"op":"node.add","name":"n2","at":["l0"],"capacity":{"cpu":"192","memory":"2Ti","nvidia.com/gpu":"8"},"numa":[{"cpu":"96","memory":"1Ti","nvidia.com/gpu":[0,1,2,3]},{"cpu":"96","memory":"1Ti","nvidia.com/gpu":[4,5,6,7]}],"topology_manager":{"policy":"single-numa-node"}}
{"t":0,"op":"node.add","name":"n3","at":["l0"],"capacity":{"cpu":"64","memory":"1Ti","nvidia.com/gpu":"4"}}
{"t":0,"op":"node.add","name":"n4","at":["l0"],"capacity":{"cpu":"64","memory":"1Ti"}}
)";

class SchedShapesTest : public ::testing::Test {
 protected:
  SchedShapesTest() : files_(&clock_) { files_.Put("c.jsonl", kNodes); }
  testing::FakeClock clock_;
  testing::MemoryFiles files_;
};

TEST_F(SchedShapesTest, NodesThatAreAlikeAreOneClassAndTheirValidCountsAreSaid) {
  const auto report = NodeShapes(files_, {"c.jsonl", "", {}});
  ASSERT_TRUE(report.ok()) << report.error().ToString();
  ASSERT_EQ(report->classes.size(), 2u);
  EXPECT_THAT(report->classes[0].nodes, ElementsAre("n1", "n2"));
  EXPECT_THAT(report->classes[0].sheet.valid, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(report->classes[1].sheet.valid, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(report->classes[1].sheet.layout, "4 without topology");
  EXPECT_THAT(report->without, ElementsAre("n4"));
}

TEST_F(SchedShapesTest, WhatTheNodeLacksIsUnknownAndNotValid) {
  const auto report = NodeShapes(files_, {"c.jsonl", "", {"rdma/ib=1"}});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->classes[0].unknown, "the node has no device resource rdma/ib");
  EXPECT_TRUE(report->classes[0].sheet.valid.empty());
}

TEST_F(SchedShapesTest, BadInputIsAnErrorWithItsPlace) {
  files_.Put("bad.jsonl", "{\"t\":0,\"op\":\"node.add\",\"name\":\"n\",\"capacitee\":{}}\n");
  const auto bad = NodeShapes(files_, {"bad.jsonl", "", {}});
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(bad.error().ToString(), HasSubstr("line 1, column "));
  EXPECT_FALSE(NodeShapes(files_, {"none.jsonl", "", {}}).ok());
  EXPECT_FALSE(NodeShapes(files_, {"c.jsonl", "amd.com/gpu", {}}).ok());
  for (const char* with : {"cpu", "=1", "cpu=x", "cpu=-1", "memory=9999999Ti"}) {
    EXPECT_FALSE(NodeShapes(files_, {"c.jsonl", "", {with}}).ok()) << with;
  }
  EXPECT_FALSE(NodeShapes(files_, {"c.jsonl", "", {"cpu=1", "cpu=2"}}).ok());
}

}  // namespace
}  // namespace muster
