#include "backend/kubernetes/sched/volcano_jobs.h"

#include <gtest/gtest.h>

#include "kube/testing/fake_place.h"

namespace muster::kubesched {
namespace {

using kube::testing::FakePlace;

const kube::Resource kJobs{"batch.volcano.sh", "v1alpha1", "jobs", "Job"};
const kube::Resource kSecrets{"", "v1", "secrets", "Secret"};

struct JobStage {
  FakePlace place;
  int keys_made = 0;
  std::unique_ptr<VolcanoJobs> jobs;

  void Begin() {
    jobs = std::make_unique<VolcanoJobs>(
        place.client, [] { return true; }, nullptr,
        [this]() -> Result<SshKeys> {
          ++keys_made;
          return SshKeys{"private", "public"};
        });
    jobs->Start();
  }
  void Job(const std::string& more = "") {
    place.api.Put(kJobs, "ml", "j",
                  R"("spec":{"minAvailable":2,"plugins":{"ssh":[],"svc":[]})" + more +
                      R"(,"tasks":[{"name":"w","replicas":2,"template":{"spec":{"containers":)"
                      R"([{"name":"c"}]}}}]})");
  }
  bool Until(const std::function<bool()>& done, int polls = 3000) {
    return place.Until(
        [&] {
          jobs->Turn();
          return done();
        },
        polls);
  }
  size_t Pods() const { return place.api.Contents(kube::kPods).size(); }
  std::string At(const kube::Resource& resource, const std::string& name, const char* pointer) {
    const auto body = place.client.Ask(kube::Get(resource, "ml", name));
    return body.ok() ? kube::ValueAt(*body, pointer).value_or("") : "";
  }
  void PodIs(const std::string& name, const std::string& phase) {
    place.api.Put(kube::kPods, "ml", name,
                  R"("metadata":{"labels":{"volcano.sh/job-name":"j","volcano.sh/task-spec":"w"}},)"
                  R"("status":{"phase":")" +
                      phase + "\"}");
  }
};

TEST(VolcanoJobs, MakesAllThatTheJobNeedsOnce) {
  JobStage stage;
  stage.Job();
  stage.Begin();
  ASSERT_TRUE(stage.Until([&] { return stage.Pods() == 2 && stage.jobs->idle(); }));
  EXPECT_EQ(stage.keys_made, 1);
  EXPECT_EQ(stage.At(kSecrets, "j-ssh", "/data/id_rsa"), "cHJpdmF0ZQ==");
  EXPECT_EQ(stage.At(kube::kConfigMaps, "j-svc", "/data/w.host"), "j-w-0.j\nj-w-1.j");
  EXPECT_EQ(stage.At(kJobs, "j", "/status/state/phase"), "Pending");
  stage.Begin();  // another leads
  ASSERT_TRUE(stage.Until([&] { return stage.jobs->idle(); }));
  EXPECT_EQ(stage.Pods(), 2u);
  EXPECT_EQ(stage.At(kSecrets, "j-ssh", "/data/id_rsa"), "cHJpdmF0ZQ==") << "its keys are kept";
}

TEST(VolcanoJobs, AJobGoesAfterItsTime) {
  JobStage stage;
  stage.Job(R"(,"ttlSecondsAfterFinished":30)");
  stage.Begin();
  ASSERT_TRUE(stage.Until([&] { return stage.Pods() == 2 && stage.jobs->idle(); }));
  for (const char* pod : {"j-w-0", "j-w-1"}) stage.PodIs(pod, "Succeeded");
  ASSERT_TRUE(stage.Until([&] { return stage.place.api.Contents(kJobs).empty(); }));
}

TEST(VolcanoJobs, APodThatIsTakenAwayRestartsAllOnce) {
  JobStage stage;
  stage.Job(R"(,"policies":[{"event":"PodEvicted","action":"RestartJob"}])");
  stage.Begin();
  ASSERT_TRUE(stage.Until([&] { return stage.Pods() == 2 && stage.jobs->idle(); }));
  for (const char* pod : {"j-w-0", "j-w-1"}) stage.PodIs(pod, "Running");
  ASSERT_TRUE(stage.Until([&] {
    return stage.At(kJobs, "j", "/status/state/phase") == "Running" && stage.jobs->idle();
  }));
  ASSERT_TRUE(stage.place.api.Remove(kube::kPods, "ml", "j-w-0"));
  ASSERT_TRUE(stage.Until([&] {
    return stage.At(kJobs, "j", "/status/retryCount") == "1" && stage.Pods() == 2 &&
           stage.At(kube::kPods, "j-w-1", "/status/phase").empty() && stage.jobs->idle();
  }));
  EXPECT_EQ(stage.At(kJobs, "j", "/status/retryCount"), "1");
}

TEST(VolcanoJobs, AJobThatFailsEachTimeIsFailedAfterItsRetriesAndKeepsWhatFailed) {
  JobStage stage;
  stage.Job(R"(,"maxRetry":3,"policies":[{"event":"PodFailed","action":"RestartJob"}])");
  stage.Begin();
  for (int run = 1; run <= 3; ++run) {
    ASSERT_TRUE(stage.Until([&] { return stage.Pods() == 2 && stage.jobs->idle(); })) << run;
    EXPECT_EQ(stage.At(kube::kPods, "j-w-1", "/metadata/annotations/volcano.sh~1job-retry-count"),
              std::to_string(run - 1));
    stage.PodIs("j-w-0", "Failed");
    ASSERT_TRUE(stage.Until([&] {
      return stage.At(kJobs, "j", "/status/retryCount") == std::to_string(run) &&
             (run == 3 || stage.Pods() == 2) && stage.jobs->idle();
    })) << run;
  }
  ASSERT_TRUE(stage.Until([&] { return stage.Pods() == 1 && stage.jobs->idle(); }));
  EXPECT_EQ(stage.At(kJobs, "j", "/status/state/phase"), "Failed");
  EXPECT_EQ(stage.At(kJobs, "j", "/status/version"), "3");
  EXPECT_EQ(stage.At(kube::kPods, "j-w-0", "/status/phase"), "Failed");
}

}  // namespace
}  // namespace muster::kubesched
