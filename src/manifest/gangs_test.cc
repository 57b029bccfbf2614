#include "manifest/gangs.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Gangs Read(const std::string& text) {
  const auto file = ParseManifestFile(text, "m.yaml");
  EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
  if (!file.ok()) return {};
  return ReadGangs({&*file, 1});
}
std::string Pod(const std::string& extra = "") {
  return "{spec: {containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 8, cpu: "
         "4}}}]" +
         extra + "}}";
}
const ReadJob& Only(const Gangs& gangs) {
  EXPECT_EQ(gangs.jobs.size(), 1u);
  EXPECT_THAT(gangs.errors, IsEmpty());
  static const ReadJob kNone;
  return gangs.jobs.empty() ? kNone : gangs.jobs[0];
}
std::vector<std::string> NotedFields(const Gangs& gangs) {
  std::vector<std::string> fields;
  for (const ManifestNote& note : gangs.notes) fields.push_back(note.field);
  return fields;
}

TEST(Gangs, AVolcanoJobWithPoliciesPluginsAndPriority) {
  const Gangs gangs = Read(
      "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: "
      "1000\n---\n"
      "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: g, namespace: "
      "ml}\nspec:\n"
      "  minAvailable: 3\n  schedulerName: volcano\n  queue: research\n  maxRetry: 2\n  "
      "minSuccess: 1\n"
      "  ttlSecondsAfterFinished: 60\n  runningEstimate: 1h30m\n  priorityClassName: high\n"
      "  networkTopology: {mode: hard, highestTierAllowed: 2}\n"
      "  plugins: {pytorch: [\"--master=m\"], svc: []}\n"
      "  policies: [{event: PodEvicted, action: RestartJob}, {exitCode: 137, action: AbortJob, "
      "timeout: 5s}]\n"
      "  tasks:\n    - {name: m, replicas: 1, policies: [{event: TaskCompleted, action: "
      "CompleteJob}], template: " +
      Pod() + "}\n    - {name: w, replicas: 2, topologyPolicy: restricted, template: " + Pod() +
      "}\n");
  const ReadJob& read = Only(gangs);
  EXPECT_EQ(read.job.queue, "research");
  EXPECT_EQ(read.job.priority, 1000);
  EXPECT_EQ(read.job.duration_ms, 5'400'000);
  EXPECT_EQ(read.job.topology.required, "tier-2");
  EXPECT_EQ(read.scheduler, "volcano");
  EXPECT_EQ(read.max_retry, 2);
  EXPECT_EQ(read.ttl_s, 60);
  EXPECT_EQ(read.min_success, 1);
  ASSERT_EQ(read.policies.size(), 3u);
  EXPECT_EQ(read.policies[1].exit_code, 137);
  EXPECT_EQ(read.policies[1].timeout_ms, 5000);
  EXPECT_EQ(read.policies[2].task, "m");
  EXPECT_THAT(read.plugins.at("pytorch"), ElementsAre("--master=m"));
  ASSERT_EQ(read.job.tasks.size(), 2u);
  EXPECT_EQ(read.job.tasks[1].count, 2);
  EXPECT_EQ(read.job.tasks[1].min, 2);
  EXPECT_EQ(read.job.tasks[1].shape.at("nvidia.com/gpu"), 8);
  EXPECT_EQ(read.job.tasks[1].shape.at("cpu"), 4000);
  EXPECT_EQ(read.job.elastic_max, 0);
  EXPECT_THAT(NotedFields(gangs),
              ElementsAre("task w.topologyPolicy", "spec.ttlSecondsAfterFinished",
                          "policy AbortJob on an exit code after a time-out"));
}

TEST(Gangs, AVolcanoJobThatMayStartSmallerIsElastic) {
  const ReadJob read =
      Only(Read("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: g}\nspec: "
                "{minAvailable: 2, "
                "tasks: [{name: w, replicas: 4, template: " +
                Pod() + "}]}\n"));
  EXPECT_EQ(read.job.elastic_min, 2);
  EXPECT_EQ(read.job.elastic_max, 4);
  EXPECT_EQ(read.job.tasks.at(0).min, 0);
}

