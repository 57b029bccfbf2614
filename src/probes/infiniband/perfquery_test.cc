#include "probes/infiniband/perfquery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "probes/infiniband/testing.h"
#include "probes/infiniband/text.h"

namespace muster::infiniband {
namespace {

using ::muster::infiniband::testing::DumpOf;
using ::muster::infiniband::testing::ExpectNothingInvented;
using ::muster::testing::Capture;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr char kId[] = "infiniband.perfquery";

std::string Record(int lid, int port, int64_t symbols, std::string_view extra = "") {
  return fmt::format(
      "# Port counters: Lid {} port {} (CapMask: 0x1300)\nPortSelect:......................{}\n"
      "SymbolErrorCounter:..............{}\nLinkErrorRecoveryCounter:........0\n"
      "LinkDownedCounter:...............0\nPortRcvErrors:...................0\n"
      "PortXmitDiscards:................0\nLocalLinkIntegrityErrors:........0\n"
      "ExcessiveBufferOverrunErrors:....0\n{}",
      lid, port, port, symbols, extra);
}

std::string Transcript() {
  return RenderBlock("ibnetdiscover -p",
                     "CA     9  1 0x0002c90003000101 4x EDR - SW     2  2 0x0002c90001000000 ( "
                     "'node001 mlx5_0' - 'leaf00' )\n"
                     "SW     2  2 0x0002c90001000000 4x EDR - CA     9  1 0x0002c90003000101 ( "
                     "'leaf00' - 'node001 mlx5_0' )\n",
                     0) +
         RenderBlock("perfquery -l 2 2", Record(2, 2, 12), 0) +
         RenderBlock("perfquery 9 1", Record(9, 1, 0), 0);
}

TEST(Perfquery, NamesPortsByTheListOfItsTranscript) {
  EXPECT_THAT(DumpOf(kId, Transcript()),
              IsSupersetOf({"port leaf00/2 | port.symbol_errors | 12",
                            "port node001/mlx5_0/1 | port.symbol_errors | 0",
                            "port node001/mlx5_0/1 | port.xmit_discards | 0"}));
}

TEST(Perfquery, ReadsAPlainCaptureByLid) {
  const auto lines = DumpOf(
      kId, Capture(MUSTER_SOURCE_DIR, "rehearsed/05-errors-ibqueryerrors-perfquery-ibdiagnet.txt"));
  EXPECT_THAT(lines, IsSupersetOf({"port lid2/5 | port.link_error_recovery | 12",
                                   "port lid2/5 | port.link_downed | 3",
                                   "port lid2/5 | port.rcv_errors | 87"}));
}

TEST(Perfquery, SaysThatASaturatedCounterIsNotKnown) {
  const auto lines = DumpOf(
      kId, Capture(MUSTER_SOURCE_DIR, "rehearsed/05-errors-ibqueryerrors-perfquery-ibdiagnet.txt"));
  EXPECT_THAT(lines,
              Contains(HasSubstr("port.symbol_errors | ? not observed: SymbolErrorCounter is "
                                 "saturated: at least 65535")));
}

TEST(Perfquery, ReadsARealTranscript) {
  const auto lines = DumpOf(kId, Capture(MUSTER_SOURCE_DIR, "rehearsed/ib/perfquery-ft16.txt"));
  EXPECT_THAT(lines, IsSupersetOf({"port leaf00/5 | port.link_downed | 3",
                                   "port leaf00/4 | port.symbol_errors | 0",
                                   "port node002/mlx5_0/1 | port.rcv_errors | 0"}));
  EXPECT_THAT(lines, Contains(HasSubstr("port leaf00/5 | port.symbol_errors | ? not observed")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("lid"))));
}

TEST(Perfquery, PrefersTheWideCounterToASaturatedOne) {
  const std::string text =
      RenderBlock("perfquery 2 5", Record(2, 5, 65535), 0) +
      RenderBlock("perfquery -x 2 5",
                  "# Port extended counters: Lid 2 port 5 (CapMask: 0x1300 CapMask2: 0x0000002)\n"
                  "PortSelect:......................5\nSymbolErrorCounter:..............70000\n",
                  0);
  EXPECT_THAT(DumpOf(kId, text), Contains("port lid2/5 | port.symbol_errors | 70000"));
}

TEST(Perfquery, ReadsTheNamesOfOldVersions) {
  const auto lines =
      DumpOf(kId,
             "# Port counters: Lid 6 port 3\nPortSelect:......................3\n"
             "SymbolErrors:....................4\nLinkRecovers:....................1\n"
             "XmtDiscards:.....................2\n");
  EXPECT_THAT(lines, IsSupersetOf({"port lid6/3 | port.symbol_errors | 4",
                                   "port lid6/3 | port.link_error_recovery | 1",
                                   "port lid6/3 | port.xmit_discards | 2"}));
  EXPECT_THAT(lines, Contains(HasSubstr("port.link_downed | ? not observed")));
}

TEST(Perfquery, LeavesOutTheSumOfAllPorts) {
  EXPECT_TRUE(DumpOf(kId, Record(2, 255, 1200)).empty());
  EXPECT_TRUE(DumpOf(kId, Record(2, 0, 1200)).empty());
}

TEST(Perfquery, SaysWhichPortDidNotAnswer) {
  const std::string text = RenderBlock(
      "perfquery -l 3 1-2", Record(3, 1, 0) + "perfquery: iberror: failed: perfquery\n", 255);
  const auto lines = DumpOf(kId, text);
  EXPECT_THAT(lines, Contains("port lid3/1 | port.symbol_errors | 0"));
  EXPECT_THAT(lines,
              Contains(HasSubstr(
                  "port lid3/2 | port.symbol_errors | ? not observed: \"perfquery -l 3 1-2\"")));
}

TEST(Perfquery, DropsWhatFollowsALostHeading) {
  std::string text = Record(2, 4, 0) + Record(2, 5, 1200);
  const size_t heading = text.find("# Port counters: Lid 2 port 5");
  text.erase(heading, text.find('\n', heading) + 1 - heading);
  const auto lines = DumpOf(kId, text);
  EXPECT_THAT(lines, Contains("port lid2/4 | port.symbol_errors | 0"));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("1200"))));
}

TEST(Perfquery, InventsNothingFromDamage) {
  ExpectNothingInvented(kId, Transcript());
  ExpectNothingInvented(
      kId, Capture(MUSTER_SOURCE_DIR, "rehearsed/ib/perfquery-ft16.txt").substr(0, 9000), 3);
  ExpectNothingInvented(
      kId, Record(2, 4, 0) + Record(2, 5, 1200, "PortXmitWait:....................0\n"));
}

TEST(Perfquery, ReadsBackWhateverValueWasPrinted) {
  rc::check("a counter below its maximum is read as printed", [](uint16_t value) {
    RC_PRE(value != 65535);
    const auto lines = DumpOf(kId, Record(7, 3, value));
    RC_ASSERT(lines.at(0) == fmt::format("port lid7/3 | port.symbol_errors | {}", value));
  });
}

}  // namespace
}  // namespace muster::infiniband
