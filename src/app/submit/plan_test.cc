#include "app/submit/plan.h"

#include <gtest/gtest.h>

#include "app/submit/fit.h"
#include "app/submit/job_class.h"
#include "world/testing/memory_files.h"

namespace muster::submit {
namespace {

using muster::testing::MemoryFiles;

Words Ddp() {
  Words words;
  words.job_class = "ddp";
  words.name = "llm";
  words.shape = "2x8xH100";
  words.image = "registry.example/llm@sha256:" + std::string(64, 'a');
  words.command = {"train.py"};
  words.checkpoint = "checkpoints:/checkpoints/llm";
  words.rdma = {"rdma/ib=1"};
  words.user = "ada@host";
  return words;
}

TEST(Plan, OfAClassHasAServiceAJobATwinAndNoFinding) {
  MemoryFiles files;
  const auto plan = MakePlan(files, Ddp());
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->job.objects.size(), 2u);
  ASSERT_TRUE(plan->twin);
  for (const LintFinding& f : plan->findings) ADD_FAILURE() << ToString(f);
  EXPECT_EQ(plan->request->groups[0].cpu_milli, 64000);
  EXPECT_EQ(plan->request->labels.at("owner"), "ada");
}

TEST(Plan, AnUnknownClassIsAnsweredWithThoseThatThereAre) {
  MemoryFiles files;
  Words words = Ddp();
  words.job_class = "dpp";
  const auto plan = MakePlan(files, words);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("fsdp"), std::string::npos);
}

TEST(Plan, PostTrainingNeedsItsRolloutGroup) {
  MemoryFiles files;
  Words words = Ddp();
  words.job_class = "post-training";
  words.dialect = "jobset";
  EXPECT_FALSE(MakePlan(files, words).ok());
  words.groups = {"rollout=4x1"};
  words.beside_commands = {"rollout=vllm serve /model"};
  const auto plan = MakePlan(files, words);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->request->Pods(), 6);
}

TEST(Plan, ATagWithoutADigestIsAFindingAndLatestAnError) {
  MemoryFiles files;
  Words words = Ddp();
  words.image = "registry.example/llm";
  const auto plan = MakePlan(files, words);
  ASSERT_TRUE(plan.ok());
  EXPECT_GT(plan->lint_errors, 0);
}

TEST(Plan, OfFilesKeepsThemAndPutsTheServiceFirst) {
  MemoryFiles files;
  ASSERT_TRUE(files
                  .WriteAtomic("job.yaml",
                               "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: "
                               "{completions: 2, template: {spec: {restartPolicy: Never, "
                               "containers: [{name: c, image: i}]}}}\n---\napiVersion: v1\nkind: "
                               "Service\nmetadata: {name: s}\nspec: {clusterIP: None, "
                               "ports: [{port: 80}], selector: {x: \"1\"}}\n")
                  .ok());
  Words words;
  words.files = {"job.yaml"};
  words.ns = "train";
  const auto plan = MakePlan(files, words);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_EQ(plan->job.objects.size(), 2u);
  EXPECT_EQ(plan->job.objects[0].kind, "Service");
  EXPECT_EQ(plan->job.objects[1].ns, "train");
  EXPECT_NE(plan->job.objects[0].json.find("\"port\":80"), std::string::npos);
  EXPECT_NE(plan->job.objects[0].json.find("\"x\":\"1\""), std::string::npos);
}

TEST(Plan, OfAFileThatIsNoManifestNamesThePlace) {
  MemoryFiles files;
  ASSERT_TRUE(files.WriteAtomic("bad.yaml", "kind: Job\nmetadata: [\n").ok());
  Words words;
  words.files = {"bad.yaml"};
  const auto plan = MakePlan(files, words);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("bad.yaml:"), std::string::npos);
}

TEST(Fit, SixGpusOnTwoDomainsOfFourAreRefusedWithTheValidShapes) {
  ClusterSpec spec;
  spec.nodes = 2;
  const Cluster cluster = BuildCluster(spec);
  EXPECT_TRUE(FitsSite(cluster, {2, 8, "nvidia.com/gpu"}).ok());
  EXPECT_TRUE(FitsSite(cluster, {4, 4, "nvidia.com/gpu"}).ok());
  const Status six = FitsSite(cluster, {1, 6, "nvidia.com/gpu"});
  ASSERT_FALSE(six.ok());
  EXPECT_NE(six.error().message.find("valid 1, 2, 3, 4, 8"), std::string::npos)
      << six.error().message;
  const Status many = FitsSite(cluster, {3, 8, "nvidia.com/gpu"});
  ASSERT_FALSE(many.ok());
  EXPECT_NE(many.error().message.find("takes 2"), std::string::npos) << many.error().message;
}

TEST(Fit, HoldsAShapeToWhatTheKubeletsAdmit) {
  numa::ShapeSheet sheet;
  sheet.resource = "nvidia.com/gpu";
  sheet.layout = "2x4";
  sheet.verdicts = {{4, true, 2, 1, "", ""},
                    {6, false, 0, 0, "no NUMA zone has more than 4", "TAE"}};
  sheet.valid = {4};
  ShapesReport report;
  report.classes.push_back({{"n0", "n1"}, sheet, ""});
  EXPECT_TRUE(FitsNodes(report, {4, 4, "nvidia.com/gpu"}).ok());
  EXPECT_FALSE(FitsNodes(report, {5, 4, "nvidia.com/gpu"}).ok());
  const Status six = FitsNodes(report, {1, 6, "nvidia.com/gpu"});
  ASSERT_FALSE(six.ok());
  EXPECT_NE(six.error().message.find("no NUMA zone"), std::string::npos) << six.error().message;
}

TEST(JobClasses, OfTheCatalogueAllReadAndEachHasASource) {
  for (const char* id :
       {"ddp", "fsdp", "tensor-pipeline", "deepspeed", "diloco", "post-training", "plain"}) {
    const auto found = FindJobClass(id);
    ASSERT_TRUE(found.ok()) << id;
    EXPECT_FALSE(found->source.empty());
    EXPECT_GT(found->memory_bytes_per_gpu, 0);
  }
}

TEST(JobClasses, AMistakeHasItsPlace) {
  const auto bad = ParseJobClasses(
      "classes:\n  - {id: a, what: b, source: c, launch: mpirun, cpu_per_gpu: \"1\", "
      "memory_per_gpu: 1Gi}\n",
      "x.yaml");
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().message.find("x.yaml:2"), std::string::npos);
}

}  // namespace
}  // namespace muster::submit
