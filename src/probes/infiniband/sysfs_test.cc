#include "probes/infiniband/sysfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/infiniband/testing.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::infiniband {
namespace {

using ::muster::infiniband::testing::DumpOf;
using ::muster::infiniband::testing::ExpectNothingInvented;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

constexpr char kId[] = "infiniband.sysfs";
constexpr char kText[] =
    "/sys/class/infiniband/mlx5_0/fw_ver:28.39.1002\n"
    "/sys/class/infiniband/mlx5_0/ports/1/state:4: ACTIVE\n"
    "/sys/class/infiniband/mlx5_0/ports/1/phys_state:5: LinkUp\n"
    "/sys/class/infiniband/mlx5_0/ports/1/rate:400 Gb/sec (4X NDR)\n"
    "/sys/class/infiniband/mlx5_0/ports/1/link_layer:InfiniBand\n"
    "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error:3\n"
    "/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed:0\n"
    "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_errors:65535\n";

TEST(Sysfs, ReadsStateRateFirmwareAndCounters) {
  EXPECT_THAT(DumpOf(kId, kText), IsSupersetOf({"hca node000/mlx5_0 | hca.state | Active",
                                                "hca node000/mlx5_0 | hca.rate | 400 Gb/s",
                                                "hca node000/mlx5_0 | hca.firmware | 28.39.1002",
                                                "port node000/mlx5_0/1 | port.symbol_errors | 3",
                                                "port node000/mlx5_0/1 | port.link_downed | 0"}));
}

TEST(Sysfs, SaysWhatIsSaturatedAndWhatIsMissing) {
  const auto lines = DumpOf(kId, kText);
  EXPECT_THAT(lines,
              Contains(HasSubstr("port.rcv_errors | ? not observed: PortRcvErrors is saturated")));
  EXPECT_THAT(lines, Contains(HasSubstr("port.xmit_discards | ? not observed: no readable")));
}

TEST(Sysfs, InventsNothingFromDamage) { ExpectNothingInvented(kId, kText); }

class SysfsCollect : public ::testing::Test {
 protected:
  HostPorts Ports() {
    return {"node000", {clock_, files_, processes_, http_, random_}, Origin::kLive};
  }

  muster::testing::FakeClock clock_;
  muster::testing::MemoryFiles files_{&clock_};
  muster::testing::ScriptedProcesses processes_;
  muster::testing::ScriptedHttp http_;
  SeededRandom random_{1};
};

TEST_F(SysfsCollect, ReadsEveryDeviceAndPort) {
  for (const std::string_view line : Lines(kText)) {
    const size_t colon = line.find(':');
    const std::string path(line.substr(0, colon));
    ASSERT_TRUE(files_.MakeFolders(path.substr(0, path.rfind('/'))).ok());
    ASSERT_TRUE(files_.WriteAtomic(path, std::string(line.substr(colon + 1)) + "\n").ok());
  }
  const Reading reading = CollectSysfs(Ports());
  EXPECT_FALSE(reading.fault);
  EXPECT_EQ(testing::Dump(ParseSysfsReading(reading)), DumpOf(kId, kText));
}

TEST_F(SysfsCollect, SaysThatAHostHasNone) {
  const Reading reading = CollectSysfs(Ports());
  ASSERT_TRUE(reading.fault);
  EXPECT_EQ(reading.fault->reason, UnknownReason::kNotObserved);
  EXPECT_TRUE(ParseSysfsReading(reading).empty());
}

}  // namespace
}  // namespace muster::infiniband
