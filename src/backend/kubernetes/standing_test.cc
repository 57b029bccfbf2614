#include "backend/kubernetes/standing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::submit {
namespace {

const char* const kStandingJob =
    R"({"metadata":{"name":"llm"},"spec":{"parallelism":2,"completions":2}})";
const char* const kPending =
    R"({"metadata":{"name":"llm-0"},"spec":{"schedulerName":"muster"},"status":{"phase":"Pending"}})";
const char* const kRunning =
    R"({"metadata":{"name":"llm-0"},"spec":{"nodeName":"n1"},"status":{"phase":"Running"}})";

TEST(Standing, ANewJobWaitsAndTheSilentSchedulerIsNamed) {
  const auto s = StandingOf({kStandingJob, {kPending, kPending}, {}});
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s->phase, Phase::kWaiting);
  EXPECT_EQ(s->wanted, 2);
  EXPECT_EQ(s->reason, "no word from the scheduler muster");
}

TEST(Standing, PodsThatWereNotMadeAreTheReason) {
  EXPECT_NE(StandingOf({kStandingJob, {}, {}})->reason.find("0 of 2 pods were made"),
            std::string::npos);
}

TEST(Standing, TheSchedulersOwnWordsComeFirst) {
  const std::string pod =
      R"({"spec":{},"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","message":"queue research is full"}]}})";
  EXPECT_EQ(StandingOf({kStandingJob, {pod, pod}, {}})->reason, "queue research is full");
}

TEST(Standing, KueueSaysItOnTheWorkload) {
  const std::string job = R"({"spec":{"parallelism":2,"suspend":true}})";
  const std::string workload =
      R"({"status":{"conditions":[{"type":"QuotaReserved","status":"False","message":"insufficient quota for cpu"}]}})";
  EXPECT_EQ(StandingOf({job, {}, {workload}})->reason, "insufficient quota for cpu");
  EXPECT_NE(StandingOf({job, {}, {}})->reason.find("suspended"), std::string::npos);
}

TEST(Standing, AnImageThatCannotBePulledIsTheReasonOfABoundPod) {
  const std::string pod =
      R"({"metadata":{"name":"llm-0"},"spec":{"nodeName":"n1"},"status":{"phase":"Pending","containerStatuses":[{"state":{"waiting":{"reason":"ImagePullBackOff","message":"not found"}}}]}})";
  const auto s = StandingOf({kStandingJob, {pod, pod}, {}});
  EXPECT_EQ(s->phase, Phase::kStarting);
  EXPECT_EQ(s->reason, "llm-0: ImagePullBackOff not found");
}

TEST(Standing, AllThatRunOrEndedIsRunning) {
  const auto s = StandingOf({kStandingJob, {kRunning, kRunning}, {}});
  EXPECT_EQ(s->phase, Phase::kRunning);
  EXPECT_EQ(s->Line(), "running: 2/2 pods bound, 2 running");
}

TEST(Standing, TheControllersWordEndsIt) {
  const std::string done =
      R"({"spec":{"parallelism":2},"status":{"conditions":[{"type":"Complete","status":"True"}]}})";
  EXPECT_EQ(StandingOf({done, {}, {}})->phase, Phase::kSucceeded);
  const std::string failed =
      R"({"spec":{"parallelism":2},"status":{"conditions":[{"type":"Failed","status":"True","message":"backoff"}]}})";
  const std::string refused =
      R"({"metadata":{"name":"llm-1"},"status":{"phase":"Failed","reason":"TopologyAffinityError","message":"no locality"}})";
  const auto s = StandingOf({failed, {refused}, {}});
  EXPECT_EQ(s->phase, Phase::kFailed);
  EXPECT_EQ(s->reason, "backoff; llm-1: TopologyAffinityError no locality");
}

TEST(Standing, VolcanoAndJobSetCountTheirOwnPods) {
  EXPECT_EQ(StandingOf({R"({"spec":{"tasks":[{"replicas":1},{"replicas":3}]}})", {}, {}})->wanted,
            4);
  EXPECT_EQ(
      StandingOf(
          {R"({"spec":{"replicatedJobs":[{"replicas":2,"template":{"spec":{"parallelism":3}}}]}})",
           {},
           {}})
          ->wanted,
      6);
  EXPECT_EQ(StandingOf({R"({"status":{"state":{"phase":"Completed"}}})", {}, {}})->phase,
            Phase::kSucceeded);
}

RC_GTEST_PROP(Standing, IsNeverSucceededWithoutTheControllersWord, (const std::string& noise)) {
  const auto s = StandingOf({kStandingJob, {noise, kRunning}, {noise}});
  RC_ASSERT(s.ok());
  RC_ASSERT(s->phase != Phase::kSucceeded);
}

TEST(Standing, OfTextThatIsNoObjectIsAnError) {
  EXPECT_FALSE(StandingOf({"[]", {}, {}}).ok());
  EXPECT_FALSE(StandingOf({"", {}, {}}).ok());
}

}  // namespace
}  // namespace muster::submit
