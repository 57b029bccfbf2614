#include "probes/prometheus/subjects.h"

#include <gtest/gtest.h>

namespace muster::prometheus {
namespace {

TEST(NodeOf, TakesTheHostnameLabelInEitherSpellingWithoutItsDomain) {
  EXPECT_EQ(NodeOf({{"hostname", "node-07.cluster.local"}, {"instance", "10.0.0.7:9400"}}),
            "node-07");
  EXPECT_EQ(NodeOf({{"Hostname", "node-07"}, {"instance", "10.0.0.7:9400"}}), "node-07");
  EXPECT_EQ(NodeOf({{"exported_hostname", "node-07"}}), "node-07");
}

TEST(NodeOf, FallsBackToTheHostOfTheInstance) {
  EXPECT_EQ(NodeOf({{"instance", "node-07.example.com:9400"}}), "node-07");
  EXPECT_EQ(NodeOf({{"instance", "10.0.0.7:9400"}}), "10.0.0.7");
  EXPECT_EQ(NodeOf({{"instance", "[fe80::1]:9400"}}), "fe80::1");
  EXPECT_EQ(NodeOf({{"instance", "fe80::1"}}), "fe80::1");
  EXPECT_EQ(NodeOf({{"instance", "node-07"}}), "node-07");
}

TEST(NodeOf, PassesOverTheExportersOwnPodName) {
  EXPECT_EQ(NodeOf({{"Hostname", "dcgm-x7f2q"}, {"pod", "dcgm-x7f2q"}, {"node", "node-07"}}),
            "node-07");
  EXPECT_EQ(NodeOf({{"Hostname", "nvidia-dcgm-exporter-x7f2q"}, {"instance", "node-07:9400"}}),
            "node-07");
}

TEST(NodeOf, LoopbackAndEmptyNamesNobody) {
  EXPECT_EQ(NodeOf({{"hostname", "localhost"}, {"instance", "127.0.0.1:9400"}}), std::nullopt);
  EXPECT_EQ(NodeOf({{"hostname", ""}, {"instance", "[::1]:9400"}}), std::nullopt);
  // Prometheus writes host:port; anything else names nobody.
  EXPECT_EQ(NodeOf({{"instance", "http://node-07:9400/metrics"}}), std::nullopt);
  EXPECT_EQ(NodeOf({}), std::nullopt);
}

TEST(NodeOfTarget, KubernetesDiscoveryKnowsTheNode) {
  Target target;
  target.labels = {{"instance", "10.244.3.17:9400"}};
  target.discovered = {{"__meta_kubernetes_pod_node_name", "node-07"}};
  EXPECT_EQ(NodeOfTarget(target), "node-07");
  target.discovered.clear();
  EXPECT_EQ(NodeOfTarget(target), "10.244.3.17");
}

TEST(GpuOf, ReadsTheIndexOrTheDevice) {
  EXPECT_EQ(GpuOf({{"gpu", "3"}, {"device", "nvidia7"}}), 3);
  EXPECT_EQ(GpuOf({{"exported_gpu", "3"}}), 3);
  EXPECT_EQ(GpuOf({{"device", "nvidia5"}}), 5);
  EXPECT_EQ(GpuOf({{"gpu", "3x"}}), std::nullopt);
  EXPECT_EQ(GpuOf({{"gpu", "-1"}}), std::nullopt);
  EXPECT_EQ(GpuOf({{"device", "nvidia"}}), std::nullopt);
}

TEST(IsGpuExporter, TellsItFromTheOtherTargets) {
  Target target;
  target.labels = {{"instance", "node-07:9400"}, {"job", "anything"}};
  EXPECT_TRUE(IsGpuExporter(target));
  target.labels = {{"instance", "10.0.0.7:8080"}, {"job", "gpu-operator/nvidia-dcgm-exporter"}};
  EXPECT_TRUE(IsGpuExporter(target));
  target.labels = {{"instance", "node-07:9100"}, {"job", "node"}};
  EXPECT_FALSE(IsGpuExporter(target));
  target.discovered = {{"__address__", "10.244.3.17:9400"}};
  EXPECT_TRUE(IsGpuExporter(target));
}

}  // namespace
}  // namespace muster::prometheus
