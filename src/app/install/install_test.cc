#include "app/install/install.h"

#include <set>

#include <gtest/gtest.h>

#include "manifest/document.h"
#include "world/testing/memory_files.h"

namespace muster::install {
namespace {

using muster::testing::MemoryFiles;

InstallWords Pinned() {
  InstallWords words;
  words.image = "registry.example/muster@sha256:" + std::string(64, 'a');
  return words;
}

TEST(InstallTable, OfTheCatalogueHasNoWildcardReadsNoSecretsAndGivesAReasonForEachVerb) {
  const auto table = LoadInstallTable();
  ASSERT_TRUE(table.ok()) << table.error().message;
  std::set<std::string> ids;
  for (const render::InstallRole& role : table->roles) {
    ids.insert(role.id);
    for (const render::Permission& p : role.permissions) {
      EXPECT_FALSE(p.why.empty());
      for (const std::string& resource : p.resources) {
        // Key pairs of Volcano Jobs are made; no secret is ever read.
        if (resource == "secrets") {
          EXPECT_EQ(role.id, "volcano-jobs");
          EXPECT_EQ(p.verbs, std::vector<std::string>{"create"});
        }
        EXPECT_EQ(resource.find("exec"), std::string::npos);
      }
    }
  }
  EXPECT_EQ(ids, (std::set<std::string>{"exporter-reader", "kubelet-reader", "kueue-admission",
                                        "observer", "prober", "prover", "scheduler", "submitter",
                                        "volcano-jobs"}));
}

TEST(InstallTable, AWildcardHasItsPlace) {
  const auto bad = ParseInstallTable(
      "roles:\n  - id: a\n    what: b\n    source: c\n    permissions:\n      - {resource: pods, "
      "verbs: [\"*\"], why: d}\n",
      "p.yaml");
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().message.find("p.yaml:6"), std::string::npos);
}

TEST(Install, EveryDocumentReadsAndTheNamespaceComesFirst) {
  InstallWords words = Pinned();
  words.foreign = {"all"};
  const auto request = MakeInstall(words);
  ASSERT_TRUE(request.ok());
  const auto job = render::RenderInstall(*request);
  ASSERT_TRUE(job.ok());
  const auto file = ParseManifestFile(job->Text(), "install.yaml");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->documents.size(), job->objects.size());
  EXPECT_EQ(job->objects.front().kind, "Namespace");
}

TEST(Install, OnlyAnImageByDigestRuns) {
  for (const char* image : {"registry.example/muster:latest", "registry.example/muster:1.0",
                            "registry.example/muster@sha256:abc", "@sha256:"}) {
    InstallWords words;
    words.image = image;
    EXPECT_FALSE(render::RenderInstall(*MakeInstall(words)).ok()) << image;
  }
  InstallWords none;
  const auto job = render::RenderInstall(*MakeInstall(none));
  ASSERT_TRUE(job.ok());
  EXPECT_NE(job->Text().find("REPLACE_WITH_THE_DIGEST"), std::string::npos);
}

TEST(Install, TheKubeletAsksThePodAtThePortWhereItListens) {
  for (const int port : {0, 9090}) {
    InstallWords words = Pinned();
    words.metrics_port = port;
    const auto job = render::RenderInstall(*MakeInstall(words));
    ASSERT_TRUE(job.ok());
    const auto deployment =
        std::find_if(job->objects.begin(), job->objects.end(),
                     [](const auto& object) { return object.kind == "Deployment"; });
    ASSERT_NE(deployment, job->objects.end());
    const std::string& json = deployment->json;
    const std::string listens = std::to_string(port > 0 ? port : render::kHealthPort);
    EXPECT_NE(json.find(R"("--listen","0.0.0.0:)" + listens + '"'), std::string::npos) << json;
    EXPECT_NE(json.find(R"("ports":[{"containerPort":)" + listens + "}]"), std::string::npos);
    EXPECT_NE(json.find(R"("livenessProbe":{"httpGet":{"path":"/healthz","port":)" + listens + "}"),
              std::string::npos);
    EXPECT_NE(json.find(R"("readinessProbe":{"httpGet":{"path":"/readyz","port":)" + listens + "}"),
              std::string::npos);
  }
  InstallWords beyond = Pinned();
  beyond.metrics_port = 65536;
  EXPECT_FALSE(render::RenderInstall(*MakeInstall(beyond)).ok());
}

TEST(Install, AnUnknownProjectIsAnsweredWithThoseThatThereAre) {
  InstallWords words = Pinned();
  words.foreign = {"kuueue"};
  const auto request = MakeInstall(words);
  ASSERT_FALSE(request.ok());
  EXPECT_NE(request.error().message.find("volcano"), std::string::npos);
}

TEST(Install, KindsOfOneNameHaveTheirOwnScope) {
  InstallWords words = Pinned();
  words.foreign = {"kueue", "volcano"};
  const std::string text = render::RenderInstall(*MakeInstall(words))->Text();
  EXPECT_NE(text.find("name: workloadpriorityclasses.kueue.x-k8s.io"), std::string::npos);
  EXPECT_NE(text.find("name: queues.scheduling.volcano.sh"), std::string::npos);
}

TEST(Install, ASecondWriteLeavesNoFileOfTheFirst) {
  MemoryFiles files;
  InstallWords words = Pinned();
  words.foreign = {"all"};
  ASSERT_TRUE(WriteInstall(files, *render::RenderInstall(*MakeInstall(words)), "out").ok());
  const size_t many = files.List("out")->size();
  words.foreign.clear();
  const auto paths = WriteInstall(files, *render::RenderInstall(*MakeInstall(words)), "out");
  ASSERT_TRUE(paths.ok());
  EXPECT_EQ(files.List("out")->size(), paths->size());
  EXPECT_LT(paths->size(), many);
}

TEST(Install, AFolderOfSomebodyElseIsLeftAlone) {
  MemoryFiles files;
  ASSERT_TRUE(files.MakeFolders("out").ok());
  ASSERT_TRUE(files.WriteAtomic("out/mine.yaml", "a: 1\n").ok());
  EXPECT_FALSE(WriteInstall(files, *render::RenderInstall(*MakeInstall(Pinned())), "out").ok());
  EXPECT_EQ(*files.Read("out/mine.yaml"), "a: 1\n");
}

TEST(KubectlPlugin, IsAScriptThatHandsItsWordsOn) {
  MemoryFiles files;
  const auto path = WriteKubectlPlugin(files, "/opt/muster/bin/muster", "bin");
  ASSERT_TRUE(path.ok());
  EXPECT_EQ(*path, "bin/kubectl-muster");
  EXPECT_NE(files.Read(*path)->find("exec '/opt/muster/bin/muster' \"$@\""), std::string::npos);
  ASSERT_TRUE(files.WriteAtomic("else/kubectl-muster", "#!/bin/sh\n").ok());
  EXPECT_FALSE(WriteKubectlPlugin(files, "/m", "else").ok());
  EXPECT_FALSE(WriteKubectlPlugin(files, "/a'b", "bin").ok());
}

}  // namespace
}  // namespace muster::install
