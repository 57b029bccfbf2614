#include "app/nccl_profile.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using ::testing::HasSubstr;

Site SiteOf(const char* spec) {
  Site site;
  site.cluster = BuildCluster(*ParseClusterSpec(spec));
  return site;
}
std::string ValueOf(const NcclProfile& profile, const std::string& name) {
  for (const NcclVariable& v : profile.variables) {
    if (v.name == name) return v.value;
  }
  return "";
}

TEST(NcclProfile, ProductionNamesTheAdaptersExactlyAndForbidsTcp) {
  const auto made = MakeNcclProfile(SiteOf("nodes=2,gpus=8,numa=2,rails=2"), "production", "");
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(ValueOf(*made, "NCCL_IB_HCA"), "=mlx5_0,mlx5_1");
  EXPECT_EQ(ValueOf(*made, "NCCL_NET"), "IB");
  EXPECT_EQ(ValueOf(*made, "NCCL_DEBUG"), "WARN");
  EXPECT_EQ(ValueOf(*made, "NCCL_SOCKET_IFNAME"), "");
  EXPECT_THAT(made->notes.at(0), HasSubstr("socket_interface"));
  EXPECT_EQ(made->nodes.size(), 2u);
}

TEST(NcclProfile, DebugIsProductionWithEyesOpen) {
  const Site site = SiteOf("nodes=2,gpus=8,numa=2,rails=2");
  const auto production = MakeNcclProfile(site, "production", ""),
             debug = MakeNcclProfile(site, "debug", "");
  ASSERT_TRUE(production.ok() && debug.ok());
  EXPECT_EQ(ValueOf(*debug, "NCCL_DEBUG"), "INFO");
  EXPECT_EQ(ValueOf(*debug, "TORCH_NCCL_DUMP_ON_TIMEOUT"), "1");
  for (const NcclVariable& v : production->variables) {
    if (v.name == "NCCL_DEBUG") continue;
    EXPECT_EQ(ValueOf(*debug, v.name), v.value) << v.name;
  }
}

// What is left to NCCL is set in no profile, and everything has a reason.
TEST(NcclProfile, NothingThatNcclDecidesBetterIsSet) {
  Site site = SiteOf("nodes=2,gpus=8,numa=2,rails=2");
  site.pins["socket_interface"] = "eth";
  for (const char* profile : {"production", "debug"}) {
    const auto made = MakeNcclProfile(site, profile, "");
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(ValueOf(*made, "NCCL_SOCKET_IFNAME"), "eth");
    EXPECT_GE(made->left_alone.size(), 5u);
    for (const NcclVariable& left : made->left_alone)
      EXPECT_EQ(ValueOf(*made, left.name), "") << left.name;
    for (const NcclVariable& v : made->variables)
      EXPECT_FALSE(v.why.empty() || v.source.empty()) << v.name;
  }
}

TEST(NcclProfile, ANodeWithoutAdaptersIsNotForcedOntoRdma) {
  Site site = SiteOf("nodes=2,gpus=8,numa=2,rails=2");
  for (Node& node : site.cluster.nodes) node.nics.clear();
  const auto made = MakeNcclProfile(site, "production", "");
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(ValueOf(*made, "NCCL_NET"), "");
  EXPECT_THAT(made->notes.at(0), HasSubstr("no adapters"));
}

TEST(NcclProfile, MixedNodesMustBeNamed) {
  Site site = SiteOf("nodes=2,gpus=8,numa=2,rails=2");
  site.cluster.nodes[1].nics.pop_back();
  const auto none = MakeNcclProfile(site, "production", "");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::kInvalid);
  EXPECT_THAT(none.error().message, HasSubstr("--node node001"));
  const auto one = MakeNcclProfile(site, "production", "node001");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(ValueOf(*one, "NCCL_IB_HCA"), "=mlx5_0");
  EXPECT_EQ(MakeNcclProfile(site, "production", "nobody").error().code, Code::kNotFound);
  EXPECT_EQ(MakeNcclProfile(site, "fast", "node001").error().code, Code::kInvalid);
}

}  // namespace
}  // namespace muster