TEST(Gangs, AnIndexedJobUnderKueueWithTopology) {
  const Gangs gangs = Read(
      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata: {name: "
      "p}\nvalue: 7\n---\n"
      "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: ddp\n  labels: "
      "{kueue.x-k8s.io/queue-name: q, "
      "kueue.x-k8s.io/priority-class: p}\nspec:\n  completions: 4\n  parallelism: 4\n  "
      "completionMode: Indexed\n"
      "  activeDeadlineSeconds: 600\n  podFailurePolicy: {rules: []}\n  template:\n    metadata: "
      "{annotations: "
      "{kueue.x-k8s.io/podset-required-topology: rack, kueue.x-k8s.io/podset-slice-size: '2', "
      "kueue.x-k8s.io/podset-slice-required-topology: host}}\n    spec:\n      nodeSelector: {a: "
      "b}\n"
      "      tolerations: [{key: nvidia.com/gpu, operator: Exists}]\n      affinity: "
      "{nodeAffinity: {}}\n"
      "      containers: [{name: c, resources: {requests: {cpu: 500m}, limits: {cpu: 1}}}]\n");
  const ReadJob& read = Only(gangs);
  EXPECT_EQ(read.job.queue, "default/q");
  EXPECT_EQ(read.job.priority, 7);
  EXPECT_EQ(read.job.limit_ms, 600'000);
  EXPECT_EQ(read.job.topology.required, "rack");
  EXPECT_EQ(read.job.topology.slice_size, 2);
  EXPECT_EQ(read.job.topology.slice_level, "host");
  EXPECT_EQ(read.job.tasks.at(0).shape.at("cpu"), 500);
  EXPECT_EQ(read.job.tasks[0].select.at("a"), "b");
  EXPECT_EQ(read.job.tasks[0].tolerate.at(0).op, "Exists");
  EXPECT_THAT(NotedFields(gangs), ElementsAre("template.spec.affinity", "spec.podFailurePolicy"));
}

TEST(Gangs, TheOtherKindsOfJobs) {
  EXPECT_EQ(Only(Read("apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: "
                      "s}\nspec: {failurePolicy: "
                      "{maxRestarts: 3}, replicatedJobs: [{name: w, replicas: 2, template: {spec: "
                      "{parallelism: 4, "
                      "completions: 4, template: " +
                      Pod() + "}}}]}\n"))
                .job.tasks.at(0)
                .count,
            8);
  const ReadJob mpi =
      Only(Read("apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: m}\nspec: "
                "{slotsPerWorker: 8, runPolicy: "
                "{schedulingPolicy: {queue: q, minAvailable: 3}}, mpiReplicaSpecs: {Launcher: "
                "{replicas: 1, template: " +
                Pod() + "}, Worker: {replicas: 2, template: " + Pod() + "}}}\n"));
  EXPECT_EQ(mpi.job.tasks.at(1).name, "Worker");
  EXPECT_EQ(mpi.job.queue, "q");
  EXPECT_EQ(Only(Read("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: p}\nspec: "
                      "{pytorchReplicaSpecs: "
                      "{Master: {template: " +
                      Pod() + "}, Worker: {replicas: 3, template: " + Pod() + "}}}\n"))
                .job.tasks.at(1)
                .count,
            3);
  const ReadJob train =
      Only(Read("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: "
                "t}\nspec: {runtimeRef: {name: "
                "torch-distributed}, trainer: {numNodes: 4, resourcesPerNode: {limits: "
                "{nvidia.com/gpu: 8}}}}\n"));
  EXPECT_EQ(train.job.tasks.at(0).count, 4);
  EXPECT_EQ(train.job.tasks[0].shape.at("nvidia.com/gpu"), 8);
  const ReadJob ray =
      Only(Read("apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: r}\nspec: {entrypoint: "
                "python, rayClusterSpec: {headGroupSpec: "
                "{template: " +
                Pod() +
                "}, workerGroupSpecs: [{groupName: g, replicas: 4, minReplicas: 2, maxReplicas: 4, "
                "template: " +
                Pod() + "}]}}\n"));
  EXPECT_EQ(ray.job.tasks.at(1).count, 4);
  EXPECT_EQ(ray.job.elastic_min, 3);
}

// The same two pods in all four groups called PodGroup, and in Kueue's plain-pod group.
TEST(Gangs, FourPodGroupsAreNeverConfused) {
  const auto pods = [](const std::string& meta, const std::string& spec) {
    std::string text;
    for (const char* name : {"a", "b"}) {
      text += std::string("apiVersion: v1\nkind: Pod\nmetadata: {name: ") + name + ", " + meta +
              "}\nspec: {" + spec +
              "containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}\n---\n";
    }
    return text;
  };
  const std::string group = "\nkind: PodGroup\nmetadata: {name: g}\nspec: ";
  const std::vector<std::string> dialects = {
      pods("annotations: {scheduling.k8s.io/group-name: g}", "") +
          "apiVersion: scheduling.volcano.sh/v1beta1" + group + "{minMember: 2, queue: q}\n",
      pods("labels: {scheduling.x-k8s.io/pod-group: g}", "") +
          "apiVersion: scheduling.x-k8s.io/v1alpha1" + group +
          "{minMember: 2, scheduleTimeoutSeconds: 10}\n",
      pods("annotations: {pod-group-name: g}", "") + "apiVersion: scheduling.run.ai/v2alpha2" +
          group + "{minMember: 2, queue: q}\n",
      pods("labels: {x: y}", "schedulingGroup: {podGroupName: g}, ") +
          "apiVersion: scheduling.k8s.io/v1beta1" + group +
          "{schedulingPolicy: {gang: {minCount: 2}}}\n",
      pods("labels: {kueue.x-k8s.io/pod-group-name: g, kueue.x-k8s.io/queue-name: q}", "")};
  for (const std::string& text : dialects) {
    const Gangs gangs = Read(text);
    const ReadJob& read = Only(gangs);
    EXPECT_EQ(read.job.name, "g") << text;
    ASSERT_EQ(read.job.tasks.size(), 1u) << text;
    EXPECT_EQ(read.job.tasks[0].count, 2) << text;
    EXPECT_EQ(read.job.tasks[0].min, 2) << text;
    EXPECT_THAT(gangs.notes, IsEmpty()) << text;
  }
  // A group of another dialect with the same name takes nothing of them.
  const Gangs strangers =
      Read(pods("annotations: {scheduling.k8s.io/group-name: g}", "") +
           "apiVersion: scheduling.run.ai/v2alpha2" + group + "{minMember: 9}\n");
  EXPECT_EQ(strangers.jobs.at(0).job.elastic_max, 0);
  EXPECT_THAT(strangers.notes.at(0).what, HasSubstr("whose pods are not in these files"));
}

TEST(Gangs, ANativeWorkloadSaysHowManyStartTogether) {
  const std::string job =
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {parallelism: 4, completions: "
      "4, "
      "completionMode: Indexed, template: " +
      Pod() + "}\n---\n";
  const Gangs gangs = Read(job +
                           "apiVersion: scheduling.k8s.io/v1beta1\nkind: Workload\nmetadata: "
                           "{name: w}\nspec: {controllerRef: "
                           "{kind: Job, name: j}, podGroupTemplates: [{name: g, schedulingPolicy: "
                           "{gang: {minCount: 3}}, "
                           "schedulingConstraints: {topology: [{key: rack}]}}]}\n");
  EXPECT_EQ(Only(gangs).job.elastic_min, 3);
  EXPECT_EQ(gangs.jobs[0].job.topology.required, "rack");
  const Gangs alpha =
      Read(job +
           "apiVersion: scheduling.k8s.io/v1alpha1\nkind: Workload\nmetadata: {name: w}\nspec: "
           "{controllerRef: "
           "{kind: Job, name: j}, podGroups: [{name: g, policy: {gang: {minCount: 2}}}]}\n");
  EXPECT_EQ(Only(alpha).job.elastic_min, 2);
}

TEST(Gangs, KueueQueuesBecomeOneTree) {
  const Gangs gangs = Read(
      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: h100}\nspec: "
      "{nodeLabels: {gpu: h100}}\n---\n"
      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {name: org}\nspec: {}\n---\n"
      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: cq}\nspec: "
      "{cohortName: org, namespaceSelector: {}, "
      "queueingStrategy: StrictFIFO, preemption: {withinClusterQueue: LowerPriority, "
      "reclaimWithinCohort: Any}, stopPolicy: Hold, "
      "resourceGroups: [{coveredResources: [nvidia.com/gpu, cpu], flavors: [{name: h100, "
      "resources: [{name: nvidia.com/gpu, nominalQuota: 16, "
      "borrowingLimit: 8, lendingLimit: 4}, {name: cpu, nominalQuota: 500m}]}]}]}\n---\n"
      "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: old}\nspec: "
      "{cohort: org, namespaceSelector: {}}\n---\n"
      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: lq, namespace: "
      "ml}\nspec: {clusterQueue: cq}\n---\n"
      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Topology\nmetadata: {name: t}\nspec: {levels: "
      "[{nodeLabel: rack}, {nodeLabel: host}]}\n");
  ASSERT_EQ(gangs.queues.size(), 4u);
  const Queue& cq = gangs.queues[1];
  EXPECT_EQ(cq.parent, "org");
  EXPECT_EQ(cq.order, QueueOrder::kFifo);
  EXPECT_EQ(cq.within, PreemptWithin::kLowerPriority);
  EXPECT_EQ(cq.reclaim, ReclaimPolicy::kAny);
  EXPECT_EQ(cq.quota.at(0).borrow, 8);
  EXPECT_EQ(cq.quota[0].lend, 4);
  EXPECT_EQ(cq.quota.at(1).nominal, 500);
  EXPECT_EQ(gangs.queues[2].parent, "org");
  EXPECT_EQ(gangs.queues[3].name, "ml/lq");
  EXPECT_EQ(gangs.queues[3].parent, "cq");
  EXPECT_EQ(gangs.flavors.at(0).labels.at("gpu"), "h100");
  EXPECT_THAT(gangs.topologies.at("t"), ElementsAre("rack", "host"));
  EXPECT_THAT(NotedFields(gangs), IsEmpty());
}

TEST(Gangs, VolcanoAndKaiQueues) {
  const Gangs gangs = Read(
      "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: v}\nspec: {weight: "
      "3, parent: root, capability: "
      "{nvidia.com/gpu: 16}, deserved: {nvidia.com/gpu: 8}, guarantee: {resource: {nvidia.com/gpu: "
      "4}}}\n---\n"
      "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: k}\nspec: {parentQueue: p, "
      "resources: {gpu: {quota: 1.5, limit: 4, "
      "overQuotaWeight: 2}, cpu: {quota: -1, limit: -1}}}\n");
  ASSERT_EQ(gangs.queues.size(), 2u);
  const QuotaEntry& v = gangs.queues[0].quota.at(0);
  EXPECT_EQ(v.nominal, 8);
  EXPECT_EQ(v.borrow, 8);
  EXPECT_EQ(v.lend, 4);
  EXPECT_EQ(gangs.queues[0].weight, 3);
  EXPECT_EQ(gangs.queues[1].parent, "p");
  EXPECT_EQ(gangs.queues[1].quota.at(0).resource, "nvidia.com/gpu");
  EXPECT_EQ(gangs.queues[1].quota[0].nominal, 1) << "whole devices, and a note";
  EXPECT_EQ(gangs.queues[1].quota[0].borrow, 3);
  EXPECT_THAT(NotedFields(gangs), Contains("spec.resources.gpu.quota"));
}

// As KAI's own examples have them: a department without bounds, projects with a quota.
TEST(Gangs, AKaiQueueAtTheTopIsBoundByItsLimitAndOneBelowBorrowsFromIt) {
  const auto queue = [](const std::string& spec) {
    return Read("apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: q}\nspec: {" +
                spec + "}\n")
        .queues.at(0)
        .quota.at(0);
  };
  EXPECT_GT(queue("resources: {gpu: {quota: 0, limit: -1}}").nominal, int64_t{1} << 60);
  EXPECT_GT(queue("resources: {gpu: {quota: -1, limit: -1}}").nominal, int64_t{1} << 60);
  const QuotaEntry capped = queue("resources: {gpu: {quota: 2, limit: 8}}");
  EXPECT_EQ(capped.nominal, 8);
  EXPECT_EQ(capped.borrow, 0);
  const QuotaEntry below = queue("parentQueue: p, resources: {gpu: {quota: 0, limit: -1}}");
  EXPECT_EQ(below.nominal, 0);
  EXPECT_FALSE(below.borrow);
  EXPECT_EQ(queue("parentQueue: p, resources: {gpu: {quota: 0, limit: 0}}").borrow, 0);
  EXPECT_EQ(queue("parentQueue: p, resources: {gpu: {limit: 4}}").nominal, 0) << "left out";
}

TEST(Gangs, ACohortOfTheFirstVersionIsReadToo) {
  const Gangs gangs = Read(
      "apiVersion: kueue.x-k8s.io/v1alpha1\nkind: Cohort\nmetadata: {name: team}\n"
      "spec: {parent: org, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, "
      "resources: [{name: cpu, nominalQuota: 4}]}]}]}\n");
  ASSERT_EQ(gangs.queues.size(), 1u);
  EXPECT_EQ(gangs.queues[0].parent, "org");
  EXPECT_EQ(gangs.queues[0].quota.at(0).nominal, 4000);
}

TEST(Gangs, QueuesOfDifferentKindsThatShareANameAreToldApart) {
  const Gangs gangs = Read(
      "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: ml}\n"
      "spec: {capability: {cpu: 1}}\n---\n"
      "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: ml}\nspec: {}\n---\n"
      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: ml}\n"
      "spec: {cohortName: ml, namespaceSelector: {}, stopPolicy: HoldAndDrain}\n---\n"
      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: ml, namespace: a}\n"
      "spec: {clusterQueue: ml}\n---\n"
      "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j}\n"
      "spec: {queue: ml, tasks: [{name: t, replicas: 2, template: {spec: {containers: []}}}]}\n");
  ASSERT_EQ(gangs.queues.size(), 4u);
  EXPECT_EQ(gangs.queues[0].name, "ml@volcano");
  EXPECT_EQ(gangs.queues[1].name, "ml@kai");
  EXPECT_EQ(gangs.queues[2].name, "ml");
  EXPECT_EQ(gangs.queues[2].parent, "ml@cohort") << "a cohort needs no object to be one";
  EXPECT_EQ(gangs.queues[3].parent, "ml");
  EXPECT_EQ(gangs.jobs.at(0).job.queue, "ml@volcano");
  EXPECT_TRUE(gangs.rules.at("ml").drain);
  EXPECT_EQ(gangs.rules.count("ml@volcano"), 0u);
}

