#include "backend/kubernetes/sched/volcano_job.h"

#include <gtest/gtest.h>

#include "kube/base64.h"
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
  VolcanoPod pod;
  pod.name = "smoke-" + task + "-" + std::to_string(index);
  pod.uid = "uid-" + pod.name, pod.task = task, pod.phase = phase;
  return pod;
}
const TimePoint kNow = *ParseTime("2026-02-02T00:00:00Z");
Result<VolcanoJobPlan> Plan(const std::string& json, const std::vector<VolcanoPod>& pods,
                            TimePoint now = kNow) {
  return PlanVolcanoJob(json, pods, now);
}

TEST(VolcanoJob, MakesItsGroupItsServiceAndItsPods) {
  const auto plan = Plan(SmokeJob(), {});
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
  const auto plan = Plan(SmokeJob(), {});
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
  const auto plan = Plan(SmokeJob(), {Pod("master", 0, "Running"), Pod("worker", 1, "Pending")});
  ASSERT_EQ(plan->pods.size(), 1u);
  EXPECT_EQ(ValueAt(plan->pods[0], "/metadata/name"), "smoke-worker-0");
  EXPECT_EQ(plan->phase, "Pending") << "three of them must run together";
}

TEST(VolcanoJob, WhenTheMasterEndsTheJobIsCompleteAndItsWorkersGo) {
  const auto plan = Plan(SmokeJob(), {Pod("master", 0, "Succeeded"), Pod("worker", 0, "Running"),
                                      Pod("worker", 1, "Succeeded")});
  EXPECT_EQ(plan->phase, "Completed");
  ASSERT_EQ(plan->remove.size(), 1u);
  EXPECT_EQ(plan->remove[0].name, "smoke-worker-0");
  EXPECT_TRUE(plan->pods.empty());
}

TEST(VolcanoJob, APodThatItsNodeGaveUpRestartsTheWholeGangUntilTheRetriesAreUsed) {
  std::vector<VolcanoPod> pods = {Pod("master", 0, "Running"), Pod("worker", 0, "Failed"),
                                  Pod("worker", 1, "Running")};
  EXPECT_TRUE(Plan(SmokeJob(), pods)->remove.empty()) << "it failed by itself: that is PodFailed";
  pods[1].reason = "Evicted";
  const auto first = Plan(SmokeJob(R"(,"maxRetry":2)"), pods);
  EXPECT_EQ(first->remove.size(), 3u);
  EXPECT_EQ(first->retries, 1);
  EXPECT_EQ(first->version, 1);
  const auto last = Plan(SmokeJob(R"(,"maxRetry":2)", R"({"retryCount":1,"version":1})"), pods);
  EXPECT_EQ(last->phase, "Failed");
  EXPECT_EQ(last->retries, 2) << "the restart that was one too many is counted";
  EXPECT_EQ(last->version, 2);
  EXPECT_EQ(last->remove.size(), 2u) << "those that still run";
  EXPECT_EQ(Plan(SmokeJob(R"(,"maxRetry":1)"), pods)->phase, "Failed");
  for (const char* asked : {"", R"(,"maxRetry":0)"}) {
    EXPECT_EQ(Plan(SmokeJob(asked, R"({"retryCount":1})"), pods)->phase, "Restarting");
    EXPECT_EQ(Plan(SmokeJob(asked, R"({"retryCount":2})"), pods)->phase, "Failed");
  }
}

TEST(VolcanoJob, ItsVersionCountsHowOftenAllOfItWasToldToGoAndItsPodsCarryIt) {
  const auto again =
      Plan(SmokeJob("", R"({"retryCount":2,"version":1,"state":{"phase":"Restarting"}})"), {});
  ASSERT_EQ(again->pods.size(), 3u);
  const std::string key = "/metadata/annotations/volcano.sh~1job-";
  EXPECT_EQ(ValueAt(again->pods[0], key + "version"), "1");
  EXPECT_EQ(ValueAt(again->pods[0], key + "retry-count"), "2");
  EXPECT_EQ(ValueAt(again->status, "/status/version"), "1");
  const auto ended = Plan(SmokeJob("", R"({"version":1})"), {Pod("master", 0, "Succeeded")});
  EXPECT_EQ(ended->phase, "Completed");
  EXPECT_EQ(ended->version, 2);
  EXPECT_EQ(Plan(SmokeJob("", R"({"version":2,"state":{"phase":"Completed"}})"), {})->version, 2);
}

