// What users of other schedulers reported, as scripts that this one is held to. The numbers are of
// public issues: V# volcano-sh/volcano, Q# kubernetes-sigs/kueue, K# kai-scheduler/KAI-Scheduler,
// SP# kubernetes-sigs/scheduler-plugins, KO# koordinator-sh/koordinator, k8s#
// kubernetes/kubernetes. More stand in eviction_test.cc and engine_test.cc.
#include <set>

#include <gtest/gtest.h>

#include "sched/testing/run_script.h"

namespace muster::sched {
namespace {

using testing::At;
using testing::ClusterLines;
using testing::JobLine;
using testing::kEnd;
using testing::NodeLine;
using testing::RunScript;
using testing::ScriptRun;

std::string Levels() {
  return "{\"t\":0,\"op\":\"topology\",\"levels\":[\"spine\",\"leaf\",\"node\"]}\n";
}
// The nodes that a job's binds name, in their order.
std::vector<std::string> NodesOf(const ScriptRun& run, const std::string& job) {
  std::vector<std::string> nodes;
  for (const std::string& line : run.With({"\"do\":\"bind\"", "\"job\":\"" + job + "\""})) {
    const size_t at = line.find("\"node\":\"") + 8;
    nodes.push_back(line.substr(at, line.find('"', at) - at));
  }
  return nodes;
}
const std::string kLeaf = R"(,"topology":{"required":"leaf"})";

// Two gangs of launcher and workers, room for one: neither holds a part of it.
TEST(Peers, GangsOfSeveralGroupsDoNotDeadlock_KO872_SP713) {
  const auto gang = [](const std::string& name) {
    return R"({"t":1,"op":"job.submit","name":")" + name +
           R"(","tasks":[{"name":"launcher","count":1,"shape":{"nvidia.com/gpu":"4"}},)"
           R"({"name":"worker","count":3,"shape":{"nvidia.com/gpu":"4"}}],"duration":10})"
           "\n";
  };
  const auto run = RunScript(ClusterLines(3) + gang("a") + gang("b") + kEnd);
  EXPECT_EQ(run.Count({"\"t\":1,", "bind", "\"a\""}), 4u);
  EXPECT_EQ(run.Count({"\"t\":1,", "bind", "\"b\""}), 0u);
  EXPECT_EQ(run.Count({"\"t\":11,", "bind", "\"b\""}), 4u);
}

TEST(Peers, OneDomainIsNotGivenToTwoQueuesAtOnce_Q14570) {
  const auto run = RunScript(ClusterLines(4) + At(0, R"("op":"queue.add","name":"x")") +
                             At(0, R"("op":"queue.add","name":"y")") +
                             JobLine(1, "a", 2, 8, R"(,"queue":"x")" + kLeaf) +
                             JobLine(1, "b", 2, 8, R"(,"queue":"y")" + kLeaf) + kEnd);
  auto nodes = NodesOf(run, "a");
  for (const std::string& node : NodesOf(run, "b")) nodes.push_back(node);
  EXPECT_EQ(std::set<std::string>(nodes.begin(), nodes.end()).size(), 4u);
}

TEST(Peers, TopologyRespectsTaintsAndNamesThem_Q6868_Q3158) {
  const std::string taint = R"(,"taints":[{"key":"k","value":"v","effect":"NoSchedule"}])";
  const auto run =
      RunScript(Levels() + NodeLine(0, 0, 0, taint) + NodeLine(1, 0, 0) + NodeLine(2, 0, 1) +
                NodeLine(3, 0, 1) + JobLine(1, "a", 2, 8, kLeaf) + kEnd);
  EXPECT_EQ(NodesOf(run, "a"), (std::vector<std::string>{"n2", "n3"}));
  const auto none = RunScript(Levels() + NodeLine(0, 0, 0, taint) + JobLine(1, "a", 1, 8) + kEnd);
  EXPECT_EQ(none.Count({"pending", "TAINT", "k=v:NoSchedule", "tolerate"}), 1u);
}

TEST(Peers, WhatTheKubeletWouldRefuseIsRejectedWithTheValidCounts_k8s84869) {
  const std::string zones =
      R"(,"numa":[{"cpu":"48","nvidia.com/gpu":[0,1,2,3]},{"cpu":"48","nvidia.com/gpu":[4,5,6,7]}],)"
      R"("topology_manager":{"policy":"single-numa-node","scope":"pod"})";
  const auto run = RunScript(Levels() + NodeLine(0, 0, 0, zones) + JobLine(1, "six", 1, 6) + kEnd);
  EXPECT_EQ(run.Count({"\"do\":\"bind\""}), 0u);
  EXPECT_EQ(run.Count({"reject", "\"asked\":6", "\"valid\":[1,2,3,4]"}), 1u);
}

TEST(Peers, APreferredLevelIsKeptWhereItFitsAndElseSpreadLeast_V5205_V4343) {
  const std::string wish = R"(,"topology":{"preferred":"leaf"})";
  const auto one =
      RunScript(ClusterLines(8) + JobLine(0, "x", 1, 8) + JobLine(1, "a", 2, 8, wish) + kEnd);
  EXPECT_EQ(NodesOf(one, "a"), (std::vector<std::string>{"n2", "n3"}));
  const auto two = RunScript(ClusterLines(8) + JobLine(1, "a", 4, 8, wish) + kEnd);
  EXPECT_EQ(NodesOf(two, "a"), (std::vector<std::string>{"n0", "n1", "n2", "n3"}));
}

TEST(Peers, ASmallGangTakesTheFullerLeaf_V4331_Q4474) {
  const auto run = RunScript(ClusterLines(4) + JobLine(0, "x", 1, 8) +
                             JobLine(1, "a", 1, 8, kLeaf) + JobLine(2, "b", 2, 8, kLeaf) + kEnd);
  EXPECT_EQ(NodesOf(run, "a"), std::vector<std::string>{"n1"});
  EXPECT_EQ(run.Count({"\"t\":2,", "bind", "\"b\""}), 2u);
}

TEST(Peers, TheReasonIsTheOneThatBinds_V4971_V2285) {
  const auto run = RunScript(ClusterLines(2) + JobLine(0, "x", 2, 8) +
                             JobLine(1, "sel", 1, 8, "", R"(,"select":{"gpu":"none"})") + kEnd);
  EXPECT_EQ(run.Count({"pending", "\"sel\"", "SELECTOR", "gpu=none"}), 1u);
  EXPECT_EQ(run.Count({"pending", "\"sel\"", "\"code\":\"GANG\""}), 0u);
}

TEST(Peers, ManyInOneQueueAreAllServedAndOneThatCannotStartHoldsUpNobody_Q2391_Q9715) {
  std::string script = ClusterLines(1) + JobLine(0, "never", 9, 8, ",\"priority\":9");
  for (int i = 0; i < 6; ++i)
    script += JobLine(1, "j" + std::to_string(i), 1, 8, ",\"duration\":10");
  const auto run = RunScript(script + kEnd);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(run.Count({"\"t\":" + std::to_string(1 + 10 * i) + ",", "bind"}), 1u) << i;
}

TEST(Peers, AVictimGangLeavesWholeAndGivesItsQuotaBack_V4607_Q14811) {
  const auto run = RunScript(
      ClusterLines(2) + At(0, R"("op":"flavor.add","name":"f")") +
      At(0,
         R"("op":"queue.add","name":"q","preempt":{"within":"lower-priority"},"quota":[{"flavor":"f","resource":"nvidia.com/gpu","nominal":"16"}])") +
      JobLine(1, "low", 2, 8, R"(,"queue":"q")") +
      JobLine(2, "high", 1, 8, R"(,"queue":"q","priority":5)") +
      JobLine(3, "small", 1, 8, R"(,"queue":"q")") + kEnd);
  EXPECT_EQ(run.Count({"\"do\":\"evict\"", "\"low\""}), 1u);
  EXPECT_EQ(run.Count({"\"t\":3,", "bind", "\"small\""}), 1u);  // room and quota of the whole gang
}

TEST(Peers, PromisedNodesStayKeptAndShortJobsFillTheGap_V2045_V2384) {
  const auto run = RunScript(ClusterLines(2) + JobLine(0, "x", 1, 8, ",\"duration\":100") +
                             JobLine(1, "large", 2, 8, ",\"duration\":10") +
                             JobLine(2, "long", 1, 8, ",\"duration\":99") +
                             JobLine(3, "short", 1, 8, ",\"duration\":97") + kEnd);
  EXPECT_EQ(run.Count({"\"t\":3,", "bind", "\"short\""}), 1u);
  EXPECT_EQ(run.Count({"\"t\":100,", "bind", "\"large\""}), 2u);
  EXPECT_EQ(run.Count({"\"t\":110,", "bind", "\"long\""}), 1u);
}

TEST(Peers, SeveralFailedNodesAreReplacedAtOnceAndRanksKeepTheirNumbers_Q14244_Q14917) {
  const std::string taint = R"(,"taints":[{"key":"k","value":"v","effect":"NoSchedule"}])";
  std::string script = Levels();
  for (int i = 0; i < 8; ++i) script += NodeLine(i, 0, 0, i == 4 ? taint : "");
  const auto run =
      RunScript(script + JobLine(1, "a", 4, 8) + At(5, R"("op":"node.fail","name":"n1")") +
                At(5, R"("op":"node.fail","name":"n2")") + kEnd);
  EXPECT_EQ(run.Count({"\"do\":\"evict\""}), 0u);
  const auto again = run.With({"\"t\":5,", "bind"});
  ASSERT_EQ(again.size(), 2u);
  EXPECT_NE(again[0].find(R"("rank":1,"node":"n5")"), std::string::npos) << again[0];
  EXPECT_NE(again[1].find(R"("rank":2,"node":"n6")"), std::string::npos) << again[1];
}

TEST(Peers, SharesNeverExceedACardAndNothingIsBoundToAFullNode_K2153_K848) {
  const auto share = [](int i, int milli) {
    return R"({"t":1,"op":"job.submit","name":"s)" + std::to_string(i) +
           R"(","tasks":[{"name":"w","count":1,"shape":{"gpu_milli":")" + std::to_string(milli) +
           "\"}}]}\n";
  };
  std::string script = Levels() + NodeLine(0, 0, 0);
  for (int i = 0; i < 20; ++i) script += share(i, 600);
  const auto run = RunScript(script + kEnd);
  EXPECT_EQ(run.Count({"\"do\":\"bind\""}), 8u);  // one a card
  EXPECT_EQ(run.pending, 12);
}

TEST(Peers, RanksThatHaveEndedAreNotRunAgainAfterANodeIsRemoved_V3296) {
  const auto run = RunScript(ClusterLines(4) + JobLine(1, "a", 2, 8) +
                             At(5, R"("op":"task.end","name":"a","task":"w","rank":0)") +
                             At(6, R"("op":"node.remove","name":"n0")") + kEnd);
  EXPECT_EQ(run.Count({"\"do\":\"bind\""}), 2u);
  EXPECT_EQ(run.Count({"\"do\":\"evict\""}), 0u);
}

// A live run that failed where its replay succeeded (K#1217): here both are the same bytes.
TEST(Peers, ARecordedRunReplaysToTheSameDecisions_K1217) {
  std::string script = ClusterLines(6);
  for (int i = 0; i < 30; ++i)
    script += JobLine(i, "j" + std::to_string(i), 1 + i % 4, 1 << i % 4,
                      i % 3 == 0 ? ",\"duration\":20" : ",\"priority\":1,\"duration\":7");
  EXPECT_EQ(RunScript(script + kEnd).lines, RunScript(script + kEnd).lines);
}

}  // namespace
}  // namespace muster::sched
