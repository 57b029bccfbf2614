#include "app/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Site SiteOf(int domains, int gpus_a_domain, bool adapters = true) {
  Site site;
  site.kind = SiteKind::kKubernetes;
  Node node;
  node.numa_domains = domains;
  for (int g = 0; g < domains * gpus_a_domain; ++g) {
    Gpu gpu;
    gpu.index = g;
    gpu.numa = g / gpus_a_domain;
    gpu.model = "NVIDIA H100 80GB HBM3";
    node.gpus.push_back(gpu);
    if (!adapters) continue;
    Nic nic;
    nic.device = "mlx5_" + std::to_string(g);
    nic.numa = gpu.numa;
    node.nics.push_back(nic);
  }
  for (const char* name : {"n0", "n1"}) {
    node.name = name;
    site.cluster.nodes.push_back(node);
  }
  return site;
}

const PoolAnswer& Of(const PoolSheet& sheet, const std::string& question) {
  for (const PoolAnswer& answer : sheet.answers)
    if (answer.question == question) return answer;
  static const PoolAnswer kNone;
  return kNone;
}

TEST(Pool, NodesThatAreAlikeShareASheet) {
  Site site = SiteOf(2, 4);
  site.cluster.nodes.push_back({});
  site.cluster.nodes.back().name = "cpu0";
  const auto sheets = PoolSheets(site, std::nullopt);
  ASSERT_EQ(sheets.size(), 2u);
  EXPECT_THAT(sheets[0].nodes, ElementsAre("n0", "n1"));
  EXPECT_EQ(sheets[1].name, "no GPUs");
}

TEST(Pool, TwoDomainsOfFourTakeUpToFourAndTheWholeNode) {
  const auto sheet = PoolSheets(SiteOf(2, 4), std::nullopt).front();
  EXPECT_THAT(sheet.valid, ElementsAre(1, 2, 3, 4, 8));
  EXPECT_THAT(sheet.refused.at(6), HasSubstr("no NUMA zone has more than 4"));
  EXPECT_EQ(Of(sheet, "GPUs of a NUMA domain").answer, "2x4 (2 domains)");
}

TEST(Pool, KubeletsOwnPolicyDecidesWhereItIsTold) {
  const auto config = ReadKubeletPolicy(
      "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
      "topologyManagerPolicy: single-numa-node\ncpuManagerPolicy: static\n",
      "kubelet.yaml");
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  auto sheet = PoolSheets(SiteOf(2, 4), *config).front();
  EXPECT_THAT(sheet.valid, ElementsAre(1, 2, 3, 4)) << "8 is refused by single-numa-node";
  EXPECT_EQ(Of(sheet, "policy that enforces it").level, Level::kPass);
  KubeletPolicy none = *config;
  none.policy = "none";
  sheet = PoolSheets(SiteOf(2, 4), none).front();
  EXPECT_EQ(sheet.valid.size(), 8u);
  EXPECT_EQ(Of(sheet, "policy that enforces it").level, Level::kWarn);
}

TEST(Pool, WhatTheInventoryCannotTellIsUnknownWithWhoCould) {
  const auto sheet = PoolSheets(SiteOf(2, 4, false), std::nullopt).front();
  for (const char* question : {"nearest adapter of each GPU", "policy that enforces it",
                               "hints that the device plugins expose"}) {
    EXPECT_EQ(Of(sheet, question).level, Level::kUnknown) << question;
    EXPECT_NE(Of(sheet, question).who, "") << question;
  }
}

TEST(Pool, DomainWithoutAnAdapterIsAWarning) {
  Site site = SiteOf(2, 4);
  for (Node& node : site.cluster.nodes) {
    for (Nic& nic : node.nics) nic.numa = 0;
  }
  const auto sheet = PoolSheets(site, std::nullopt).front();
  EXPECT_EQ(Of(sheet, "nearest adapter of each GPU").level, Level::kWarn);
  EXPECT_THAT(Of(sheet, "nearest adapter of each GPU").answer, HasSubstr("gpu4"));
}

TEST(Pool, WrongKubeletConfigurationSaysWhat) {
  EXPECT_THAT(ReadKubeletPolicy("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n", "k.yaml")
                  .error()
                  .message,
              HasSubstr("no KubeletConfiguration"));
  EXPECT_THAT(ReadKubeletPolicy("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: "
                                "KubeletConfiguration\ntopologyManagerPolicy: tight\n",
                                "k.yaml")
                  .error()
                  .message,
              HasSubstr("topologyManagerPolicy"));
}

}  // namespace
}  // namespace muster
