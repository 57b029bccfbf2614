#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sched/amount.h"
#include "sched/script_json.h"
#include "sched/script_reader.h"
#include "sched/script_writer.h"

namespace muster::sched {
namespace {

std::string ErrorOf(const std::string& line) {
  ScriptReader reader;
  const auto event = reader.Line(line, 3);
  return event.ok() ? "accepted" : event.error().message;
}
std::string Again(const std::string& line) {
  ScriptReader reader;
  const auto event = reader.Line(line, 1);
  if (!event.ok()) return event.error().message;
  std::string out;
  AppendEvent(*event, true, out);
  return out;
}

TEST(Amounts, AreReadAsKubernetesWritesThem) {
  EXPECT_EQ(*ParseAmount("cpu", "96"), 96000);
  EXPECT_EQ(*ParseAmount("cpu", "500m"), 500);
  EXPECT_EQ(*ParseAmount("cpu", "0.5"), 500);
  EXPECT_EQ(*ParseAmount("memory", "1Ti"), int64_t{1} << 40);
  EXPECT_EQ(*ParseAmount("memory", "1.5Gi"), 1610612736);
  EXPECT_EQ(*ParseAmount("memory", "100M"), 100000000);
  EXPECT_EQ(*ParseAmount("nvidia.com/gpu", "8"), 8);
}

TEST(Amounts, RefuseWhatIsNone) {
  for (const char* text : {"", "x", "8x", "-1", "1e400", "1.", ".", "99999999999999999999", "8 "})
    EXPECT_FALSE(ParseAmount("memory", text).ok()) << text;
  EXPECT_FALSE(ParseAmount("nvidia.com/gpu", "500m").ok());
  EXPECT_FALSE(ParseAmount("gpu_milli", "0.5").ok());
}

RC_GTEST_PROP(Amounts, ComeBackAsTheyWereWritten, ()) {
  const auto amount = *rc::gen::inRange<int64_t>(0, int64_t{1} << 50);
  for (const char* resource : {"cpu", "memory", "nvidia.com/gpu"})
    RC_ASSERT(*ParseAmount(resource, FormatAmount(resource, amount)) == amount);
}

TEST(ScriptReader, SaysLineAndColumnOfEveryMistake) {
  EXPECT_EQ(ErrorOf(R"({"t":0,"op":"node.add","nmae":"n1","capacity":{}})"),
            "line 3, column 1: the key \"name\" is missing");
  EXPECT_EQ(ErrorOf(R"({"t":0,"op":"node.cordon","name":"n1","nmae":1})"),
            "line 3, column 39: unknown key \"nmae\"; did you mean \"name\"?");
  EXPECT_EQ(ErrorOf(R"({"t":"0","op":"end"})"),
            "line 3, column 6: t: expected a whole number, found a text");
  EXPECT_EQ(ErrorOf(R"({"t":0,"op":"node.addd"})"),
            "line 3, column 13: unknown op \"node.addd\"; did you mean \"node.add\"?");
  EXPECT_EQ(ErrorOf(R"({"t":0,"op":"node.add","name":"n","capacity":{"cpu":"9x"}})").substr(0, 24),
            "line 3, column 53: cpu: ");
  EXPECT_EQ(ErrorOf(R"({"t":0,"t":1,"op":"end"})"),
            "line 3, column 8: the key \"t\" stands here twice");
  EXPECT_EQ(ErrorOf(R"({"t":0,"op":"end"} x)").substr(0, 15), "line 3, column ");
  EXPECT_EQ(ErrorOf(R"({"t":0,"op":"end")").substr(0, 15), "line 3, column ");
  EXPECT_EQ(ErrorOf(R"({"t":-1,"op":"end"})").substr(0, 20), "line 3, column 6: t:");
  EXPECT_EQ(ErrorOf("[]").substr(0, 18), "line 3, column 1: ");
}

TEST(ScriptReader, HoldsTheRulesBetweenKeys) {
  const std::string job = R"({"t":0,"op":"job.submit","name":"j","tasks":)";
  EXPECT_NE(ErrorOf(job + "[]}"), "accepted");
  EXPECT_NE(ErrorOf(job + R"([{"name":"a","count":2,"min":3,"shape":{}}]})"), "accepted");
  EXPECT_NE(ErrorOf(job + R"([{"name":"a","count":2,"shape":{"gpu_milli":"1500"}}]})"), "accepted");
  EXPECT_NE(ErrorOf(job + R"([{"name":"a","count":2,"shape":{"gpu_milli":"5","x/gpu":"1"}}]})"),
            "accepted");
  EXPECT_NE(
      ErrorOf(job + R"([{"name":"a","count":2,"shape":{}},{"name":"a","count":1,"shape":{}}]})"),
      "accepted");
  EXPECT_NE(ErrorOf(R"({"t":0,"op":"topology","levels":["node","leaf"]})"), "accepted");
  EXPECT_NE(
      ErrorOf(
          R"({"t":0,"op":"node.add","name":"n","capacity":{"x/gpu":"2"},"numa":[{"x/gpu":[0,2]}]})"),
      "accepted");
}

// The lines of the definition of the cluster script.
TEST(Script, EveryEventComesBackAsItWasRead) {
  for (
      const char* line : {
          R"({"t":0,"op":"topology","levels":["spine","leaf","node"]})",
          R"({"t":0,"op":"node.add","name":"n1","at":["s0","l3"],"labels":{"gpu":"h100"},"taints":[{"key":"gpu","value":"true","effect":"NoSchedule"}],"capacity":{"cpu":"192","memory":"2Ti","nvidia.com/gpu":"2","rdma/ib":"2"},"numa":[{"cpu":"96","memory":"1Ti","nvidia.com/gpu":[0],"rdma/ib":[0]},{"cpu":"96","memory":"1Ti","nvidia.com/gpu":[1],"rdma/ib":[1]}],"topology_manager":{"policy":"restricted","scope":"pod","cpu_manager":"static","memory_manager":"none","reserved":{"cpu":"2"}}})",
          R"({"t":0,"op":"node.remove","name":"n1"})",
          R"({"t":0,"op":"node.health","name":"n1","value":"suspect"})",
          R"({"t":0,"op":"flavor.add","name":"h100","labels":{"gpu":"h100"}})",
          R"({"t":0,"op":"queue.add","name":"ml-prod","parent":"ml","weight":1,"order":"fair","quota":[{"flavor":"h100","resource":"nvidia.com/gpu","nominal":"512","borrow":"256","lend":"0"}],"preempt":{"within":"lower-or-newer-equal","reclaim":"any","borrow":"lower-priority"}})",
          R"({"t":3,"op":"queue.quota","queue":"ml-prod","flavor":"h100","resource":"nvidia.com/gpu","nominal":"520"})",
          R"({"t":5,"op":"job.submit","name":"j1","queue":"ml-prod","priority":100,"preemptible":false,"tasks":[{"name":"worker","count":64,"min":32,"shape":{"cpu":"96","nvidia.com/gpu":"8"},"select":{"gpu":"h100"},"tolerate":[{"key":"gpu","operator":"Equal","value":"true","effect":"NoSchedule"}]}],"topology":{"required":"spine","preferred":"leaf","slice":{"size":8,"level":"leaf"}},"duration":3600000,"limit":7200000,"checkpoint_every":600000,"elastic":{"min":32,"max":64},"max_wait":86400000})",
          R"({"t":9,"op":"job.cancel","name":"j1"})",
          R"({"t":9,"op":"task.fail","name":"j1","task":"worker","rank":3})",
          R"({"t":9,"op":"ask.why","name":"j1"})",
          R"({"t":9,"op":"ask.whatif","change":[{"op":"node.cordon","name":"n1"}],"about":["j1"]})",
          R"({"t":9,"op":"end"})",
      })
    EXPECT_EQ(Again(line), line);
}

TEST(Script, TimeThatGoesBackIsRefusedWithItsLine) {
  const auto events =
      ReadScript("# a comment\n\n{\"t\":5,\"op\":\"end\"}\n{\"t\":4,\"op\":\"end\"}\n");
  ASSERT_FALSE(events.ok());
  EXPECT_EQ(events.error().message, "line 4, column 1: t goes back from 5 to 4");
}

TEST(ScriptWriter, WritesTextsThatJsonCanRead) {
  const std::string line = R"({"t":0,"op":"node.remove","name":"a\"b\\\u0001é"})";
  EXPECT_EQ(Again(line), line);
}

TEST(Script, AQueuesChoiceAmongFlavorsIsWrittenAndReadBack) {
  for (const bool borrows_last : {false, true}) {
    for (const bool evicts_first : {false, true}) {
      QueueAdd add;
      add.queue.name = "q";
      add.queue.borrows_last = borrows_last, add.queue.evicts_first = evicts_first;
      std::string text;
      AppendEvent({0, add}, true, text);
      const auto read = ReadScript(text + "\n");
      ASSERT_TRUE(read.ok()) << read.error().message;
      const auto& back = std::get<QueueAdd>(read->at(0).body);
      EXPECT_EQ(back.queue.borrows_last, borrows_last);
      EXPECT_EQ(back.queue.evicts_first, evicts_first);
    }
  }
}

}  // namespace
}  // namespace muster::sched
