#include "manifest/queue_holds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using ::testing::HasSubstr;

QueueHolds Read(const std::string& cluster_queue, const std::string& local_queue,
                const NamespaceLabels& namespaces) {
  const auto file = ParseManifestFile(
      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: cq}\nspec: {" +
          cluster_queue +
          "}\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\n"
          "metadata: {name: lq, namespace: ml}\nspec: {clusterQueue: cq" +
          local_queue + "}\n",
      "queues.yaml");
  EXPECT_TRUE(file.ok());
  const std::vector<ManifestFile> files = {*file};
  return HoldsOf(ReadGangs(files), namespaces);
}

TEST(QueueHolds, AnOpenQueueHoldsNothing) {
  EXPECT_EQ(Read("namespaceSelector: {}", "", {}), QueueHolds{});
  EXPECT_EQ(Read("namespaceSelector: {}, stopPolicy: None", ", stopPolicy: None", {}),
            QueueHolds{});
}

TEST(QueueHolds, StopPoliciesOfBothKindsOfQueueHoldAndDrain) {
  const QueueHolds hold = Read("namespaceSelector: {}, stopPolicy: Hold", "", {});
  EXPECT_THAT(hold.held.at("cq"), HasSubstr("stopPolicy Hold"));
  EXPECT_EQ(hold.stopped.count("cq"), 1u);
  EXPECT_TRUE(hold.drained.empty());
  const QueueHolds drain = Read("namespaceSelector: {}", ", stopPolicy: HoldAndDrain", {});
  EXPECT_EQ(drain.drained.count("ml/lq"), 1u);
  EXPECT_EQ(drain.held.count("cq"), 0u);
}

TEST(QueueHolds, ANamespaceIsHeldByTheQueueThatDoesNotSelectIt) {
  const std::string selects = "namespaceSelector: {matchLabels: {team: a}}";
  EXPECT_THAT(Read("", "", {{"ml", {}}}).held.at("ml/lq"), HasSubstr("has no namespaceSelector"));
  EXPECT_THAT(Read(selects, "", {}).held.at("ml/lq"), HasSubstr("are not known"));
  EXPECT_THAT(Read(selects, "", {{"ml", {{"team", "b"}}}}).held.at("ml/lq"),
              HasSubstr("does not match namespace ml"));
  EXPECT_EQ(Read(selects, "", {{"ml", {{"team", "a"}}}}), QueueHolds{});
}

}  // namespace
}  // namespace muster