TEST(Gangs, AQueueThatIsHeldSaysSo) {
  const Gangs gangs = Read(
      "apiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: l, namespace: a}\n"
      "spec: {clusterQueue: c, stopPolicy: Hold}\n---\n"
      "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: v}\n"
      "status: {state: Closing}\n");
  EXPECT_THAT(gangs.rules.at("a/l").held, HasSubstr("stopPolicy Hold"));
  EXPECT_FALSE(gangs.rules.at("a/l").drain);
  EXPECT_THAT(gangs.rules.at("v").held, HasSubstr("Closing"));
}

TEST(Gangs, ALimitThatCannotBeReadIsNoLeaveToGoWithoutOne) {
  const Gangs gangs = Read(
      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: c}\n"
      "spec: {cohortName: all, namespaceSelector: {}, resourceGroups: [{flavors: [{name: f, "
      "resources: "
      "[{name: cpu, nominalQuota: 4, borrowingLimit: some}]}]}]}\n");
  EXPECT_EQ(gangs.queues.at(0).quota.at(0).borrow, 0);
  EXPECT_EQ(gangs.errors.size(), 1u);
}

TEST(LabelRules, MatchAsKubernetesSelectorsDo) {
  const std::map<std::string, std::string> labels = {{"team", "a"}};
  EXPECT_TRUE(Matches({}, labels));
  EXPECT_TRUE(Matches({{"team", "In", {"b", "a"}}}, labels));
  EXPECT_FALSE(Matches({{"team", "NotIn", {"a"}}}, labels));
  EXPECT_TRUE(Matches({{"other", "NotIn", {"a"}}}, labels)) << "absent is not in";
  EXPECT_FALSE(Matches({{"team", "Exists", {}}, {"other", "Exists", {}}}, labels));
  EXPECT_TRUE(Matches({{"other", "DoesNotExist", {}}}, labels));
  EXPECT_FALSE(Matches({{"team", "Resembles", {"a"}}}, labels)) << "an unknown word is no match";
}