TEST(VolcanoJob, APodThatSomebodyTakesAwayIsAnEviction) {
  std::vector<VolcanoPod> pods = {Pod("master", 0, "Running"), Pod("worker", 0, "Running"),
                                  Pod("worker", 1, "Running")};
  pods[2].leaving = true;
  const auto plan = Plan(SmokeJob(), pods);
  EXPECT_EQ(plan->phase, "Restarting");
  EXPECT_EQ(plan->remove.size(), 3u);
  EXPECT_TRUE(plan->pods.empty()) << "not before they are gone";
}

TEST(VolcanoJob, AnExitCodeChoosesItsActionAndATimeoutDelaysIt) {
  std::vector<VolcanoPod> pods = {Pod("master", 0, "Running"), Pod("worker", 0, "Failed"),
                                  Pod("worker", 1, "Running")};
  pods[1].exit_code = 3, pods[1].ended = kNow;
  const auto with = [](const std::string& policy) {
    std::string job = SmokeJob();
    return job.replace(job.find(R"({"event":"PodEvicted","action":"RestartJob"})"), 44, policy);
  };
  const auto pod = Plan(with(R"({"exitCode":3,"action":"RestartPod"})"), pods);
  EXPECT_EQ(pod->version, 0) << "of one pod only the retries are counted";
  ASSERT_EQ(pod->remove.size(), 1u);
  EXPECT_EQ(pod->remove[0].name, "smoke-worker-0");
  EXPECT_EQ(Plan(with(R"({"exitCode":3,"action":"RestartTask"})"), pods)->remove.size(), 2u);
  EXPECT_TRUE(Plan(with(R"({"exitCode":4,"action":"RestartJob"})"), pods)->remove.empty());
  const std::string slow = with(R"({"event":"PodFailed","action":"AbortJob","timeout":"5m"})");
  const auto waits = Plan(slow, pods, kNow + std::chrono::minutes(4));
  EXPECT_TRUE(waits->remove.empty());
  EXPECT_EQ(waits->look_at, kNow + std::chrono::minutes(5));
  EXPECT_EQ(Plan(slow, pods, kNow + std::chrono::minutes(5))->phase, "Aborted");
}

TEST(VolcanoJob, WhenAllHaveEndedTheMinimaSayHow) {
  const auto phase = [](const std::string& more, const std::string& worker) {
    return Plan(SmokeJob(more), {Pod("master", 0, "Failed"), Pod("worker", 0, "Succeeded"),
                                 Pod("worker", 1, worker)})
        ->phase;
  };
  EXPECT_EQ(phase("", "Succeeded"), "Failed") << "minAvailable is 3";
  EXPECT_EQ(phase(R"(,"minSuccess":2)", "Succeeded"), "Completed");
  EXPECT_EQ(phase(R"(,"minSuccess":2)", "Failed"), "Failed");
  EXPECT_EQ(phase("", "Running"), "Running");
}

TEST(VolcanoJob, ItsStatusCountsItsPodsAndKeepsItsPhases) {
  const auto plan = Plan(SmokeJob(), {Pod("master", 0, "Running"), Pod("worker", 0, "Running"),
                                      Pod("worker", 1, "Pending")});
  EXPECT_EQ(plan->phase, "Pending");
  EXPECT_EQ(ValueAt(plan->status, "/status/running"), "2");
  EXPECT_EQ(ValueAt(plan->status, "/status/pending"), "1");
  EXPECT_EQ(ValueAt(plan->status, "/status/minAvailable"), "3");
  EXPECT_EQ(ValueAt(plan->status, "/status/taskStatusCount/worker/phase/Pending"), "1");
  EXPECT_EQ(ValueAt(plan->status, "/status/conditions/0/status"), "Pending");
  const std::string stands = *ValueAt(plan->status, "/status");
  const std::vector<VolcanoPod> all = {Pod("master", 0, "Running"), Pod("worker", 0, "Running"),
                                       Pod("worker", 1, "Running")};
  const auto runs = Plan(SmokeJob("", stands), all);
  EXPECT_EQ(ValueAt(runs->status, "/status/state/phase"), "Running");
  EXPECT_EQ(ValueAt(runs->status, "/status/conditions/1/status"), "Running");
  EXPECT_EQ(ValueAt(runs->status, "/status/taskStatusCount/worker/phase/Pending"), "null");
  const auto same =
      Plan(SmokeJob("", stands),
           {Pod("master", 0, "Running"), Pod("worker", 0, "Running"), Pod("worker", 1, "Pending")});
  EXPECT_EQ(same->status, "") << "what stands is not written again";
}

