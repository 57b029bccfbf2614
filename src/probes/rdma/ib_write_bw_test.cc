#include "probes/rdma/ib_write_bw.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/rdma/probes.h"
#include "world/testing/captures.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::rdma {
namespace {

using ::muster::testing::SharedCapture;
using ::testing::HasSubstr;

// A run of perftest 4.5 with --report_gbits.
std::string Printout(std::string_view device, double average,
                     std::string_view title = "RDMA_Write BW Test",
                     std::string_view unit = "Gb/sec") {
  return fmt::format(
      "                    {}\n Dual-port       : OFF\t\tDevice         : {}\n"
      "---------------------------------------------------------------------------------------\n"
      " #bytes     #iterations    BW peak[{}]    BW average[{}]   MsgRate[Mpps]\n"
      " 65536      1497200          0.00               {:.2f} \t\t   0.748598\n"
      "---------------------------------------------------------------------------------------\n",
      title, device, unit, unit, average);
}

std::string Pair(int rails, const std::vector<std::string>& runs) {
  std::string text = fmt::format("# pair node001 node000 rails {}\n", rails);
  for (const std::string& run : runs) text += "$ ib_write_bw -d mlx5_0 node000\n" + run;
  return text;
}

Reading ReadingOf(std::string text) {
  Reading reading;
  reading.probe = "rdma.ib_write_bw";
  reading.host = "node001";
  reading.text = std::move(text);
  return reading;
}
std::optional<double> RateOf(const std::string& text) {
  const Observations seen = ParsePairReading(ReadingOf(text));
  if (seen.size() != 1 || seen[0].value() == nullptr) return std::nullopt;
  return std::get<double>(*seen[0].value());
}

TEST(WriteBw, ReadsGigabitsAsPrinted) {
  const WriteBw bw = ParseWriteBw(Printout("mlx5_3", 392.44));
  ASSERT_EQ(bw.rows.size(), 1u);
  EXPECT_EQ(bw.device, "mlx5_3");
  EXPECT_DOUBLE_EQ(bw.rows[0].average_gbit_per_s, 392.44);
}

TEST(WriteBw, TakesMegabytesForMebibytes) {
  const WriteBw bw = ParseWriteBw(Printout("mlx5_3", 23240.68, "RDMA_Write BW Test", "MB/sec"));
  EXPECT_NEAR(bw.rows.at(0).average_gbit_per_s, 194.96, 0.01);
}

TEST(WriteBw, ReadsALogWithBothSidesRunTogether) {
  const auto text =
      SharedCapture(MUSTER_SOURCE_DIR, "third_party/superbenchmark/ib_loopback_all_sizes.log");
  if (!text) GTEST_SKIP() << "third-party captures are not here";
  const WriteBw bw = ParseWriteBw(*text);
  ASSERT_FALSE(bw.rows.empty());
  EXPECT_EQ(bw.rows.back().bytes, 8388608);
  EXPECT_NEAR(bw.rows.back().average_gbit_per_s, 194.96, 0.01);
}

TEST(WriteBw, ReadsTheJsonOfOldAndNewVersions) {
  const std::string old =
      "{\ntest_info: {\ntest: RDMA_Write_BW_Test,\n},\nresults: {\nMsgSize: 65536,\nn_iterations: "
      "5000,\n"
      "BW_peak: 0.00,\nBW_average: 392.10,\nMsgRate: 0.747871\n}\n}\n";
  EXPECT_DOUBLE_EQ(ParseWriteBwJson(old, true).rows.at(0).average_gbit_per_s, 392.10);
  const std::string quoted =
      "{\"test_info\": {}, \"results\": {\"MsgSize\": 65536, \"n_iterations\": 5000, \"BW_peak\": "
      "1.0, "
      "\"BW_average\": 100.5, \"MsgRate\": 0.1}}";
  EXPECT_NEAR(ParseWriteBwJson(quoted, false).rows.at(0).average_gbit_per_s, 0.843, 0.001);
  EXPECT_TRUE(ParseWriteBwJson(old.substr(0, old.find("392") + 2), true).rows.empty());
}

TEST(WriteBw, SaysWhyThereIsNoTable) {
  EXPECT_EQ(ParseWriteBw("Couldn't connect to node000:18515\n").trouble,
            "Couldn't connect to node000:18515");
  EXPECT_EQ(ParseWriteBw("").trouble, "no table of bandwidths");
}

TEST(PairRate, IsThatOfTheSlowestRail) {
  EXPECT_EQ(RateOf(Pair(3, {Printout("a", 392), Printout("b", 240.5), Printout("c", 391)})), 240.5);
}

TEST(PairRate, IsUnknownWithoutEveryRail) {
  EXPECT_EQ(RateOf(Pair(3, {Printout("a", 392), Printout("b", 390)})), std::nullopt);
  EXPECT_EQ(RateOf(Pair(2, {Printout("a", 392), "Couldn't connect to node000:18515\n"})),
            std::nullopt);
}

TEST(PairRate, OfBothDirectionsIsHalved) {
  EXPECT_EQ(RateOf(Pair(1, {Printout("a", 700, "RDMA_Write Bidirectional BW Test")})), 350);
}

TEST(PairRate, NamesThePairInCanonicalOrder) {
  const Observations seen = ParsePairReading(ReadingOf(Pair(1, {Printout("a", 390)})));
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].subject, PairSubject("node000", "node001"));
}

