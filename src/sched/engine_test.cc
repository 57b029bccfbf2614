#include "sched/engine.h"

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

TEST(Engine, BindsAGangWholeOrNotAtAll) {
  const auto run = RunScript(ClusterLines(2) + JobLine(1, "fits", 2, 8, ",\"duration\":10") +
                             JobLine(2, "late", 2, 8) + JobLine(2, "never", 3, 8) + kEnd);
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.Count({"bind", "\"fits\""}), 2u);
  EXPECT_EQ(run.Count({"\"t\":11", "bind", "\"late\""}), 2u);
  EXPECT_EQ(run.Count({"bind", "\"never\""}), 0u);
  EXPECT_EQ(run.Count({"pending", "\"never\"", "GANG", "\"needed\":3"}), 1u);
  EXPECT_EQ(run.bound, 1);
  EXPECT_EQ(run.pending, 1);
}

// Two gangs that each hold half of what both need (scheduler-plugins #114, #117).
TEST(Engine, TwoGangsNeverHoldHalfEach) {
  const auto run = RunScript(ClusterLines(4) + JobLine(1, "a", 3, 8, ",\"duration\":5") +
                             JobLine(1, "b", 3, 8, ",\"duration\":5") + kEnd);
  EXPECT_EQ(run.Count({"\"t\":1,", "bind", "\"a\""}), 3u);
  EXPECT_EQ(run.Count({"\"t\":1,", "bind", "\"b\""}), 0u);
  EXPECT_EQ(run.Count({"\"t\":6,", "bind", "\"b\""}), 3u);
}

TEST(Engine, RunTimesThatEndFreeBeforeTheEventsOfThatTime) {
  const auto run = RunScript(ClusterLines(1) + JobLine(0, "a", 1, 8, ",\"duration\":10") +
                             JobLine(10, "b", 1, 8) + kEnd);
  ASSERT_EQ(run.Count({"\"t\":10,"}), 2u);
  EXPECT_EQ(run.With({"\"t\":10,"})[0], R"({"t":10,"do":"finish","job":"a","why":"DONE"})");
  EXPECT_EQ(run.Count({"\"t\":10,", "bind", "\"b\""}), 1u);
}

TEST(Engine, EachOfAKindIsToldOfItsOwnTask) {
  const auto submit = [](const char* name, const char* task) {
    return At(1, std::string(R"("op":"job.submit","name":")") + name + R"(","tasks":[{"name":")" +
                     task + R"(","count":3,"shape":{"nvidia.com/gpu":"8"}}])");
  };
  const auto run = RunScript(ClusterLines(2) + submit("a", "one") + submit("b", "other") + kEnd);
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.Count({"pending", "\"a\"", "\"task\":\"one\""}), 1u);
  EXPECT_EQ(run.Count({"pending", "\"b\"", "\"task\":\"other\""}), 1u);
}

TEST(Engine, ALimitEndsARun) {
  const auto run =
      RunScript(ClusterLines(1) + JobLine(0, "a", 1, 8, ",\"duration\":50,\"limit\":20") + kEnd);
  EXPECT_EQ(run.Count({"\"t\":20,", "finish", "LIMIT"}), 1u);
}