TEST(LevelOfTier, TiersAreCountedFromBelow) {
  const std::vector<std::string> levels = {"spine", "leaf"};
  EXPECT_EQ(LevelOfTier("tier-1", levels), "leaf");
  EXPECT_EQ(LevelOfTier("tier-2", levels), "spine");
  EXPECT_EQ(LevelOfTier("tier-3", levels), "") << "the whole cluster";
  EXPECT_EQ(LevelOfTier("tier-x", levels), "tier-x");
  EXPECT_EQ(LevelOfTier("rack", levels), "rack");
}

TEST(Gangs, AnAmountThatIsNoneIsAnErrorWithItsPlace) {
  const Gangs gangs = Read(
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  template:\n    spec:\n      "
      "containers:\n"
      "        - resources: {limits: {nvidia.com/gpu: eight}}\n");
  ASSERT_EQ(gangs.errors.size(), 1u);
  EXPECT_THAT(gangs.errors[0], HasSubstr("m.yaml:8:48: nvidia.com/gpu: expected a quantity"));
}

TEST(Gangs, InitContainersSidecarsAndOverheadCountAsKubernetesCounts) {
  const ReadJob read =
      Only(Read("apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: "
                "{overhead: {cpu: 100m}, initContainers: ["
                "{name: big, resources: {requests: {cpu: 8}}}, {name: side, restartPolicy: Always, "
                "resources: {requests: {cpu: 1}}}], "
                "containers: [{name: a, resources: {requests: {cpu: 2}}}, {name: b, resources: "
                "{requests: {cpu: 3}}}]}}}\n"));
  EXPECT_EQ(read.job.tasks.at(0).shape.at("cpu"), 8100);
}

