#include "probes/infiniband/iblinkinfo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/infiniband/testing.h"

namespace muster::infiniband {
namespace {

using ::muster::infiniband::testing::DumpOf;
using ::muster::infiniband::testing::ExpectNothingInvented;
using ::muster::testing::Capture;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr char kId[] = "infiniband.iblinkinfo";

std::string Healthy() {
  return Capture(MUSTER_SOURCE_DIR, "rehearsed/02-healthy-iblinkinfo-ibqueryerrors-perfquery.txt");
}

size_t CountOf(const std::vector<std::string>& lines, std::string_view part) {
  size_t n = 0;
  for (const std::string& line : lines) n += line.find(part) != std::string::npos ? 1 : 0;
  return n;
}

TEST(Iblinkinfo, ReportsEachLinkOnceFromItsTwoEnds) {
  const auto lines = DumpOf(kId, Healthy());
  EXPECT_EQ(CountOf(lines, "link.state | Active"), 32u);  // 16 hosts, 16 between switches
  EXPECT_EQ(CountOf(lines, "link.rate | 100 Gb/s"), 32u);
  EXPECT_THAT(lines,
              IsSupersetOf({"link leaf00/5--spine00/1 | link.width | 4",
                            "link leaf03/4--node015/mlx5_0/1 | link.physical_state | LinkUp"}));
}

TEST(Iblinkinfo, DoesNotTakeAdviceForAFinding) {
  // "Could be 12X Could be 53.125 Gbps" stands on each healthy line of the simulator.
  for (const LinkInfoLine& line : ParseIblinkinfo(Healthy()).lines) {
    EXPECT_EQ(line.width, 4);
    EXPECT_EQ(line.lane_gbit_per_s, 25.78125);
  }
}

TEST(Iblinkinfo, SeesDegradedWidthAndSpeed) {
  const auto lines =
      DumpOf(kId, Capture(MUSTER_SOURCE_DIR, "rehearsed/06-degraded-width-and-speed.txt"));
  EXPECT_THAT(lines, IsSupersetOf({"link leaf00/6--spine00/2 | link.width | 1",
                                   "link leaf00/6--spine00/2 | link.rate | 25 Gb/s",
                                   "link leaf00/4--node003/mlx5_0/1 | link.width | 2",
                                   "link leaf00/4--node003/mlx5_0/1 | link.rate | 50 Gb/s",
                                   "link leaf01/5--spine00/3 | link.rate | 56 Gb/s"}));
}

TEST(Iblinkinfo, ReadsPerLaneRatesOfNdr) {
  const auto lines = DumpOf(kId, Capture(MUSTER_SOURCE_DIR, "rehearsed/12-ndr-fabric.txt"));
  EXPECT_THAT(lines, Contains("link leaf00/5--spine00/1 | link.rate | 400 Gb/s"));
}

TEST(Iblinkinfo, NamesAPortWithoutAPeer) {
  const auto lines = DumpOf(kId, Capture(MUSTER_SOURCE_DIR, "rehearsed/07-dead-link.txt"));
  EXPECT_THAT(lines, IsSupersetOf({"port leaf00/7 | port.state | Down",
                                   "port leaf00/7 | port.physical_state | Polling",
                                   "port spine01/1 | port.state | Down"}));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("link leaf00/7--"))));
}

TEST(Iblinkinfo, SeesADeadLinkInAWholeFabric) {
  const auto lines =
      DumpOf(kId, Capture(MUSTER_SOURCE_DIR, "rehearsed/ib/iblinkinfo-ft16-link-down.txt"));
  EXPECT_EQ(CountOf(lines, "link.state | Active"), 31u);
  EXPECT_THAT(lines, IsSupersetOf({"port leaf00/7 | port.state | Down",
                                   "port spine01/1 | port.state | Down"}));
}

TEST(Iblinkinfo, DoesNotCallALinkActiveThatItSawFromOneEnd) {
  const auto lines = DumpOf(kId, Capture(MUSTER_SOURCE_DIR, "rehearsed/12-ndr-fabric.txt"));
  EXPECT_THAT(lines, Contains(HasSubstr("link leaf00/5--spine00/1 | link.state | ? not observed")));
}