TEST(VolcanoJob, AJobGoesWhenItsTimeAfterTheEndHasPassed) {
  const std::string job =
      SmokeJob(R"(,"ttlSecondsAfterFinished":60)",
               R"({"state":{"phase":"Completed","lastTransitionTime":"2026-02-02T00:00:00Z"}})");
  const auto early = Plan(job, {}, kNow + std::chrono::seconds(59));
  EXPECT_FALSE(early->over);
  EXPECT_EQ(early->look_at, kNow + std::chrono::seconds(60));
  EXPECT_TRUE(Plan(job, {}, kNow + std::chrono::seconds(60))->over);
}

TEST(VolcanoJob, TheSshPluginMountsOneKeyPairForAllAndSvcTheHosts) {
  std::string job = SmokeJob();
  job.replace(job.find("\"plugins\":{"), 11,
              R"("plugins":{"ssh":[],"svc":["--disable-network-policy"],)");
  const auto plan = Plan(job, {});
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->notes.empty()) << plan->notes[0];
  EXPECT_EQ(plan->secret_name, "smoke-ssh");
  EXPECT_EQ(ValueAt(plan->hosts, "/data/worker.host"),
            "smoke-worker-0.smoke\nsmoke-worker-1.smoke");
  const std::string& pod = plan->pods[1];
  EXPECT_EQ(ValueAt(pod, "/spec/volumes/0/configMap/name"), "smoke-svc");
  EXPECT_EQ(ValueAt(pod, "/spec/containers/0/volumeMounts/0/mountPath"), "/etc/volcano");
  EXPECT_EQ(ValueAt(pod, "/spec/volumes/1/secret/secretName"), "smoke-ssh");
  EXPECT_EQ(ValueAt(pod, "/spec/volumes/1/secret/items/2/path"), ".ssh/authorized_keys");
  EXPECT_EQ(ValueAt(pod, "/spec/containers/0/volumeMounts/1/mountPath"), "/root/.ssh");
  const SshKeys keys{"private", "public\n"};
  const std::string secret = VolcanoSecretBody(job, keys);
  EXPECT_EQ(kube::FromBase64(*ValueAt(secret, "/data/id_rsa")), keys.private_pem);
  EXPECT_NE(kube::FromBase64(*ValueAt(secret, "/data/config"))
                ->find("Host smoke-worker-1\n  HostName smoke-worker-1.smoke\n"),
            std::string::npos);
}

TEST(VolcanoJob, AJobThatHasEndedMakesNothing) {
  const auto plan = Plan(SmokeJob("", R"({"state":{"phase":"Completed"}})"), {});
  EXPECT_EQ(plan->phase, "Completed");
  EXPECT_TRUE(plan->pods.empty());
}

TEST(VolcanoJob, WhatIsAskedAndNotDoneIsSaid) {
  std::string job = SmokeJob();
  job.replace(job.find("\"pytorch\""), 9, "\"mpi\"");
  const auto plan = Plan(job, {});
  ASSERT_TRUE(plan.ok());
  ASSERT_FALSE(plan->notes.empty());
  EXPECT_NE(plan->notes[0].find("plugins.mpi"), std::string::npos);
}

TEST(VolcanoJob, WhatCannotBeIsRefused) {
  EXPECT_FALSE(Plan("", {}).ok());
  EXPECT_FALSE(Plan("[]", {}).ok());
  EXPECT_FALSE(Plan(R"({"metadata":{"name":"x"},"spec":{"tasks":[]}})", {}).ok());
  EXPECT_FALSE(Plan(R"({"metadata":{"name":"x"},"spec":{"tasks":[{"replicas":1}]}})", {}).ok());
  EXPECT_FALSE(Plan(R"({"metadata":{"name":"x"},"spec":{"tasks":[{"replicas":99999,)"
                    R"("template":{"spec":{"containers":[]}}}]}})",
                    {})
                   .ok());
  EXPECT_FALSE(Plan(R"({"metadata":{"name":"x"},"spec":{"tasks":[7]}})", {}).ok());
}

}  // namespace
}  // namespace muster::kubesched
