// Every rule of the checker against at least one hand-written decisions file that breaks it, and
// against right ones: a check that cannot fail would prove nothing about a scheduler.
#include "checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/digest.h"

namespace sched_checker {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

// Two leaves of two nodes, four GPUs and 32 CPUs each, no queues.
const std::string kCluster = R"({"t":0,"op":"topology","levels":["spine","leaf","node"]}
{"t":0,"op":"node.add","name":"a1","at":["s0","l0"],"labels":{"gpu":"h100"},"capacity":{"cpu":"32","nvidia.com/gpu":"4"}}
{"t":0,"op":"node.add","name":"a2","at":["s0","l0"],"labels":{"gpu":"h100"},"capacity":{"cpu":"32","nvidia.com/gpu":"4"}}
{"t":0,"op":"node.add","name":"b1","at":["s0","l1"],"labels":{"gpu":"h100"},"capacity":{"cpu":"32","nvidia.com/gpu":"4"}}
{"t":0,"op":"node.add","name":"b2","at":["s0","l1"],"labels":{"gpu":"h100"},"capacity":{"cpu":"32","nvidia.com/gpu":"4"}}
)";

std::string Submit(int t, const std::string& name, int count, int gpus,
                   const std::string& more = "", const std::string& more_task = "") {
  return R"({"t":)" + std::to_string(t) + R"(,"op":"job.submit","name":")" + name +
         R"(","tasks":[{"name":"w","count":)" + std::to_string(count) +
         R"(,"shape":{"nvidia.com/gpu":")" + std::to_string(gpus) + R"("})" +
         (more_task.empty() ? "" : "," + more_task) + "}]" + (more.empty() ? "" : "," + more) +
         "}\n";
}
std::string Event(int t, const std::string& rest) {
  return R"({"t":)" + std::to_string(t) + R"(,"op":)" + rest + "}\n";
}
std::string Do(int t, const std::string& rest) {
  return R"({"t":)" + std::to_string(t) + R"(,"do":)" + rest + "}\n";
}
std::string Bind(int t, const std::string& job, int rank, const std::string& node,
                 const std::string& ids) {
  return Do(t, R"("bind","job":")" + job + R"(","task":"w","rank":)" + std::to_string(rank) +
                   R"(,"node":")" + node + R"(","devices":{"nvidia.com/gpu":[)" + ids + "]}");
}
std::string Admit(int t, const std::string& job, const std::string& flavor = "h100") {
  return Do(
      t, R"("admit","job":")" + job + R"(","flavors":{"w":{"nvidia.com/gpu":")" + flavor + "\"}}");
}
std::string Pending(int t, const std::string& job, const std::string& code = "GANG",
                    const std::string& would = "") {
  return Do(t, R"("pending","job":")" + job + R"(","because":[{"code":")" + code + "\"}]" +
                   (would.empty() ? "" : R"(,"would_start_if":[)" + would + "]"));
}
std::string Evict(int t, const std::string& job, const std::string& code,
                  const std::string& other) {
  return Do(t, R"("evict","job":")" + job + R"(","why":{"code":")" + code + "\"" +
                   (other.empty() ? "" : R"(,"for":")" + other + "\"") + "}");
}
std::string Finish(int t, const std::string& job, const std::string& why = "DONE") {
  return Do(t, R"("finish","job":")" + job + R"(","why":")" + why + "\"");
}
std::string Queues(const std::string& preempt_a, const std::string& quota_a,
                   const std::string& quota_b) {
  return Event(0, R"("flavor.add","name":"h100","labels":{"gpu":"h100"})") +
         Event(0, R"("queue.add","name":"root")") +
         Event(0, R"("queue.add","name":"qa","parent":"root","preempt":{)" + preempt_a +
                      R"(},"quota":[{"flavor":"h100","resource":"nvidia.com/gpu",)" + quota_a +
                      "}]") +
         Event(
             0,
             R"("queue.add","name":"qb","parent":"root","quota":[{"flavor":"h100","resource":"nvidia.com/gpu",)" +
                 quota_b + "}]");
}

