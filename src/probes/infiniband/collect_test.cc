#include "probes/infiniband/collect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/infiniband/perfquery.h"
#include "probes/infiniband/sminfo.h"
#include "probes/infiniband/testing.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::infiniband {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kSm1[] =
    "sminfo: sm lid 1 sm guid 0xa, activity count 9 priority 14 state 3 SMINFO_MASTER\n";
constexpr char kSm12[] =
    "sminfo: sm lid 12 sm guid 0xb, activity count 9 priority 13 state 3 SMINFO_MASTER\n";

class Collect : public ::testing::Test {
 protected:
  HostPorts Ports() {
    return {"fabric", {clock_, files_, processes_, http_, random_}, Origin::kLive};
  }
  void Fails(const std::string& line, std::string out, int exit_code) {
    CommandResult result;
    result.exit_code = exit_code;
    result.out = std::move(out);
    processes_.On(line, result);
  }

  muster::testing::FakeClock clock_;
  muster::testing::MemoryFiles files_;
  muster::testing::ScriptedProcesses processes_;
  muster::testing::ScriptedHttp http_;
  SeededRandom random_{1};
};

TEST_F(Collect, AsksEveryPortThatCanBeASubnetManager) {
  processes_.Prints("sminfo", kSm1);
  processes_.Prints(
      "saquery -s",
      "IsSM ports\n\t\tEndPortLid..............1\n\t\tEndPortLid..............12\n\nIsSMdisabled "
      "ports\n");
  processes_.Prints("sminfo 12", kSm12);
  const Reading reading = CollectSminfo(Ports());
  EXPECT_THAT(processes_.asked(), ElementsAre("sminfo", "saquery -s", "sminfo 12"));
  EXPECT_THAT(testing::Dump(ParseSminfoReading(reading)),
              Contains("fabric fabric | sm.masters | 2"));
}

TEST_F(Collect, StopsAtASubnetManagerThatDoesNotAnswer) {
  Fails("sminfo", "sminfo: iberror: failed: query\n", 255);
  EXPECT_THAT(testing::Dump(ParseSminfoReading(CollectSminfo(Ports()))),
              Contains("fabric fabric | sm.masters | 0"));
}

TEST_F(Collect, GivesTheFaultOfAToolThatIsNotThere) {
  EXPECT_TRUE(CollectSminfo(Ports()).fault);
  EXPECT_TRUE(CollectPerfquery(Ports()).fault);
}

TEST_F(Collect, AsksSwitchesForTheirWiredPortsAndAdaptersForTheirs) {
  processes_.Prints("ibnetdiscover -p",
                    "CA     9  1 0x101 4x EDR - SW     2  2 0x200 ( 'node001 mlx5_0' - 'leaf00' )\n"
                    "SW     2  2 0x200 4x EDR - CA     9  1 0x101 ( 'leaf00' - 'node001 mlx5_0' )\n"
                    "SW     2  3 0x200 4x EDR - SW     3  1 0x300 ( 'leaf00' - 'spine00' )\n"
                    "SW     2  7 0x200 4x EDR - SW     3  2 0x300 ( 'leaf00' - 'spine00' )\n");
  Fails("perfquery -l 2 2,3,7", "perfquery: iberror: failed: perfquery\n", 255);
  processes_.Prints(
      "perfquery 9 1",
      "# Port counters: Lid 9 port 1 (CapMask: 0x1200)\nPortSelect:......................1\n"
      "SymbolErrorCounter:..............65535\n");
  processes_.Prints("perfquery -x 9 1",
                    "# Port extended counters: Lid 9 port 1 (CapMask: "
                    "0x1200)\nPortSelect:......................1\n"
                    "SymbolErrorCounter:..............65540\n");
  const Reading reading = CollectPerfquery(Ports());
  EXPECT_THAT(processes_.asked(), ElementsAre("ibnetdiscover -p", "perfquery -l 2 2,3,7",
                                              "perfquery 9 1", "perfquery -x 9 1"));
  const auto lines = testing::Dump(ParsePerfqueryReading(reading));
  EXPECT_THAT(lines, Contains("port node001/mlx5_0/1 | port.symbol_errors | 65540"));
  EXPECT_THAT(lines, Contains(HasSubstr("port leaf00/7 | port.symbol_errors | ? not observed")));
}

}  // namespace
}  // namespace muster::infiniband
