#include "sched/packing/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/packing/openb.h"

namespace muster::packing {
namespace {

using ::testing::HasSubstr;

const std::string kNodes =
    "sn,cpu_milli,memory_mib,gpu,model\n"
    "a,8000,1024,0,\n"
    "b,32000,65536,4,T4\n"
    "c,64000,65536,2,G2\n"
    "\n"
    "d,64000,65536,2,T4\n";

TEST(Openb, ReadsNodesAndLeavesThoseWithoutGpusOut) {
  const auto nodes = ParseOpenbNodes(kNodes);
  ASSERT_TRUE(nodes.ok());
  ASSERT_EQ(nodes->nodes.size(), 3u);
  EXPECT_EQ(nodes->without_gpus, 1u);
  EXPECT_EQ(nodes->models, (std::vector<std::string>{"T4", "G2"}));
  EXPECT_EQ(nodes->nodes[2].model, 0);
  EXPECT_EQ(GpuLeft(nodes->nodes[0]), 4000);
}
TEST(Openb, ReadsSharesModelsAndListsWithoutModels) {
  const auto pods = ParseOpenbPods(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n"
      "p,1000,64,1,300,T4|X,LS\r\nq,2000,64,0,,,BE\nr,1,1,2,1000,T4|G2,LS\n",
      {"T4", "G2"});
  ASSERT_TRUE(pods.ok()) << pods.error().ToString();
  EXPECT_EQ((*pods)[0], (Demand{1000, 64, 1, 300, 0b01}));
  EXPECT_EQ((*pods)[1], (Demand{2000, 64, 0, 0, 0}));
  EXPECT_EQ((*pods)[2].models, 0b11u);
  EXPECT_TRUE(ParseOpenbPods("cpu_milli,memory_mib,num_gpu,gpu_milli\n1,1,1,1000\n", {}).ok());
}
TEST(Openb, SaysWhereATextIsNoList) {
  const auto error = [](std::string_view text) {
    const auto pods = ParseOpenbPods(text, {"T4"});
    return pods.ok() ? std::string("none") : pods.error().message;
  };
  const std::string header = "cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n";
  EXPECT_THAT(error(""), HasSubstr("line 1"));
  EXPECT_THAT(error("cpu_milli\n1\n"), HasSubstr("no column memory_mib"));
  EXPECT_THAT(error(header + "1,1,1\n"), HasSubstr("line 2: 3 fields"));
  EXPECT_THAT(error(header + "1,1,1,1000,\nx,1,1,1000,\n"), HasSubstr("line 3, column cpu_milli"));
  EXPECT_THAT(error(header + "-1,1,1,1000,\n"), HasSubstr("column cpu_milli"));
  EXPECT_THAT(error(header + "1,1,17,1000,\n"), HasSubstr("column num_gpu"));
  EXPECT_THAT(error(header + "1,1,2,500,\n"), HasSubstr("column gpu_milli"));
  EXPECT_THAT(error(header + "1,1,1,0,\n"), HasSubstr("column gpu_milli"));
  EXPECT_THAT(error(header + "1,1,1,1000,A100\n"), HasSubstr("column gpu_spec"));
  EXPECT_THAT(error(header), HasSubstr("no pods"));
  EXPECT_FALSE(ParseOpenbNodes("cpu_milli,memory_mib,gpu,model\n1,1,0,\n").ok());
}

const std::vector<Demand> kList = {{1000, 1, 1, 500, 0}, {2000, 1, 1, 1000, 0}, {4000, 1, 0, 0, 0}};

TEST(Load, DrawsUntilTheLoadIsAskedFor) {
  const auto pods = DrawPods(kList, 8000, 1.3, 5);
  ASSERT_TRUE(pods.ok());
  int64_t asked = 0;
  for (const Demand& pod : *pods) asked += pod.gpu_total();
  EXPECT_GE(asked, 10400);
  EXPECT_LT(asked - pods->back().gpu_total(), 10400);
}
TEST(Load, CutsAListThatAsksForMore) {
  EXPECT_LE(DrawPods(kList, 1000, 0.5, 5)->size(), kList.size());
}
TEST(Load, ASeedAlwaysDrawsTheSamePods) {
  EXPECT_EQ(*DrawPods(kList, 8000, 1.3, 5), *DrawPods(kList, 8000, 1.3, 5));
  EXPECT_NE(*DrawPods(kList, 8000, 1.3, 5), *DrawPods(kList, 8000, 1.3, 6));
}
TEST(Load, RefusesAListWithoutGpus) {
  const auto pods = DrawPods({{1000, 1, 0, 0, 0}}, 1000, 1, 1);
  ASSERT_FALSE(pods.ok());
  EXPECT_EQ(pods.error().code, Code::kInvalid);
}
TEST(Load, CountsADroppedPodAsArrived) {
  const auto nodes = ParseOpenbNodes(kNodes);
  // Twelve pods of one GPU on eight GPUs; memory for all, CPU for all.
  const std::vector<Demand> pods(12, Demand{1000, 1, 1, 1000, 0});
  for (const Policy policy :
       {Policy::kMuster, Policy::kFgd, Policy::kBestFit, Policy::kDotProd, Policy::kRandom}) {
    const LoadRun run = RunLoad(nodes->nodes, nodes->models.size(), pods, policy, 1);
    EXPECT_EQ(run.arrived, 12u);
    EXPECT_EQ(run.placed, 8u);
    EXPECT_DOUBLE_EQ(run.alloc_pct, 100);
    ASSERT_EQ(run.steps.size(), 150u);
    EXPECT_EQ(run.steps[49].load_pct, 50);
    EXPECT_DOUBLE_EQ(run.steps[49].alloc_pct, 50);
    EXPECT_DOUBLE_EQ(run.steps[149].alloc_pct, 100);
    EXPECT_DOUBLE_EQ(run.steps[149].frag_pct, 0);
  }
}

}  // namespace
}  // namespace muster::packing
