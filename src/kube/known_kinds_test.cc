#include "kube/known_kinds.h"

#include <gtest/gtest.h>

namespace muster::kube {
namespace {

TEST(ResourceFor, FollowsTheApiConventionsForPlurals) {
  EXPECT_EQ(ResourceFor("batch/v1", "Job"), kJobs);
  EXPECT_EQ(ResourceFor("v1", "Service"), kServices);
  EXPECT_EQ(ResourceFor("v1", "Node"), kNodes);
  EXPECT_EQ(ResourceFor("scheduling.k8s.io/v1", "PriorityClass").plural, "priorityclasses");
  EXPECT_EQ(ResourceFor("nvidia.com/v1", "ClusterPolicy").plural, "clusterpolicies");
  EXPECT_EQ(ResourceFor("kueue.x-k8s.io/v1beta2", "Topology").plural, "topologies");
  EXPECT_EQ(ResourceFor("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition").plural,
            "network-attachment-definitions");
}

TEST(ResourceFor, TellsKindsOfOneNameInDifferentGroupsApart) {
  EXPECT_FALSE(ResourceFor("scheduling.volcano.sh/v1beta1", "Queue").namespaced);
  EXPECT_TRUE(ResourceFor("example.com/v1", "Queue").namespaced);
  EXPECT_FALSE(ResourceFor("kueue.x-k8s.io/v1beta2", "Topology").namespaced);
}

TEST(ResourceFor, OfAHostileKindStaysInItsPlace) {
  EXPECT_EQ(ResourceFor("v1", "../../x").Path("ns", "n").find("../"), std::string::npos);
}

}  // namespace
}  // namespace muster::kube