TEST(Engine, NamesTheConstraintThatBinds) {
  const std::string taint =
      R"(,"taints":[{"key":"k","value":"v","effect":"NoSchedule"}],"labels":{"gpu":"a"})";
  const auto run =
      RunScript("{\"t\":0,\"op\":\"topology\",\"levels\":[\"spine\",\"leaf\",\"node\"]}\n" +
                NodeLine(0, 0, 0, taint) + NodeLine(1, 0, 0) + NodeLine(2, 0, 1) +
                NodeLine(3, 0, 1) + At(0, R"("op":"node.cordon","name":"n2")") +
                JobLine(1, "sel", 1, 8, "", R"(,"select":{"gpu":"b"})") +
                JobLine(1, "taint", 1, 8, "", R"(,"select":{"gpu":"a"})") +
                JobLine(1, "gang", 9, 8) + JobLine(1, "health", 3, 8) + JobLine(1, "shape", 1, 9) +
                JobLine(1, "topo", 2, 8, R"(,"topology":{"required":"leaf"})") + kEnd);
  EXPECT_EQ(run.Count({"pending", "\"sel\"", "SELECTOR"}), 1u);
  EXPECT_EQ(run.Count({"pending", "\"taint\"", "TAINT", "k=v:NoSchedule"}), 1u);
  EXPECT_EQ(run.Count({"pending", "\"gang\"", "GANG", "\"capacity\":3"}), 1u);
  EXPECT_EQ(run.Count({"pending", "\"health\"", "HEALTH", "\"nodes_out\":1"}), 1u);
  EXPECT_EQ(run.Count({"reject", "\"shape\"", "\"asked\":9", "[1,2,3,4,5,6,7,8]"}), 1u);
  EXPECT_EQ(run.Count({"pending", "\"topo\"", "TOPOLOGY", "\"largest\":1"}), 1u);
}

// The driver alone would take the node that the workers need: packed one after another, they miss.
TEST(Engine, FindsRoomForSeveralGroupsTogether) {
  const std::string job =
      R"({"t":1,"op":"job.submit","name":"two","tasks":[)"
      R"({"name":"worker","count":4,"shape":{"nvidia.com/gpu":"1"},"select":{"gpu":"a"}},)"
      R"({"name":"driver","count":1,"shape":{"nvidia.com/gpu":"4"}}]})"
      "\n";
  const auto run =
      RunScript("{\"t\":0,\"op\":\"topology\",\"levels\":[\"spine\",\"leaf\",\"node\"]}\n" +
                NodeLine(0, 0, 0, R"(,"labels":{"gpu":"a"})") +
                NodeLine(1, 0, 0, R"(,"labels":{"gpu":"b"})") +
                JobLine(0, "x", 1, 4, "", R"(,"select":{"gpu":"a"})") +
                JobLine(0, "y", 1, 3, "", R"(,"select":{"gpu":"b"})") + job + kEnd);
  EXPECT_EQ(run.Count({"bind", "\"two\"", "\"worker\"", "\"n0\""}), 4u);
  EXPECT_EQ(run.Count({"bind", "\"two\"", "\"driver\"", "\"n1\""}), 1u);
}

TEST(Engine, NamesTheConstraintOfTheFlavorThatQuotaAdmits) {
  const auto flavor = [](const std::string& name) {
    return At(0, R"("op":"flavor.add","name":")" + name + R"(","labels":{"gpu":")" + name + "\"}");
  };
  const auto run = RunScript(
      "{\"t\":0,\"op\":\"topology\",\"levels\":[\"spine\",\"leaf\",\"node\"]}\n" +
      NodeLine(0, 0, 0, R"(,"labels":{"gpu":"a"})") +
      NodeLine(1, 0, 0, R"(,"labels":{"gpu":"b"})") + flavor("a") + flavor("b") +
      At(0,
         R"("op":"queue.add","name":"q","quota":[{"flavor":"a","resource":"nvidia.com/gpu","nominal":"4"},{"flavor":"b","resource":"nvidia.com/gpu","nominal":"32"}])") +
      JobLine(1, "j", 2, 8, R"(,"queue":"q")") + kEnd);
  EXPECT_EQ(run.Count({"pending", "\"j\"", "GANG", "\"capacity\":1"}), 1u);
  EXPECT_EQ(run.Count({"ORDER"}), 0u);
}