// The rules that the lines break; the summary is added, at the end of the script where it has one.
std::vector<std::string> Rules(const std::string& events, const std::string& lines, int bound,
                               int pending, Options options = {}) {
  const size_t end = events.find(R"(,"op":"end")");
  const int last =
      end == std::string::npos ? 99999 : std::stoi(events.substr(events.rfind(':', end - 1) + 1));
  const std::string decisions =
      lines +
      Do(last, R"("summary","decisions_sha256":")" + muster::Sha256Hex(lines) + R"(","bound":)" +
                   std::to_string(bound) + R"(,"pending":)" + std::to_string(pending));
  const Report report = Check(kCluster + events, decisions, options);
  std::vector<std::string> rules;
  for (const Violation& v : report.violations) rules.push_back(v.rule);
  return rules;
}
const Options kNuma = {.numa = true};

TEST(Checker, AcceptsAGangThatRunsToItsEnd) {
  EXPECT_THAT(
      Rules(Submit(0, "j", 2, 4, R"("duration":100)"),
            Bind(0, "j", 0, "a1", "0,1,2,3") + Bind(0, "j", 1, "a2", "0,1,2,3") + Finish(100, "j"),
            0, 0),
      IsEmpty());
}
TEST(Checker, CatchesADeviceGivenTwice) {
  EXPECT_THAT(Rules(Submit(0, "i", 1, 2) + Submit(0, "j", 1, 2),
                    Bind(0, "i", 0, "a1", "0,1") + Bind(0, "j", 0, "a1", "1,2"), 2, 0),
              Contains("CAPACITY"));
}
TEST(Checker, CatchesOneDeviceTwiceInOneBind) {
  EXPECT_THAT(Rules(Submit(0, "j", 1, 2), Bind(0, "j", 0, "a1", "1,1"), 1, 0),
              Contains("CAPACITY"));
}
TEST(Checker, CatchesARankBoundTwice) {
  EXPECT_THAT(
      Rules(Submit(0, "j", 1, 1), Bind(0, "j", 0, "a1", "1") + Bind(0, "j", 0, "a2", "1"), 1, 0),
      Contains("CAPACITY"));
}
TEST(Checker, CatchesANodeOverItsCpu) {
  const std::string job =
      R"({"t":0,"op":"job.submit","name":"j","tasks":[{"name":"w","count":2,"shape":{"cpu":"17"}}]})"
      "\n";
  const auto bind = [](int rank) {
    return Do(0, R"("bind","job":"j","task":"w","node":"a1","rank":)" + std::to_string(rank));
  };
  EXPECT_THAT(Rules(job, bind(0) + bind(1), 1, 0), Contains("CAPACITY"));
}
TEST(Checker, AcceptsSharesUpToAWholeDeviceAndCatchesMore) {
  const auto job = [](const std::string& name, int milli) {
    return R"({"t":0,"op":"job.submit","name":")" + name +
           R"(","tasks":[{"name":"w","count":1,"shape":{"gpu_milli":")" + std::to_string(milli) +
           "\"}}]}\n";
  };
  const std::string lines = Bind(0, "i", 0, "a1", "2") + Bind(0, "j", 0, "a1", "2");
  EXPECT_THAT(Rules(job("i", 400) + job("j", 600), lines, 2, 0), IsEmpty());
  EXPECT_THAT(Rules(job("i", 400) + job("j", 601), lines, 2, 0), Contains("CAPACITY"));
  EXPECT_THAT(Rules(job("i", 400) + Submit(0, "j", 1, 1), lines, 2, 0), Contains("CAPACITY"));
}
TEST(Checker, CatchesAWrongNumberOfDevicesAndAnUnknownOne) {
  EXPECT_THAT(Rules(Submit(0, "j", 1, 2), Bind(0, "j", 0, "a1", "1"), 1, 0), Contains("DEVICES"));
  EXPECT_THAT(Rules(Submit(0, "j", 1, 1), Bind(0, "j", 0, "a1", "4"), 1, 0), Contains("DEVICES"));
}
TEST(Checker, CatchesABindOnANodeThatTakesNothing) {
  for (const char* event :
       {R"("node.cordon","name":"a1")", R"("node.fail","name":"a1")",
        R"("node.health","name":"a1","value":"suspect")", R"("node.remove","name":"a1")"})
    EXPECT_THAT(Rules(Event(0, event) + Submit(0, "j", 1, 1), Bind(0, "j", 0, "a1", "0"), 1, 0),
                Contains("USABLE"))
        << event;
}
TEST(Checker, AcceptsANodeThatCameBack) {
  EXPECT_THAT(Rules(Event(0, R"("node.fail","name":"a1")") +
                        Event(0, R"("node.uncordon","name":"a1")") + Submit(0, "j", 1, 1),
                    Bind(0, "j", 0, "a1", "0"), 1, 0),
              IsEmpty());
}
TEST(Checker, CatchesAGangBoundInPart) {
  EXPECT_THAT(Rules(Submit(0, "j", 2, 4), Bind(0, "j", 0, "a1", "0,1,2,3"), 1, 0),
              Contains("GANG"));
}
TEST(Checker, AcceptsMinAndCatchesLess) {
  const std::string job = Submit(0, "j", 3, 4, "", R"("min":2)");
  const std::string two = Bind(0, "j", 0, "a1", "0,1,2,3") + Bind(0, "j", 1, "a2", "0,1,2,3");
  EXPECT_THAT(Rules(job, two, 1, 0), IsEmpty());
  EXPECT_THAT(Rules(job, Bind(0, "j", 0, "a1", "0,1,2,3"), 1, 0), Contains("GANG"));
}
TEST(Checker, CatchesAHurtGangThatIsLeftInPartAndAcceptsItsRepair) {
  const std::string events = Submit(0, "j", 2, 4) + Event(5, R"("node.fail","name":"a2")");
  const std::string start = Bind(0, "j", 0, "a1", "0,1,2,3") + Bind(0, "j", 1, "a2", "0,1,2,3");
  EXPECT_THAT(Rules(events, start, 1, 0), Contains("GANG"));
  EXPECT_THAT(Rules(events, start + Bind(5, "j", 1, "b1", "0,1,2,3"), 1, 0), IsEmpty());
}
TEST(Checker, CatchesAShrinkBelowTheMinimumAndOfARigidJob) {
  const std::string start =
      Bind(0, "j", 0, "a1", "0") + Bind(0, "j", 1, "a1", "1") + Bind(0, "j", 2, "a1", "2");
  const auto shrink = [](const std::string& ranks) {
    return Do(
        5, R"("shrink","job":"j","task":"w","ranks":[)" + ranks + R"(],"why":{"code":"HEALTH"})");
  };
  const std::string cordon = Event(5, R"("node.cordon","name":"a1")");
  const std::string elastic =
      Submit(0, "j", 3, 1, R"("elastic":{"min":2,"max":3})", R"("min":1)") + cordon;
  EXPECT_THAT(Rules(elastic, start + shrink("2"), 1, 0), IsEmpty());
  EXPECT_THAT(Rules(elastic, start + shrink("1,2"), 1, 0), Contains("GANG"));
  EXPECT_THAT(Rules(Submit(0, "j", 3, 1, "", R"("min":1)") + cordon, start + shrink("2"), 1, 0),
              Contains("GANG"));
}
TEST(Checker, CatchesAMissedSelectorTaintAndFlavor) {
  EXPECT_THAT(Rules(Submit(0, "j", 1, 1, "", R"("select":{"gpu":"a100"})"),
                    Bind(0, "j", 0, "a1", "0"), 1, 0),
              Contains("PLACE"));
  const std::string tainted = Event(
      0,
      R"("node.add","name":"t","at":["s0","l0"],"taints":[{"key":"k","value":"v","effect":"NoSchedule"}],"capacity":{"nvidia.com/gpu":"1"})");
  EXPECT_THAT(Rules(tainted + Submit(0, "j", 1, 1), Bind(0, "j", 0, "t", "0"), 1, 0),
              Contains("PLACE"));
  const std::string tolerates = R"("tolerate":[{"key":"k","operator":"Equal","value":"v"}])";
  EXPECT_THAT(Rules(tainted + Submit(0, "j", 1, 1, "", tolerates), Bind(0, "j", 0, "t", "0"), 1, 0),
              IsEmpty());
  const std::string queues =
      Event(0, R"("flavor.add","name":"x","labels":{"gpu":"b200"})") +
      Event(
          0,
          R"("queue.add","name":"q","quota":[{"flavor":"x","resource":"nvidia.com/gpu","nominal":"9"}])");
  EXPECT_THAT(Rules(queues + Submit(0, "j", 1, 1, R"("queue":"q")"),
                    Admit(0, "j", "x") + Bind(0, "j", 0, "a1", "0"), 1, 0),
              Contains("PLACE"));
}
TEST(Checker, CatchesABrokenRequiredDomainAndABrokenSlice) {
  const std::string apart = Bind(0, "j", 0, "a1", "0,1,2,3") + Bind(0, "j", 1, "b1", "0,1,2,3");
  EXPECT_THAT(Rules(Submit(0, "j", 2, 4, R"("topology":{"required":"leaf"})"), apart, 1, 0),
              Contains("TOPOLOGY"));
  EXPECT_THAT(Rules(Submit(0, "j", 2, 4, R"("topology":{"required":"spine"})"), apart, 1, 0),
              IsEmpty());
  EXPECT_THAT(
      Rules(Submit(0, "j", 2, 4, R"("topology":{"slice":{"size":2,"level":"leaf"}})"), apart, 1, 0),
      Contains("TOPOLOGY"));
  EXPECT_THAT(
      Rules(Submit(0, "j", 2, 4, R"("topology":{"slice":{"size":1,"level":"leaf"}})"), apart, 1, 0),
      IsEmpty());
}
TEST(Checker, CatchesDevicesOfTwoZonesOnASingleZoneNode) {
  const std::string node = Event(
      0,
      R"("node.add","name":"n","at":["s0","l0"],"capacity":{"nvidia.com/gpu":"4"},"numa":[{"nvidia.com/gpu":[0,1]},{"nvidia.com/gpu":[2,3]}],"topology_manager":{"policy":"single-numa-node"})");
  const auto bind = [](const std::string& ids) {
    return Do(0,
              R"("bind","job":"j","task":"w","rank":0,"node":"n","devices":{"nvidia.com/gpu":[)" +
                  ids + R"(]},"numa":[0])");
  };
  EXPECT_THAT(Rules(node + Submit(0, "j", 1, 2), bind("0,1"), 1, 0, kNuma), IsEmpty());
  EXPECT_THAT(Rules(node + Submit(0, "j", 1, 2), bind("1,2"), 1, 0, kNuma), Contains("NUMA"));
}
TEST(Checker, HoldsQuotaWithBorrowingAndLending) {
  const auto run = [](const std::string& quota_a, const std::string& quota_b, int gpus) {
    std::string lines = Admit(0, "j");
    for (int rank = 0; rank < gpus; ++rank)
      lines += Bind(0, "j", rank,
                    rank < 4   ? "a1"
                    : rank < 8 ? "a2"
                               : "b1",
                    std::to_string(rank % 4));
    return Rules(Queues("", quota_a, quota_b) + Submit(0, "j", gpus, 1, R"("queue":"qa")"), lines,
                 1, 0);
  };
  EXPECT_THAT(run(R"("nominal":"4")", R"("nominal":"4")", 8), IsEmpty());
  EXPECT_THAT(run(R"("nominal":"4")", R"("nominal":"4")", 9), Contains("QUOTA"));
  EXPECT_THAT(run(R"("nominal":"4","borrow":"2")", R"("nominal":"4")", 6), IsEmpty());
  EXPECT_THAT(run(R"("nominal":"4","borrow":"2")", R"("nominal":"4")", 7), Contains("QUOTA"));
  EXPECT_THAT(run(R"("nominal":"4")", R"("nominal":"4","lend":"1")", 5), IsEmpty());
  EXPECT_THAT(run(R"("nominal":"4")", R"("nominal":"4","lend":"1")", 6), Contains("QUOTA"));
}
TEST(Checker, CatchesLentQuotaUsedTwice) {
  const std::string events = Queues("", R"("nominal":"4")", R"("nominal":"4")") +
                             Submit(0, "i", 6, 1, R"("queue":"qa")") +
                             Submit(0, "j", 3, 1, R"("queue":"qb")");
  std::string lines = Admit(0, "i");
  for (int rank = 0; rank < 6; ++rank)
    lines += Bind(0, "i", rank, rank < 4 ? "a1" : "a2", std::to_string(rank % 4));
  lines += Admit(0, "j");
  for (int rank = 0; rank < 3; ++rank) lines += Bind(0, "j", rank, "b1", std::to_string(rank));
  EXPECT_THAT(Rules(events, lines, 2, 0), Contains("QUOTA"));
}
TEST(Checker, CatchesABindWithoutAdmitOrInAnUnlistedFlavor) {
  const std::string events = Queues("", R"("nominal":"4")", R"("nominal":"4")") +
                             Event(0, R"("flavor.add","name":"other","labels":{})") +
                             Submit(0, "j", 1, 1, R"("queue":"qa")");
  EXPECT_THAT(Rules(events, Bind(0, "j", 0, "a1", "0"), 1, 0), Contains("QUOTA"));
  EXPECT_THAT(Rules(events, Admit(0, "j", "other") + Bind(0, "j", 0, "a1", "0"), 1, 0),
              Contains("QUOTA"));
}
TEST(Checker, CatchesFinishLinesThatAreMissingEarlyOrForAWrongReason) {
  const std::string job = Submit(0, "j", 1, 1, R"("duration":100,"limit":50)");
  const std::string start = Bind(0, "j", 0, "a1", "0");
  EXPECT_THAT(Rules(job, start + Finish(50, "j", "LIMIT"), 0, 0), IsEmpty());
  EXPECT_THAT(Rules(job + Event(60, R"("end")"), start, 0, 0), Contains("FINISH"));
  EXPECT_THAT(Rules(job, start + Finish(40, "j", "LIMIT"), 0, 0), Contains("FINISH"));
  EXPECT_THAT(Rules(job, start + Finish(50, "j", "DONE"), 0, 0), Contains("FINISH"));
  EXPECT_THAT(Rules(job + Event(9, R"("job.cancel","name":"j")"),
                    start + Finish(9, "j", "CANCELLED"), 0, 0),
              IsEmpty());
  EXPECT_THAT(Rules(job + Event(9, R"("job.cancel","name":"j")"), start, 0, 0), Contains("FINISH"));
}
TEST(Checker, CountsWhatACheckpointSavesOfAnEvictedRun) {
  const std::string events = Submit(0, "j", 1, 1, R"("duration":100,"checkpoint_every":30)") +
                             Event(70, R"("node.fail","name":"a1")");
  const std::string lines = Bind(0, "j", 0, "a1", "0") + Bind(70, "j", 0, "a2", "0");
  EXPECT_THAT(Rules(events, lines + Finish(110, "j"), 0, 0), IsEmpty());
  EXPECT_THAT(Rules(events, lines + Finish(100, "j"), 0, 0), Contains("FINISH"));
}

// Two jobs fill the cluster; a third takes the place of one.
std::string FullAnd(const std::string& preempt, const std::string& victim, const std::string& third,
                    const std::string& queue = "qa") {
  return Queues(preempt, R"("nominal":"8")", R"("nominal":"8")") +
         Submit(0, "v", 2, 4, R"("queue":")" + queue + "\"" + victim) +
         Submit(0, "u", 2, 4, R"("queue":"qb")") + Submit(5, "n", 2, 4, R"("queue":"qa")" + third);
}
const std::string kFull = Admit(0, "v") + Bind(0, "v", 0, "a1", "0,1,2,3") +
                          Bind(0, "v", 1, "a2", "0,1,2,3") + Admit(0, "u") +
                          Bind(0, "u", 0, "b1", "0,1,2,3") + Bind(0, "u", 1, "b2", "0,1,2,3");
const std::string kTaken = Admit(5, "n") + Bind(5, "n", 0, "a1", "0,1,2,3") +
                           Bind(5, "n", 1, "a2", "0,1,2,3") + Pending(5, "v");

TEST(Checker, HoldsEvictionsToThePolicyWithinTheQueue) {
  const std::string lines = kFull + Evict(5, "v", "PREEMPT", "n") + kTaken;
  const std::string lower = R"("within":"lower-priority")",
                    equal = R"("within":"lower-or-newer-equal")";
  EXPECT_THAT(Rules(FullAnd(lower, "", R"(,"priority":1)"), lines, 2, 1), IsEmpty());
  EXPECT_THAT(Rules(FullAnd(lower, "", ""), lines, 2, 1), Contains("PREEMPT"));
  EXPECT_THAT(Rules(FullAnd("", "", R"(,"priority":1)"), lines, 2, 1), Contains("PREEMPT"));
  EXPECT_THAT(Rules(FullAnd(equal, "", ""), lines, 2, 1),
              Contains("PREEMPT"));  // the victim is older
  EXPECT_THAT(Rules(FullAnd(lower, R"(,"preemptible":false)", R"(,"priority":1)"), lines, 2, 1),
              Contains("PREEMPT"));
}
TEST(Checker, HoldsEvictionsAcrossQueuesToReclaim) {
  const std::string lines = kFull + Evict(5, "v", "RECLAIM", "n") + kTaken;
  // v and u are both of qb, which has 8: one of them is borrowed.
  EXPECT_THAT(Rules(FullAnd(R"("reclaim":"any")", "", "", "qb"), lines, 2, 1), IsEmpty());
  EXPECT_THAT(Rules(FullAnd(R"("reclaim":"lower-priority")", "", "", "qb"), lines, 2, 1),
              Contains("PREEMPT"));
  EXPECT_THAT(Rules(FullAnd("", "", "", "qb"), lines, 2, 1), Contains("PREEMPT"));
}
TEST(Checker, CatchesReclaimFromAQueueWithinItsNominal) {
  const std::string events = Queues(R"("reclaim":"any")", R"("nominal":"8")", R"("nominal":"16")") +
                             Submit(0, "v", 2, 4, R"("queue":"qb")") +
                             Submit(0, "u", 2, 4, R"("queue":"qb")") +
                             Submit(5, "n", 2, 4, R"("queue":"qa")");
  EXPECT_THAT(Rules(events, kFull + Evict(5, "v", "RECLAIM", "n") + kTaken, 2, 1),
              Contains("PREEMPT"));
}
TEST(Checker, CatchesAnEvictionForNobody) {
  EXPECT_THAT(
      Rules(Submit(0, "j", 1, 1),
            Bind(0, "j", 0, "a1", "0") + Evict(5, "j", "HEALTH", "") + Pending(5, "j", "ORDER"), 0,
            1),
      Contains("PREEMPT"));
}
TEST(Checker, CatchesAnEvictionWhoseJobDoesNotStart) {
  EXPECT_THAT(Rules(FullAnd(R"("within":"lower-priority")", "", R"(,"priority":1)"),
                    kFull + Evict(5, "v", "PREEMPT", "n") + Pending(5, "n", "ORDER") +
                        Pending(5, "v", "ORDER"),
                    1, 2),
              Contains("USELESS"));
}
TEST(Checker, CatchesAVictimThatCouldHaveStayed) {
  const std::string queue =
      Event(0, R"("flavor.add","name":"h100","labels":{"gpu":"h100"})") +
      Event(0, R"("queue.add","name":"q","preempt":{"within":"lower-priority"})");
  const std::string one = queue + Submit(0, "v", 1, 4, R"("queue":"q")") +
                          Submit(5, "n", 1, 4, R"("queue":"q","priority":1)");
  EXPECT_THAT(Rules(one,
                    Bind(0, "v", 0, "a1", "0,1,2,3") + Evict(5, "v", "PREEMPT", "n") +
                        Bind(5, "n", 0, "a1", "0,1,2,3") + Bind(5, "v", 0, "a2", "0,1,2,3"),
                    2, 0),
              Contains("USELESS"));
}
TEST(Checker, CatchesAReservedStartThatIsNotKept) {
  std::string events, lines;
  for (const char* node : {"a1", "a2", "b1", "b2"}) {
    events += Submit(0, node, 1, 4, R"("duration":100)");
    lines += Bind(0, node, 0, node, "0,1,2,3");
  }
  events += Submit(1, "j", 4, 4, R"("duration":10)") + Event(300, R"("end")");
  lines +=
      Pending(1, "j") + Do(1, R"("reserve","job":"j","start":100,"nodes":["a1","a2","b1","b2"])");
  std::string done;
  for (const char* node : {"a1", "a2", "b1", "b2"}) done += Finish(100, node);
  const auto start = [](int t) {
    std::string binds;
    int rank = 0;
    for (const char* node : {"a1", "a2", "b1", "b2"})
      binds += Bind(t, "j", rank++, node, "0,1,2,3");
    return binds + Finish(t + 10, "j");
  };
  const auto again = [](const std::string& why) {
    return Do(50, R"("reserve","job":"j","start":120,"nodes":["a1"])" + why);
  };
  EXPECT_THAT(Rules(events, lines + done + start(100), 0, 0), IsEmpty());
  EXPECT_THAT(Rules(events, lines + done + Pending(100, "j", "ORDER") + start(110), 0, 0),
              Contains("RESERVE"));
  EXPECT_THAT(Rules(events, lines + again("") + done + start(100), 0, 0), Contains("RESERVE"));
  EXPECT_THAT(Rules(events, lines + again(R"(,"why":{"code":"HEALTH"})") + done + start(100), 0, 0),
              Contains("RESERVE"));
}
TEST(Checker, LetsAPromiseBeTakenBackForAReasonOnly) {
  const std::string before =
      Submit(0, "x", 1, 4, R"("duration":100)") + Submit(1, "j", 4, 4, R"("duration":10)");
  const std::string end = Event(300, R"("end")");
  const auto lines = [](const std::string& more) {
    return Bind(0, "x", 0, "a1", "0,1,2,3") + Pending(1, "j") +
           Do(1, R"("reserve","job":"j","start":100,"nodes":["b2"])") + more + Finish(100, "x") +
           Pending(100, "j");
  };
  const std::string lost = Event(50, R"("node.cordon","name":"b2")");
  const auto back = [](const std::string& why) {
    return Do(50, R"("reserve","job":"j","start":-1,"nodes":[])" + why);
  };
  const std::string why = R"(,"why":"a node lost")";
  EXPECT_THAT(Rules(before + lost + end, lines(back(why)), 0, 1), Not(Contains("RESERVE")));
  EXPECT_THAT(Rules(before + lost + end, lines(back("")), 0, 1), Contains("RESERVE"));
  EXPECT_THAT(Rules(before + lost + end, lines(""), 0, 1), Contains("RESERVE"));
  EXPECT_THAT(Rules(before + end, lines(back(why)), 0, 1), Contains("RESERVE"));
}
TEST(Checker, CatchesAWaitingJobOfWhichNothingIsSaid) {
  const std::string events = Submit(0, "j", 9, 4);
  EXPECT_THAT(Rules(events, Pending(0, "j"), 0, 1), IsEmpty());
  EXPECT_THAT(Rules(events, "", 0, 1), Contains("PENDING"));
  EXPECT_THAT(Rules(Submit(0, "j", 1, 1), Bind(0, "j", 0, "a1", "0") + Pending(5, "j"), 1, 0),
              Contains("PENDING"));
}
TEST(Checker, CatchesReasonsThatDoNotHold) {
  const std::string events = Submit(0, "j", 9, 4);
  for (const char* code : {"QUOTA", "HEALTH", "TAINT", "SELECTOR", "TOPOLOGY", "ORDER", "RESERVED"})
    EXPECT_THAT(Rules(events, Pending(0, "j", code), 0, 1), Contains("BECAUSE")) << code;
  EXPECT_THAT(Rules(events, Do(0, R"("pending","job":"j","because":[])"), 0, 1),
              Contains("BECAUSE"));
}
TEST(Checker, CatchesAJobThatCouldStart) {
  EXPECT_THAT(Rules(Submit(0, "j", 4, 4), Pending(0, "j"), 0, 1), Contains("STARTABLE"));
  EXPECT_THAT(Rules(Submit(0, "j", 4, 4), Pending(0, "j", "LIMIT"), 0, 1), IsEmpty());
}
TEST(Checker, CatchesAWaitBeyondMaxWait) {
  EXPECT_THAT(Rules(Submit(0, "j", 1, 4, R"("max_wait":50)") + Event(99, R"("end")"),
                    Pending(0, "j", "ORDER"), 0, 1),
              Contains("MAX_WAIT"));
}
TEST(Checker, CatchesAChangeThatWouldNotHelp) {
  const std::string events = Event(0, R"("node.cordon","name":"a1")") +
                             Event(0, R"("node.cordon","name":"a2")") + Submit(0, "j", 4, 4);
  const std::string one = R"({"op":"node.uncordon","name":"a1"})",
                    two = one + R"(,{"op":"node.uncordon","name":"a2"})";
  EXPECT_THAT(Rules(events, Pending(0, "j", "HEALTH", two), 0, 1), IsEmpty());
  EXPECT_THAT(Rules(events, Pending(0, "j", "HEALTH", one), 0, 1), Contains("WOULD"));
}
TEST(Checker, CatchesARejectionThatANodeRefutes) {
  const auto reject = [](const std::string& valid) {
    return Do(0, R"("reject","job":"j","why":{"code":"SHAPE","detail":{"asked":6,"valid":[)" +
                     valid + "]}}");
  };
  EXPECT_THAT(Rules(Submit(0, "j", 1, 6), reject("1,2,3,4"), 0, 0), IsEmpty());
  EXPECT_THAT(Rules(Submit(0, "j", 1, 6), reject("1,6"), 0, 0), Contains("REJECT"));
  EXPECT_THAT(Rules(Submit(0, "j", 1, 4), reject("1,2"), 0, 0), Contains("REJECT"));
}
TEST(Checker, CatchesAQuestionWithoutItsAnswer) {
  const std::string events =
      Submit(0, "j", 9, 4) + Event(3, R"("ask.whatif","change":[],"about":["j"])");
  EXPECT_THAT(Rules(events, Pending(0, "j"), 0, 1), Contains("ANSWER"));
  EXPECT_THAT(
      Rules(events, Pending(0, "j") + Do(3, R"("answer","ask":"whatif","about":"j","start":null)"),
            0, 1),
      IsEmpty());
}
TEST(Checker, CatchesWrongCountsAndWrongDigests) {
  EXPECT_THAT(Rules(Submit(0, "j", 9, 4), Pending(0, "j"), 0, 0), Contains("SUMMARY"));
  const auto report =
      Check(kCluster,
            R"({"t":0,"do":"summary","decisions_sha256":"00","bound":0,"pending":0})"
            "\n",
            {});
  ASSERT_EQ(report.violations.size(), 1u);
  EXPECT_EQ(report.violations[0].rule, "SUMMARY");
}
TEST(Checker, CatchesLinesOutOfOrderAndGangsApart) {
  const std::string events = Submit(0, "i", 2, 1) + Submit(0, "j", 1, 1) + Event(9, R"("end")");
  EXPECT_THAT(
      Rules(events,
            Bind(0, "i", 0, "a1", "0") + Bind(0, "j", 0, "a1", "1") + Bind(0, "i", 1, "a1", "2"), 2,
            0),
      Contains("LINES"));
  EXPECT_THAT(Rules(events, Bind(5, "j", 0, "a1", "1") + Pending(0, "i"), 1, 1), Contains("LINES"));
}
TEST(Checker, CatchesLinesThatAreNone) {
  for (const char* line :
       {"{", R"({"t":0,"do":"dance"})", R"({"t":0,"do":"pending","job":"j","because":[],"x":1})",
        R"({"t":0,"do":"finish","job":"nobody","why":"DONE"})"})
    EXPECT_THAT(Rules("", std::string(line) + "\n", 0, 0), Contains("FORMAT")) << line;
}
TEST(Checker, RefusesAScriptThatIsNone) {
  EXPECT_THROW(Check("{\n", "", {}), BadInput);
  EXPECT_THROW(Check(R"({"t":0,"op":"dance"})"
                     "\n",
                     "", {}),
               BadInput);
}

}  // namespace
}  // namespace sched_checker
