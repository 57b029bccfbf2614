#include "model/site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using ::testing::Not;

Site SiteOf(std::string_view spec) {
  Site site;
  site.cluster = BuildCluster(ParseClusterSpec(spec).value());
  return site;
}

TEST(Site, AClusterOfHgxNodesHasAllThatGoesWithIt) {
  Site site = SiteOf("nodes=4");
  site.budgets = {{"power", {45000, Unit::kWatt}, {38200, Unit::kWatt}}};
  EXPECT_THAT(site.Features(),
              IsSupersetOf({"lab", "gpus", "nvidia", "multi_node", "multi_gpu", "infiniband",
                            "rdma", "switches", "nvlink", "facility", "inference", "training"}));
  EXPECT_THAT(site.Features(), Not(Contains("roce")));
  EXPECT_THAT(site.Features(), Not(Contains("workstation")));
  EXPECT_THAT(site.Features(), Not(Contains("prometheus")));
}

TEST(Site, AWorkstationHasNoFabricFeatures) {
  Site site = SiteOf("nodes=1,gpus=1,leaves=0,model=NVIDIA RTX 6000 Ada");
  site.kind = SiteKind::kHost;
  EXPECT_THAT(site.Features(), ElementsAre("gpus", "host", "node_tools", "nvidia", "training",
                                           "training_reports", "workstation"));
}

TEST(Site, EthernetIsRoceAndNotInfiniBand) {
  Site site = SiteOf("nodes=2");
  site.roce = true;
  EXPECT_THAT(site.Features(), Contains("roce"));
  EXPECT_THAT(site.Features(), Not(Contains("infiniband")));
}

TEST(Site, BoardsWithoutNvlinkAreNotAskedForIt) {
  EXPECT_THAT(SiteOf("nodes=1,model=NVIDIA H100 PCIe").Features(), Not(Contains("nvlink")));
  EXPECT_THAT(SiteOf("nodes=1,model=NVIDIA A100-SXM4-80GB").Features(), Contains("nvlink"));
  EXPECT_THAT(SiteOf("nodes=1,model=NVIDIA B200").Features(), Contains("nvlink"));
  EXPECT_THAT(SiteOf("nodes=1,gpus=1").Features(), Not(Contains("nvlink")));
  EXPECT_THAT(SiteOf("nodes=1,model=AMD Instinct MI300X").Features(), Contains("amd"));
}

TEST(Site, EndpointsAndTargetsAreFeatures) {
  Site site = SiteOf("nodes=1,gpus=0,leaves=0");
  site.kind = SiteKind::kHost;
  EXPECT_THAT(site.Features(), ElementsAre("host", "node_tools", "workstation"));
  site.endpoints["prometheus"] = {"prometheus", "http://p:9090", ""};
  site.endpoints["alertmanager"] = {"alertmanager", "", ""};
  site.inference.url = "http://s:8000";
  site.expect_sharp = true;
  EXPECT_THAT(site.Features(),
              ElementsAre("host", "inference", "node_tools", "prometheus", "sharp", "workstation"));
}

TEST(Site, AScopeIsItsNodesAndAllIsEveryNode) {
  Site site = SiteOf("nodes=3");
  site.scopes = {{"pair", {"node000", "node002"}}};
  EXPECT_THAT(site.ScopeNodes("pair").value(), ElementsAre("node000", "node002"));
  EXPECT_THAT(site.ScopeNodes("").value(), ElementsAre("node000", "node001", "node002"));
  EXPECT_THAT(site.ScopeNodes("all").value(), ElementsAre("node000", "node001", "node002"));
  EXPECT_FALSE(site.ScopeNodes("island").has_value());
}

}  // namespace
}  // namespace muster
