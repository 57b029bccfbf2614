#include "manifest/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using ::testing::HasSubstr;

std::string Trouble(const std::string& text) {
  const auto file = ParseManifestFile(text, "m.yaml");
  return file.ok() ? "" : file.error().message;
}

TEST(Document, FourKindsCalledPodGroupAreToldApartByGroup) {
  EXPECT_EQ(KindOf("scheduling.volcano.sh", "PodGroup"), ManifestKind::kVolcanoPodGroup);
  EXPECT_EQ(KindOf("scheduling.x-k8s.io", "PodGroup"), ManifestKind::kCoschedulingPodGroup);
  EXPECT_EQ(KindOf("scheduling.run.ai", "PodGroup"), ManifestKind::kKaiPodGroup);
  EXPECT_EQ(KindOf("scheduling.k8s.io", "PodGroup"), ManifestKind::kNativePodGroup);
  EXPECT_EQ(KindOf("example.com", "PodGroup"), ManifestKind::kOther);
  EXPECT_EQ(KindOf("batch", "Job"), ManifestKind::kJob);
  EXPECT_EQ(KindOf("batch.volcano.sh", "Job"), ManifestKind::kVolcanoJob);
}

TEST(Document, EveryDocumentAndEveryItemOfAListKeepsItsPlace) {
  const auto file = ParseManifestFile(
      "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\napiVersion: v1\nkind: "
      "List\nitems:\n"
      "  - apiVersion: batch/v1\n    kind: Job\n    metadata: {name: b, namespace: n}\n",
      "m.yaml");
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->documents.size(), 2u);
  EXPECT_EQ(file->documents[0].Title(), "Service a");
  EXPECT_EQ(file->documents[1].kind, ManifestKind::kJob);
  EXPECT_EQ(file->documents[1].ns, "n");
  EXPECT_EQ(file->documents[1].root.at, (YamlMark{8, 5}));
}

TEST(Document, JsonIsAManifestToo) {
  const auto file = ParseManifestFile(
      "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"Pod\",\n\t\"metadata\": {\"name\": \"p\"}\n}\n",
      "p.json");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->documents.at(0).Title(), "Pod p");
}

TEST(Document, WhatIsNoObjectIsRefusedWithItsPlace) {
  EXPECT_THAT(Trouble("just a text\n"), HasSubstr("m.yaml:1:1: expected a Kubernetes object"));
  EXPECT_THAT(Trouble("kind: Job\n"), HasSubstr("m.yaml:1:1: an object without apiVersion"));
  EXPECT_THAT(Trouble("apiVersion: v1\n---\napiVersion: v1\n"),
              HasSubstr("an object without kind"));
  EXPECT_THAT(Trouble("kind: [Job\n"), HasSubstr("m.yaml:"));
}

TEST(Document, PathsThatAreNotThereGiveNothing) {
  const auto file = ParseManifestFile(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {a.b/c: d}}\nspec: {n: '3', t: "
      "true}\n",
      "m.yaml");
  ASSERT_TRUE(file.ok());
  const YamlNode& root = file->documents[0].root;
  EXPECT_TRUE(At(root, "spec.x.y.z").IsNull());
  EXPECT_EQ(TextOf(Label(root, "a.b/c")), "d");
  EXPECT_EQ(IntOf(At(root, "spec.n"), -1), 3);
  EXPECT_EQ(IntOf(At(root, "spec.t"), -1), -1);
  EXPECT_TRUE(IsTrue(At(root, "spec.t")));
}

}  // namespace
}  // namespace muster
