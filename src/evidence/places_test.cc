#include "evidence/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Places, ALinkTouchesTheDevicesOfBothItsEnds) {
  const Subject link = LinkSubject("leaf00/5", "node-07/mlx5_4/1");
  EXPECT_EQ(EndsOf(link),
            (std::pair<std::string_view, std::string_view>("leaf00/5", "node-07/mlx5_4/1")));
  EXPECT_THAT(DevicesOf(link), ElementsAre("leaf00", "node-07"));
  EXPECT_EQ(WithoutLast(EndsOf(link).second), "node-07/mlx5_4");
}

TEST(Places, APartTouchesItsHostAndASiteTouchesNothing) {
  const Subject gpu = GpuSubject("node-07", 3), site = SiteSubject("dc1");
  EXPECT_THAT(DevicesOf(gpu), ElementsAre("node-07"));
  EXPECT_THAT(DevicesOf(site), IsEmpty());
  EXPECT_TRUE(IsShared(site));
  EXPECT_FALSE(IsShared(gpu));
}

TEST(Places, APortBelongsToItsLinkAndWithoutOneToItself) {
  Cluster cluster;
  cluster.links.push_back({{"leaf00", 5}, {"node-07/mlx5_4", 1}});
  const PortLinks links(cluster);
  const std::string link = cluster.links[0].Id().id;
  EXPECT_EQ(links.Of({SubjectKind::kPort, "leaf00/5"}), link);
  EXPECT_EQ(links.Of({SubjectKind::kPort, "node-07/mlx5_4/1"}), link);
  EXPECT_EQ(links.Of({SubjectKind::kLink, link}), link);
  EXPECT_EQ(links.Of({SubjectKind::kPort, "leaf00/6"}), "leaf00/6");
  EXPECT_EQ(links.Find("leaf00/6"), nullptr);
}

}  // namespace
}  // namespace muster
