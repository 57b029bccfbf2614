#include "backend/kubernetes/sched/volcano_job.h"

#include <gtest/gtest.h>

#include "kube/object.h"

namespace muster::kubesched {
namespace {

using kube::ValueAt;

// Two tasks as in a first smoke job: a master and its workers.
std::string SmokeJob(const std::string& more = "", const std::string& status = "{}") {
  return R"({"metadata":{"name":"smoke","namespace":"ml","uid":"u1"},"spec":{"minAvailable":3,)"
         R"("schedulerName":"volcano","queue":"q","plugins":{"pytorch":["--master=master",)"
         R"("--worker=worker","--port=23456"]},"policies":[{"event":"PodEvicted",)"
         R"("action":"RestartJob"}])" +
         more +
         R"(,"tasks":[{"name":"master","replicas":1,"policies":[{"event":"TaskCompleted",)"
         R"("action":"CompleteJob"}],"template":{"spec":{"containers":[{"name":"c"}]}}},)"
         R"({"name":"worker","replicas":2,"template":{"spec":{"containers":[{"name":"c"}]}}}]},)"
         R"("status":)" +
         status + "}";
}
VolcanoPod Pod(const std::string& task, int index, const std::string& phase) {
  return {"smoke-" + task + "-" + std::to_string(index), "uid", task, phase, false};
}

TEST(VolcanoJob, MakesItsGroupItsServiceAndItsPods) {
  const auto plan = PlanVolcanoJob(SmokeJob(), {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(ValueAt(plan->group, "/spec/minMember"), "3");
  EXPECT_EQ(ValueAt(plan->group, "/spec/queue"), "q");
  EXPECT_EQ(ValueAt(plan->service, "/spec/clusterIP"), "None");
  ASSERT_EQ(plan->pods.size(), 3u);
  EXPECT_EQ(ValueAt(plan->pods[0], "/metadata/name"), "smoke-master-0");
  EXPECT_EQ(ValueAt(plan->pods[0], "/metadata/annotations/scheduling.k8s.io~1group-name"),
            plan->group_name);
  EXPECT_EQ(ValueAt(plan->pods[0], "/spec/schedulerName"), "volcano");
  EXPECT_EQ(ValueAt(plan->pods[0], "/metadata/ownerReferences/0/uid"), "u1");
}

TEST(VolcanoJob, ThePytorchPluginTellsEachPodItsRank) {
  const auto plan = PlanVolcanoJob(SmokeJob(), {});
  ASSERT_TRUE(plan.ok());
  const auto env = [&](size_t pod, size_t variable) {
    return ValueAt(plan->pods[pod], "/spec/containers/0/env/" + std::to_string(variable) + "/value")
        .value_or("");
  };
  for (size_t pod = 0; pod < 3; ++pod) {
    EXPECT_EQ(env(pod, 0), "smoke-master-0.smoke");
    EXPECT_EQ(env(pod, 1), "23456");
    EXPECT_EQ(env(pod, 2), "3");
    EXPECT_EQ(env(pod, 3), std::to_string(pod));
  }
}

TEST(VolcanoJob, WhatIsThereIsNotMadeAgain) {
  const auto plan =
      PlanVolcanoJob(SmokeJob(), {Pod("master", 0, "Running"), Pod("worker", 1, "Pending")});
  ASSERT_EQ(plan->pods.size(), 1u);
  EXPECT_EQ(ValueAt(plan->pods[0], "/metadata/name"), "smoke-worker-0");
  EXPECT_EQ(plan->phase, "Running");
}

TEST(VolcanoJob, WhenTheMasterEndsTheJobIsCompleteAndItsWorkersGo) {
  const auto plan = PlanVolcanoJob(
      SmokeJob(),
      {Pod("master", 0, "Succeeded"), Pod("worker", 0, "Running"), Pod("worker", 1, "Succeeded")});
  EXPECT_EQ(plan->phase, "Completed");
  ASSERT_EQ(plan->remove.size(), 1u);
  EXPECT_EQ(plan->remove[0].name, "smoke-worker-0");
  EXPECT_TRUE(plan->pods.empty());
}

TEST(VolcanoJob, AFailedPodRestartsTheWholeGangUntilTheRetriesAreUsed) {
  const std::vector<VolcanoPod> pods = {Pod("master", 0, "Running"), Pod("worker", 0, "Failed"),
                                        Pod("worker", 1, "Running")};
  const auto first = PlanVolcanoJob(SmokeJob(R"(,"maxRetry":2)"), pods);
  EXPECT_EQ(first->remove.size(), 3u);
  EXPECT_EQ(first->retries, 1);
  const auto last = PlanVolcanoJob(SmokeJob(R"(,"maxRetry":2)", R"({"retryCount":2})"), pods);
  EXPECT_EQ(last->phase, "Failed");
  EXPECT_EQ(last->remove.size(), 2u) << "those that still run";
}

TEST(VolcanoJob, AJobThatHasEndedMakesNothing) {
  const auto plan = PlanVolcanoJob(SmokeJob("", R"({"state":{"phase":"Completed"}})"), {});
  EXPECT_EQ(plan->phase, "Completed");
  EXPECT_TRUE(plan->pods.empty());
}

TEST(VolcanoJob, WhatIsAskedAndNotDoneIsSaid) {
  std::string job = SmokeJob();
  job.replace(job.find("\"pytorch\""), 9, "\"mpi\"");
  const auto plan = PlanVolcanoJob(job, {});
  ASSERT_TRUE(plan.ok());
  ASSERT_FALSE(plan->notes.empty());
  EXPECT_NE(plan->notes[0].find("plugins.mpi"), std::string::npos);
}

TEST(VolcanoJob, WhatCannotBeIsRefused) {
  EXPECT_FALSE(PlanVolcanoJob("", {}).ok());
  EXPECT_FALSE(PlanVolcanoJob("[]", {}).ok());
  EXPECT_FALSE(PlanVolcanoJob(R"({"metadata":{"name":"x"},"spec":{"tasks":[]}})", {}).ok());
  EXPECT_FALSE(
      PlanVolcanoJob(R"({"metadata":{"name":"x"},"spec":{"tasks":[{"replicas":1}]}})", {}).ok());
  EXPECT_FALSE(PlanVolcanoJob(R"({"metadata":{"name":"x"},"spec":{"tasks":[{"replicas":99999,)"
                              R"("template":{"spec":{"containers":[]}}}]}})",
                              {})
                   .ok());
  EXPECT_FALSE(PlanVolcanoJob(R"({"metadata":{"name":"x"},"spec":{"tasks":[7]}})", {}).ok());
}

}  // namespace
}  // namespace muster::kubesched