TEST(Engine, ChargesTheQueueInAFlavorAndSaysWhatIsShort) {
  const std::string queues =
      At(0, R"("op":"flavor.add","name":"any")") +
      At(0,
         R"("op":"queue.add","name":"q","quota":[{"flavor":"any","resource":"nvidia.com/gpu","nominal":"8"}])");
  const auto run = RunScript(
      ClusterLines(4) + queues + JobLine(1, "a", 1, 6, R"(,"queue":"q","duration":10)") +
      JobLine(2, "b", 1, 4, R"(,"queue":"q")") + JobLine(2, "c", 3, 4, R"(,"queue":"q")") + kEnd);
  EXPECT_EQ(run.Count({"admit", "\"a\"", R"({"w":{"nvidia.com/gpu":"any"}})"}), 1u);
  EXPECT_EQ(run.Count({"pending", "\"b\"", "QUOTA", "\"short\":\"2\""}), 1u);
  EXPECT_EQ(run.Count({"pending", "\"c\"", "LIMIT", "\"most\":\"8\""}), 1u);
  EXPECT_EQ(run.Count({"\"t\":11,", "bind", "\"b\""}), 1u);
}

TEST(Engine, AStrictQueueLetsNobodyPass) {
  const std::string queue = At(0, R"("op":"queue.add","name":"q","order":"fifo")");
  const auto run = RunScript(ClusterLines(1) + queue + JobLine(1, "big", 2, 8, R"(,"queue":"q")") +
                             JobLine(2, "small", 1, 1, R"(,"queue":"q")") +
                             At(5, R"("op":"job.cancel","name":"big")") + kEnd);
  EXPECT_EQ(run.Count({"pending", "\"small\"", "ORDER", "\"behind\":\"big\""}), 1u);
  EXPECT_EQ(run.Count({"\"t\":5,", "bind", "\"small\""}), 1u);
}

// Eight nodes of 8; gangs of 28, 28, 12, 28, 28, 3 and 3 GPUs come in this order. `more` goes with
// each.
testing::ScriptRun RunMix(const std::string& order, const std::string& more = "",
                          const std::string& later = "") {
  std::string script = ClusterLines(8) + At(0, R"("op":"queue.add","name":"q","order":")" + order +
                                                   R"(","quota":[{"flavor":"any","resource":)"
                                                   R"("nvidia.com/gpu","nominal":"64"}])");
  int number = 0;
  for (const int gpus : {28, 28, 12, 28, 28, 3, 3}) {
    const std::string name = "j" + std::to_string(number++);
    script += JobLine(number, name, gpus, 1, R"(,"queue":"q")" + more);
  }
  return RunScript(script + later + kEnd);
}

TEST(Engine, InAStrictQueueSmallJobsWaitForTheirTurnAndSayBehindWhom) {
  const auto run = RunMix("fifo", "", At(50, R"("op":"job.cancel","name":"j2")"));
  for (const std::string name : {"j3", "j4", "j5", "j6"})
    EXPECT_EQ(run.Count({"\"t\":" + std::to_string(name[1] - '0' + 1) + ",", "pending",
                         "\"" + name + "\"", "ORDER", R"("behind":"j2")"}),
              1u)
        << name;
  // The next in turn does not fit either: now they wait behind that one.
  EXPECT_EQ(run.Count({"\"t\":50,", "pending", "\"j3\"", "GANG"}), 1u);
  EXPECT_EQ(run.Count({"\"do\":\"bind\"", "\"j5\""}), 0u);
}

TEST(Engine, InAnyOtherQueueSmallJobsStartBesideLargeOnesThatWait) {
  const auto run = RunMix("best-effort-fifo");
  for (const char* name : {"\"j0\"", "\"j1\"", "\"j5\"", "\"j6\""})
    EXPECT_EQ(run.Count({"\"do\":\"admit\"", name}), 1u) << name;
  EXPECT_EQ(run.pending, 3);
}

// Where run times are known, what is promised is kept free by whole nodes.
TEST(Engine, ASmallJobThatAPromiseKeepsOutNamesThePromiseThatDoes) {
  const auto run = RunMix("best-effort-fifo", R"(,"duration":1000000)");
  const auto promised = run.With({"\"do\":\"reserve\"", "\"job\":\"j3\""});
  ASSERT_EQ(promised.size(), 1u);
  EXPECT_NE(promised[0].find("\"n7\""), std::string::npos) << "the last node with room for three";
  EXPECT_EQ(run.Count({"pending", "\"j6\"", "RESERVED", R"("for":"j3")"}), 1u);
}