TEST(PairRate, IsNotInventedFromDamage) {
  const std::string text = Pair(2, {Printout("a", 392.25), Printout("b", 240.5)});
  for (size_t cut = 0; cut < text.size(); ++cut) {
    const auto rate = RateOf(text.substr(0, cut));
    EXPECT_TRUE(!rate || *rate == 240.5) << "cut at " << cut << " gives " << *rate;
  }
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    const auto rate = RateOf(text.substr(0, begin) + text.substr(end + 1));
    EXPECT_TRUE(!rate || *rate == 240.5) << "line dropped at " << begin << " gives " << *rate;
    begin = end + 1;
  }
}

class CollectsPair : public ::testing::Test {
 protected:
  HostPorts At(std::string host, muster::testing::ScriptedProcesses& processes) {
    return {std::move(host), {clock_, files_, processes, http_, random_}, Origin::kLive};
  }
  static std::string Line(std::string_view device, std::string_view target = "") {
    return fmt::format("ib_write_bw -d {} -p 18515 -s 65536 -D 2 -F --report_gbits{}{}", device,
                       target.empty() ? "" : " ", target);
  }
  Reading Collect() {
    return CollectPair(At("node000", server_), At("node001", client_),
                       {{"mlx5_0", "mlx5_0"}, {"mlx5_1", "mlx5_1"}}, {});
  }

  muster::testing::FakeClock clock_;
  muster::testing::MemoryFiles files_;
  muster::testing::ScriptedProcesses server_, client_;
  muster::testing::ScriptedHttp http_;
  SeededRandom random_{1};
};

TEST_F(CollectsPair, RunsEachRailAndTakesTheSlowest) {
  for (const char* device : {"mlx5_0", "mlx5_1"}) server_.Prints(Line(device), "waiting\n");
  client_.Prints(Line("mlx5_0", "node000"), Printout("mlx5_0", 392));
  client_.Prints(Line("mlx5_1", "node000"), Printout("mlx5_1", 388));
  EXPECT_EQ(RateOf(Collect().text), 388);
}

TEST_F(CollectsPair, TriesAgainWhileTheServerDoesNotListen) {
  for (const char* device : {"mlx5_0", "mlx5_1"}) server_.Prints(Line(device), "waiting\n");
  CommandResult refused;
  refused.exit_code = 1;
  refused.err = "Couldn't connect to node000:18515\n";
  client_.On(Line("mlx5_0", "node000"), refused);
  client_.Prints(Line("mlx5_0", "node000"), Printout("mlx5_0", 392));
  client_.Prints(Line("mlx5_1", "node000"), Printout("mlx5_1", 388));
  EXPECT_EQ(RateOf(Collect().text), 388);
}

TEST_F(CollectsPair, GivesUpOnAServerThatNeverListens) {
  for (const char* device : {"mlx5_0", "mlx5_1"}) server_.Prints(Line(device), "waiting\n");
  CommandResult refused;
  refused.exit_code = 1;
  refused.err = "Couldn't connect to node000:18515\n";
  for (const char* device : {"mlx5_0", "mlx5_1"}) client_.On(Line(device, "node000"), refused);
  const Observations seen = ParsePairReading(Collect());
  ASSERT_EQ(seen.size(), 1u);
  ASSERT_NE(seen[0].unobserved(), nullptr);
  EXPECT_THAT(seen[0].unobserved()->detail, HasSubstr("Couldn't connect"));
}

TEST_F(CollectsPair, SaysThatTheToolIsMissing) {
  const Observations seen = ParsePairReading(Collect());
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].unobserved()->reason, UnknownReason::kToolFault);
}

TEST(RdmaProbe, SaysThatOneHostIsNotAPair) {
  muster::testing::FakeClock clock;
  muster::testing::MemoryFiles files;
  muster::testing::ScriptedProcesses processes;
  muster::testing::ScriptedHttp http;
  SeededRandom random{1};
  const Probe& probe = RdmaProbes().front();
  EXPECT_TRUE(
      probe.collect({"node000", {clock, files, processes, http, random}, Origin::kLive}).fault);
}

}  // namespace
}  // namespace muster::rdma