// The operator's own manifests, where they are beside the checkout.
TEST(Gangs, TheOperatorsManifestsAreAcceptedAsTheyAre) {
  const std::filesystem::path folder =
      std::filesystem::path(MUSTER_SOURCE_DIR) / "../shared/manifests";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no manifests beside the checkout";
  std::vector<ManifestFile> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream in(entry.path());
    auto file =
        ParseManifestFile({std::istreambuf_iterator<char>(in), {}}, entry.path().filename());
    ASSERT_TRUE(file.ok()) << file.error().message;
    files.push_back(std::move(*file));
  }
  const Gangs gangs = ReadGangs(files);
  EXPECT_THAT(gangs.errors, IsEmpty());
  ASSERT_EQ(gangs.jobs.size(), 3u);
  const auto smoke = std::find_if(gangs.jobs.begin(), gangs.jobs.end(), [](const ReadJob& read) {
    return read.job.name == "gang-smoke";
  });
  ASSERT_NE(smoke, gangs.jobs.end());
  ASSERT_EQ(smoke->job.tasks.size(), 2u);
  EXPECT_EQ(smoke->job.tasks[1].shape.at("nvidia.com/gpu"), 8);  // through the merge key
  EXPECT_EQ(smoke->job.tasks[1].shape.at("rdma/rdma_shared_device_a"), 1);
  ASSERT_EQ(gangs.queues.size(), 2u);
}

}  // namespace
}  // namespace muster