TEST(Engine, FairQueuesTakeTurns) {
  std::string script = ClusterLines(2) + At(0, R"("op":"flavor.add","name":"f")") +
                       At(0, R"("op":"queue.add","name":"root","order":"fair")");
  for (const char* name : {"a", "b"})
    script += At(
        0,
        std::string(R"("op":"queue.add","name":")") + name +
            R"(","parent":"root","quota":[{"flavor":"f","resource":"nvidia.com/gpu","nominal":"16"}])");
  for (int i = 0; i < 4; ++i)
    script += JobLine(1, "a" + std::to_string(i), 1, 4, R"(,"queue":"a")");
  for (int i = 0; i < 4; ++i)
    script += JobLine(1, "b" + std::to_string(i), 1, 4, R"(,"queue":"b")");
  const auto run = RunScript(script + kEnd);
  EXPECT_EQ(run.Count({"bind", "\"job\":\"a"}), 2u);
  EXPECT_EQ(run.Count({"bind", "\"job\":\"b"}), 2u);
}

TEST(Engine, MendsAGangInTheSameLeaf) {
  const auto run = RunScript(ClusterLines(8, 4) +
                             JobLine(1, "a", 3, 8, ",\"duration\":100,\"checkpoint_every\":10") +
                             At(25, R"("op":"node.fail","name":"n1")") + kEnd);
  ASSERT_EQ(run.Count({"\"t\":25,", "bind"}), 1u);
  EXPECT_NE(run.With({"\"t\":25,", "bind"})[0].find(R"("rank":1,"node":"n3")"), std::string::npos);
  // 20 of 100 were kept by checkpoints.
  EXPECT_EQ(run.Count({"\"t\":105,", "finish", "DONE"}), 1u);
}

TEST(Engine, RequeuesAGangThatCannotBeMended) {
  const auto run =
      RunScript(ClusterLines(2) + JobLine(1, "a", 2, 8) + At(5, R"("op":"node.fail","name":"n0")") +
                At(9, R"("op":"node.health","name":"n0","value":"accepted")") + kEnd);
  EXPECT_EQ(run.Count({"\"t\":5,", "evict", "REPAIR"}), 1u);
  EXPECT_EQ(run.Count({"\"t\":5,", "pending", "HEALTH"}), 1u);
  EXPECT_EQ(run.Count({"\"t\":9,", "bind"}), 2u);
}

TEST(Engine, AnElasticGangStartsSmallAndGrows) {
  const auto run =
      RunScript(ClusterLines(2) + JobLine(0, "other", 1, 8, ",\"duration\":10") +
                JobLine(1, "a", 2, 8, R"(,"elastic":{"min":1,"max":2})", ",\"min\":1") + kEnd);
  EXPECT_EQ(run.Count({"\"t\":1,", "bind", "\"a\""}), 1u);
  EXPECT_EQ(run.Count({"\"t\":10,", "bind", "\"a\"", "\"rank\":1"}), 1u);
}

TEST(Engine, RefusesWhatCannotBeAndNamesTheLine) {
  EXPECT_EQ(RunScript(At(0, R"("op":"node.cordon","name":"x")")).error,
            "line 1: there is no node x");
  EXPECT_EQ(RunScript(ClusterLines(1) + NodeLine(0, 0, 0)).error,
            "line 3: node n0 is there already");
  EXPECT_EQ(RunScript(kEnd + kEnd).error, "line 2: something follows the end");
}

TEST(Engine, AnIdleTickDecidesNothing) {
  Engine engine;
  std::vector<Decision> out;
  engine.Settle(out);
  engine.Run(1000, out);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(engine.now(), 1000);
}

}  // namespace
}  // namespace muster::sched
