#include "probes/infiniband/ibnetdiscover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/infiniband/testing.h"

namespace muster::infiniband {
namespace {

using ::muster::infiniband::testing::DumpOf;
using ::muster::infiniband::testing::ExpectNothingInvented;
using ::muster::testing::Capture;
using ::muster::testing::SharedCapture;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kId[] = "infiniband.ibnetdiscover";

TEST(Ibnetdiscover, FindsEachLinkOnce) {
  const auto lines =
      DumpOf(kId, Capture(MUSTER_SOURCE_DIR, "rehearsed/03-healthy-ibnetdiscover.txt"));
  EXPECT_EQ(lines.size(), 32u);
  EXPECT_THAT(lines, Contains("link leaf00/1--node000/mlx5_0/1 | link.present | yes"));
  EXPECT_THAT(lines, Contains("link leaf02/8--spine01/6 | link.present | yes"));
}

TEST(Ibnetdiscover, ReadsWidthSpeedAndLid) {
  const auto found =
      ParseIbnetdiscover(Capture(MUSTER_SOURCE_DIR, "rehearsed/06-degraded-width-and-speed.txt"));
  bool narrow = false;
  for (const DiscoveredPort& port : found.ports) {
    if (port.End() == "leaf00/6") narrow = port.width == 1 && port.speed == "EDR" && port.lid == 2;
  }
  EXPECT_TRUE(narrow);
}

TEST(Ibnetdiscover, ReadsARealFabricWithItsAggregationNodes) {
  const auto text = SharedCapture(
      MUSTER_SOURCE_DIR, "third_party/superbenchmark/ib_traffic_topo_aware_ibnetdiscover.txt");
  if (!text) GTEST_SKIP() << "third-party captures are not here";
  const auto lines = DumpOf(kId, *text);
  EXPECT_THAT(lines, Contains(HasSubstr("RMD701091901003/ibp11s0f0/1")));
  EXPECT_THAT(lines, Contains(HasSubstr("Mellanox Technologies Aggregation Node")));
}

TEST(Ibnetdiscover, GivesPortsUnderALostHeadingToNobody) {
  std::string text = Capture(MUSTER_SOURCE_DIR, "rehearsed/03-healthy-ibnetdiscover.txt");
  const size_t heading = text.find("Switch\t8 \"S-0002c90001000200\"");
  text.erase(heading, text.find('\n', heading) + 1 - heading);
  EXPECT_THAT(DumpOf(kId, text), Not(Contains(HasSubstr("link leaf03/1--node008"))));
}

TEST(Ibnetdiscover, ListOfPortsGivesLidsAndPeers) {
  const auto found = ParseIbnetdiscoverPorts(
      "CA    22  1 0x0002c90003000f01 4x EDR - SW     7  4 0x0002c90001000300 ( 'node015 mlx5_0' - "
      "'leaf03' )\n"
      "SW     7  4 0x0002c90001000300 4x EDR - CA    22  1 0x0002c90003000f01 ( 'leaf03' - "
      "'node015 mlx5_0' )\n"
      "SW     2  7 0x0002c90001000000 4x EDR                                    'leaf00'\n");
  ASSERT_EQ(found.ports.size(), 2u);
  EXPECT_EQ(found.ports[0].End(), "node015/mlx5_0/1");
  EXPECT_EQ(found.ports[0].lid, 22);
  EXPECT_FALSE(found.ports[0].is_switch);
  EXPECT_EQ(found.ports[1].PeerEnd(), "node015/mlx5_0/1");
  EXPECT_EQ(found.ports[1].width, 4);
}

TEST(Ibnetdiscover, ListKeepsTwoPortsOfOneAdapterTogether) {
  const auto found = ParseIbnetdiscoverPorts(
      "CA    22  1 0x0002c90003000f01 4x EDR - SW     7  4 0x0002c90001000300 ( 'node015 mlx5_0' - "
      "'leaf03' )\n"
      "CA    23  2 0x0002c90003000f02 4x EDR - SW     7  5 0x0002c90001000300 ( 'node015 mlx5_0' - "
      "'leaf03' )\n");
  ASSERT_EQ(found.ports.size(), 2u);
  EXPECT_EQ(found.ports[1].End(), "node015/mlx5_0/2");
}

TEST(Ibnetdiscover, InventsNothingFromDamage) {
  ExpectNothingInvented(kId, Capture(MUSTER_SOURCE_DIR, "rehearsed/03-healthy-ibnetdiscover.txt"),
                        5);
}

}  // namespace
}  // namespace muster::infiniband