TEST(Iblinkinfo, TakesTheWorseOfTwoEnds) {
  const std::string text =
      "Switch: 0x01 leaf00:\n"
      "           2    5[  ] ==( 4X        106.25 Gbps Active/  LinkUp)==>       3    1[  ] "
      "\"spine00\" ( )\n"
      "Switch: 0x02 spine00:\n"
      "           3    1[  ] ==( 2X        53.125 Gbps Initialize/  LinkUp)==>       2    5[  ] "
      "\"leaf00\" ( )\n";
  EXPECT_THAT(DumpOf(kId, text),
              ::testing::ElementsAre("link leaf00/5--spine00/1 | link.state | Initialize",
                                     "link leaf00/5--spine00/1 | link.physical_state | LinkUp",
                                     "link leaf00/5--spine00/1 | link.width | 2",
                                     "link leaf00/5--spine00/1 | link.rate | 100 Gb/s"));
}

TEST(Iblinkinfo, TellsTwoSwitchesOfOneNameApartByLid) {
  const std::string line = " ==( 4X        106.25 Gbps Active/  LinkUp)==>  ";
  const std::string text = "Switch: 0x01 Quantum Mellanox Technologies:\n          2    5[  ]" +
                           line + "     3    1[  ] \"Quantum Mellanox Technologies\" ( )\n" +
                           "Switch: 0x02 Quantum Mellanox Technologies:\n          3    1[  ]" +
                           line + "     2    5[  ] \"Quantum Mellanox Technologies\" ( )\n";
  const auto lines = DumpOf(kId, text);
  EXPECT_EQ(CountOf(lines, "link.state | Active"), 1u);
  EXPECT_THAT(lines[0], HasSubstr("@0000000000000001/5--"));
}

TEST(Iblinkinfo, ReadsTheFormOfOneLineToo) {
  const std::string text =
      "0x0002c90003000f01 \"                node015 mlx5_0\"     22    1[  ] ==( 4X      25.78125 "
      "Gbps "
      "Active/  LinkUp)==>  0x0002c90001000300      7    4[  ] \"leaf03\" (Could be 12X Could be "
      "53.125 Gbps)\n"
      "0x0002c90001000300 \"                        leaf03\"      7    4[  ] ==( 4X      25.78125 "
      "Gbps "
      "Active/  LinkUp)==>  0x0002c90003000f01     22    1[  ] \"node015 mlx5_0\" (Could be 12X "
      "Could be 53.125 Gbps)\n"
      "0x0002c90001000300 \"                        leaf03\"      7    7[  ] ==(                "
      "Down/ Polling)==>"
      "             [  ] \"\" ( )\n";
  EXPECT_THAT(DumpOf(kId, text),
              IsSupersetOf({"link leaf03/4--node015/mlx5_0/1 | link.state | Active",
                            "port leaf03/7 | port.state | Down"}));
}

TEST(Iblinkinfo, SaysThatASpeedIsNotKnown) {
  const std::string text =
      "Switch: 0x01 leaf00:\n"
      "           2    5[  ] ==( 4X         425.0 Gbps Active/  LinkUp)==>       3    1[  ] "
      "\"spine00\" ( )\n";
  EXPECT_THAT(DumpOf(kId, text), Contains(HasSubstr("link.rate | ? not observed: 425 Gbps")));
}

TEST(Iblinkinfo, InventsNothingFromDamage) {
  ExpectNothingInvented(kId, Healthy(), 7);
  // The lost heading that hides best: nobody has a LID yet.
  std::string text = Healthy();
  const std::string dropped = "Switch: 0x0002c90001000200 leaf02:\n";
  text.erase(text.find(dropped), dropped.size());
  EXPECT_THAT(DumpOf(kId, text), Not(Contains(HasSubstr("link leaf03/1--node008"))));
}

}  // namespace
}  // namespace muster::infiniband
