#include "probes/infiniband/ibstat.h"

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
using ::testing::IsSupersetOf;

constexpr char kOnePort[] =
    "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: 28.39.1002\n"
    "\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n"
    "\t\tBase lid: 7\n\t\tSM lid: 1\n\t\tLink layer: InfiniBand\n";

TEST(Ibstat, ReadsStateRateAndFirmwareOfEachPort) {
  EXPECT_THAT(DumpOf("infiniband.ibstat", kOnePort),
              ::testing::ElementsAre("hca node000/mlx5_0 | hca.state | Active",
                                     "hca node000/mlx5_0 | hca.physical_state | LinkUp",
                                     "hca node000/mlx5_0 | hca.rate | 400 Gb/s",
                                     "hca node000/mlx5_0 | hca.firmware | 28.39.1002"));
}

TEST(Ibstat, KeepsGoodPortsAheadOfAPanic) {
  const auto text = SharedCapture(MUSTER_SOURCE_DIR,
                                  "third_party/gpud/ibstat.39.0.a100.failed.ibpanic.exit-255.0");
  if (!text) GTEST_SKIP() << "third-party captures are not here";
  const auto lines = DumpOf("infiniband.ibstat", *text, 255);
  EXPECT_THAT(lines, IsSupersetOf({"hca node000/mlx5_0 | hca.state | Active",
                                   "hca node000/mlx5_7 | hca.rate | 200 Gb/s"}));
  EXPECT_THAT(lines, Contains(HasSubstr("mlx5_8 | hca.state | ? tool fault: ibpanic")));
}

TEST(Ibstat, FindsThePanicOnStderrToo) {
  Reading reading = testing::ReadingOf("infiniband.ibstat", kOnePort, 255);
  reading.stderr_text =
      "ibpanic: [14] main: stat of IB device 'mlx5_1' failed: No such file or directory";
  EXPECT_THAT(testing::Dump(ParseIbstatReading(reading)),
              Contains(HasSubstr("mlx5_1 | hca.state | ? tool fault")));
}

TEST(Ibstat, SeparatesDownPortsFromActiveOnes) {
  const auto text =
      SharedCapture(MUSTER_SOURCE_DIR, "third_party/gpud/ibstat.47.0.h100.some.down.0");
  if (!text) GTEST_SKIP() << "third-party captures are not here";
  int down = 0;
  for (const PortStatus& port : ParseIbstat(*text).ports) down += port.state == "Down" ? 1 : 0;
  EXPECT_GT(down, 0);
  for (const std::string& line : DumpOf("infiniband.ibstat", *text)) {
    if (line.find("hca.state | Down") == std::string::npos) continue;
    const std::string hca = line.substr(0, line.find(" |"));
    EXPECT_THAT(DumpOf("infiniband.ibstat", *text),
                Contains(HasSubstr(hca + " | hca.rate | ? not observed")));
  }
}

TEST(Ibstat, ReadsRealMachinesWhole) {
  for (const auto& [name, devices] : {std::pair{"ibstat.47.0.a100.all.active.0", 0},
                                      std::pair{"ibstat.47.0.h100.all.active.1", 0}}) {
    const auto text = SharedCapture(MUSTER_SOURCE_DIR, std::string("third_party/gpud/") + name);
    if (!text) GTEST_SKIP() << "third-party captures are not here";
    const Ibstat ibstat = ParseIbstat(*text);
    EXPECT_GT(ibstat.devices, devices);
    for (const PortStatus& port : ibstat.ports) {
      EXPECT_EQ(port.state, "Active") << name << " " << port.device;
      EXPECT_TRUE(port.rate_gbit_per_s.has_value()) << name << " " << port.device;
    }
  }
}

TEST(Ibstat, GivesNoValueToAPortWhoseHeadingWasLost) {
  std::string text(kOnePort);
  text += std::string(kOnePort).substr(std::string("CA 'mlx5_0'\n").size());
  const Ibstat ibstat = ParseIbstat(text);
  ASSERT_EQ(ibstat.ports.size(), 1u);
  EXPECT_EQ(ibstat.ports[0].device, "mlx5_0");
}

TEST(Ibstat, CallsASecondPortBySoMuch) {
  std::string text(kOnePort);
  text += "\tPort 2:\n\t\tState: Down\n\t\tPhysical state: Disabled\n\t\tRate: 10\n";
  EXPECT_THAT(DumpOf("infiniband.ibstat", text),
              IsSupersetOf({"hca node000/mlx5_0 | hca.state | Active",
                            "hca node000/mlx5_0/2 | hca.state | Down"}));
}

TEST(Ibstat, InventsNothingFromDamage) {
  std::string text(kOnePort);
  std::string other(kOnePort);
  other.replace(other.find("mlx5_0"), 6, "mlx5_1");
  other.replace(other.find("Active"), 6, "Down");
  other.replace(other.find("LinkUp"), 6, "Polling");
  ExpectNothingInvented("infiniband.ibstat", text + other);
  ExpectNothingInvented("infiniband.ibstat",
                        Capture(MUSTER_SOURCE_DIR, "rehearsed/01-healthy-sminfo-ibstat.txt"));
}

TEST(Ibstatus, ReadsTheScriptsOutput) {
  const auto text =
      SharedCapture(MUSTER_SOURCE_DIR, "third_party/gpud/ibstatus.39.0.a100.all.active.0");
  if (!text) GTEST_SKIP() << "third-party captures are not here";
  EXPECT_THAT(DumpOf("infiniband.ibstatus", *text),
              IsSupersetOf({"hca node000/mlx5_0 | hca.state | Active",
                            "hca node000/mlx5_0 | hca.physical_state | LinkUp",
                            "hca node000/mlx5_0 | hca.rate | 200 Gb/s"}));
  ExpectNothingInvented("infiniband.ibstatus", *text);
}

TEST(SysfsWords, AreThoseOfTheKernelOrNothing) {
  EXPECT_EQ(StateOfSysfs("4: ACTIVE\n"), "Active");
  EXPECT_EQ(StateOfSysfs("2: INIT"), "Initializing");
  EXPECT_EQ(StateOfSysfs("4: active"), std::nullopt);
  EXPECT_EQ(PhysicalStateOfSysfs("5: LinkUp"), "LinkUp");
  EXPECT_EQ(PhysicalStateOfSysfs("5: Polling"), std::nullopt);
  EXPECT_EQ(RateOfSysfs("400 Gb/sec (4X NDR)"), 400);
  EXPECT_EQ(RateOfSysfs("2.5 Gb/sec (1X SDR)"), 2.5);
  EXPECT_EQ(RateOfSysfs("400 Gb/sec"), std::nullopt);
}

}  // namespace
}  // namespace muster::infiniband
