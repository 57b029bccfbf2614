#include "probes/nccl_log/nccl_map.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"
#include "probes/nccl_log/probes.h"
#include "world/random.h"

namespace muster::nccl_log {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What the ranks of a job would print, after the format strings of NCCL 2.26 (src/init.cc,
// src/transport/net.cc).
struct Job {
  int nodes = 2, gpus = 4, rails = 4;
  std::string tag = "";          // of the job runner
  std::set<int> tcp_nodes = {};  // nodes whose ranks run over sockets
  std::set<int> no_gdr_rails = {};
  std::string net = "IB";
  std::string suffix = "";  // RCCL: " comm 0x55 nRanks 08"

  std::string Line(int rank, std::string_view text) const {
    return fmt::format("{}node-{:02d}:{}:{} [{}] NCCL INFO {}\n", tag, rank / gpus, 4000 + rank,
                       5000 + rank, rank % gpus, text);
  }
  std::string Edge(int channel, int from, int to, bool send) const {
    const int self = send ? from : to;
    const int node = self / gpus, rail = channel % rails;
    if (tcp_nodes.contains(node)) {
      return Line(
          self, fmt::format("Channel {:02d}/0 : {}[{}] -> {}[{}] [{}] via NET/Socket/0{}", channel,
                            from, from % gpus, to, to % gpus, send ? "send" : "receive", suffix));
    }
    // The rank at the end of the ring inside a node sends over the adapter of another GPU (PXN).
    const int owner = node * gpus + rail;
    const std::string proxy = owner == self ? "" : fmt::format("({})", owner);
    return Line(self,
                fmt::format("Channel {:02d}/0 : {}[{}] -> {}[{}] [{}] via NET/{}/{}{}{}{}", channel,
                            from, from % gpus, to, to % gpus, send ? "send" : "receive", net, rail,
                            proxy, no_gdr_rails.contains(rail) ? "" : "/GDRDMA", suffix));
  }
  std::string Text() const {
    std::string text;
    const int n = nodes * gpus;
    for (int rank = 0; rank < n; ++rank) {
      const int node = rank / gpus;
      text += Line(rank, fmt::format("Bootstrap: Using eth0:10.0.0.{}<0>", node + 1));
      if (rank == 0) text += tag + "NCCL version 2.26.2+cuda12.8\n";
      if (tcp_nodes.contains(node)) {
        text += Line(rank, "NET/IB : No device found.");
        text += Line(rank, "NET/Socket : Using [0]eth0:10.0.0.1<0>");
        text += Line(rank, "Using network Socket");
      } else {
        std::string list;
        for (int rail = 0; rail < rails; ++rail)
          list += fmt::format("[{}]mlx5_{}:1/IB ", rail, rail);
        text +=
            Line(rank, fmt::format("NET/IB : Using {}[RO]; OOB eth0:10.0.0.{}<0>", list, node + 1));
        text += Line(rank, fmt::format("Using network {}", net));
      }
      text += Line(rank, fmt::format("ncclCommInitRank comm 0x55d{:03x} rank {} nranks {} cudaDev "
                                     "{} nvmlDev {} busId 1b000 commId "
                                     "0x9ca74fa6e40df7f4 - Init START",
                                     rank, rank, n, rank % gpus, rank % gpus));
      text += Line(rank, fmt::format("{} coll channels, {} collnet channels, 0 nvls channels, {} "
                                     "p2p channels, 2 p2p channels per peer",
                                     rails, rails, rails));
      text += Line(rank, fmt::format("ncclCommInitRank comm 0x55d{:03x} rank {} nranks {} cudaDev "
                                     "{} nvmlDev {} busId 1b000 commId "
                                     "0x9ca74fa6e40df7f4 - Init COMPLETE",
                                     rank, rank, n, rank % gpus, rank % gpus));
    }
    for (int channel = 0; channel < rails; ++channel) {
      for (int node = 0; node < nodes; ++node) {
        const int first = node * gpus + channel % gpus,
                  last = node * gpus + (channel + gpus - 1) % gpus;
        const int next = (node + 1) % nodes * gpus + channel % gpus;
        for (int g = 0; g + 1 < gpus; ++g) {
          const int a = node * gpus + (channel + g) % gpus,
                    b = node * gpus + (channel + g + 1) % gpus;
          text += Line(a, fmt::format("Channel {:02d}/0 : {}[{}] -> {}[{}] via P2P/CUMEM{}",
                                      channel, a, a % gpus, b, b % gpus, suffix));
        }
        if (nodes == 1) continue;
        text += Edge(channel, last, next, true) + Edge(channel, last, next, false);
        EXPECT_NE(first, -1);
      }
    }
    for (int rank = 0; rank < n; ++rank)
      text += Line(rank, "Connected all rings, use ring PXN 0 GDR 1");
    for (uint64_t bytes = 1 << 20; bytes <= uint64_t{1} << 31; bytes *= 2) {
      text += Line(
          0, fmt::format("AllReduce: {} Bytes -> Algo RING proto SIMPLE channel{{Lo..Hi}}={{0..3}}",
                         bytes));
    }
    return text;
  }
};

Observations Observed(const std::string& text) {
  Reading reading;
  reading.probe = "nccl_log.transport";
  reading.host = "all";
  reading.text = text;
  return NcclLogProbes()[0].parse(reading);
}

std::map<std::string, Value> Values(const Observations& all) {
  std::map<std::string, Value> values;
  for (const Observation& one : all) {
    if (one.value() != nullptr)
      values.emplace(one.subject.ToString() + " " + one.fact, *one.value());
  }
  return values;
}

std::string Said(const std::string& text, const std::string& what) {
  const auto values = Values(Observed(text));
  const auto at = values.find(what);
  return at == values.end() ? "-" : FormatValue(at->second, Unit::kNone);
}

TEST(NcclLog, ReadsAHealthyJob) {
  const std::string text = Job{}.Text();
  const NcclMap map = ParseNcclLog(text);
  EXPECT_THAT(map.gaps, IsEmpty());
  EXPECT_EQ(map.nranks, 8);
  EXPECT_THAT(map.Missing(), IsEmpty());
  EXPECT_EQ(map.Hosts(), (std::set<std::string>{"node-00", "node-01"}));
  EXPECT_EQ(map.devices.at("node-01")[3].name, "mlx5_3");
  EXPECT_EQ(map.coll_channels, 4);
  const auto values = Values(Observed(text));
  for (int rail = 0; rail < 4; ++rail) {
    EXPECT_EQ(values.at(fmt::format("rail rail{} nccl.net", rail)), Value(std::string("NET/IB")));
    EXPECT_EQ(values.at(fmt::format("rail rail{} nccl.gdr", rail)), Value(true));
  }
  for (std::string_view node : {"node-00", "node-01"}) {
    EXPECT_EQ(values.at(fmt::format("node {} nccl.net_of_node", node)),
              Value(std::string("NET/IB")));
    EXPECT_EQ(values.at(fmt::format("node {} nccl.gdr_of_node", node)), Value(true));
    EXPECT_EQ(values.at(fmt::format("node {} nccl.version", node)),
              Value(std::string("2.26.2+cuda12.8")));
  }
  EXPECT_EQ(values.at("scope all collective.algorithm"), Value(std::string("Ring")));
  EXPECT_EQ(values.at("fabric fabric sharp.used"), Value(false));
}

TEST(NcclLog, ReadsThroughTagsOfJobRunnersAndInAnyInterleaving) {
  for (std::string tag : {"[1,3]<stdout>:", "rank3: ", "10.0.0.7: ", "2026-11-20T03:12:00.123456Z ",
                          "[default0]:", "| 2026-11-20T03:12:00Z | ", "[2026-11-20 03:12:00] ",
                          "(RayWorkerWrapper pid=626, ip=10.0.0.1) "}) {
    Job job;
    job.tag = tag;
    EXPECT_EQ(Values(Observed(job.Text())), Values(Observed(Job{}.Text()))) << tag;
  }
  // Lines of different ranks in any order; each rank's own order kept.
  std::map<std::string, std::vector<std::string>> by_rank;
  const std::string whole = Job{}.Text();
  for (std::string_view line : Lines(whole)) {
    by_rank[std::string(line.substr(0, line.find(' ')))].emplace_back(line);
  }
  SeededRandom random(3);
  std::string mixed;
  while (!by_rank.empty()) {
    auto at = by_rank.begin();
    std::advance(at, static_cast<ptrdiff_t>(random.Below(by_rank.size())));
    mixed += at->second.front() + "\n";
    at->second.erase(at->second.begin());
    if (at->second.empty()) by_rank.erase(at);
  }
  EXPECT_EQ(Values(Observed(mixed)), Values(Observed(Job{}.Text())));
}

TEST(NcclLog, NamesTheNodeThatFellBackToTcp) {
  Job job;
  job.nodes = 3;
  job.tcp_nodes = {1};
  const std::string text = job.Text();
  EXPECT_EQ(Said(text, "node node-01 nccl.net_of_node"), "NET/Socket");
  EXPECT_EQ(Said(text, "node node-01 nccl.gdr_of_node"), "no");
  EXPECT_EQ(Said(text, "node node-00 nccl.net_of_node"), "NET/IB");
  EXPECT_EQ(Said(text, "node node-02 nccl.gdr_of_node"), "yes");
  EXPECT_EQ(Said(text, "rail rail2 nccl.net"), "NET/Socket")
      << "the rail of the channel lost a connection to TCP";
}

TEST(NcclLog, NamesTheRailWithoutGpuDirect) {
  Job job;
  job.no_gdr_rails = {2};
  const std::string text = job.Text();
  EXPECT_EQ(Said(text, "rail rail2 nccl.gdr"), "no");
  EXPECT_EQ(Said(text, "rail rail2 nccl.net"), "NET/IB");
  EXPECT_EQ(Said(text, "rail rail1 nccl.gdr"), "yes");
  EXPECT_EQ(Said(text, "node node-00 nccl.gdr_of_node"), "no");
}

TEST(NcclLog, KnowsPluginsAndRccl) {
  Job plugin;
  plugin.net = "IBext_v8";
  EXPECT_EQ(Said(plugin.Text(), "rail rail0 nccl.net"), "NET/IBext");
  Job efa;
  efa.net = "AWS Libfabric";
  EXPECT_EQ(Said(efa.Text(), "rail rail0 nccl.net"), "NET/AWS Libfabric");
  Job rccl;
  rccl.suffix = " comm 0x9bbf3b0 nRanks 08";
  EXPECT_EQ(Said(rccl.Text(), "rail rail3 nccl.gdr"), "yes");
}

TEST(NcclLog, SaysNothingOfTransportsBetweenNodesFromOneNode) {
  Job job;
  job.nodes = 1;
  const auto seen = Observed(job.Text());
  for (const Observation& one : seen) {
    if (one.fact != "nccl.net_of_node" && one.fact != "nccl.net") continue;
    ASSERT_NE(one.unobserved(), nullptr);
    EXPECT_THAT(one.unobserved()->detail, HasSubstr("one node"));
  }
  EXPECT_EQ(Said(job.Text(), "node node-00 nccl.version"), "2.26.2+cuda12.8");
}

TEST(NcclLog, NeverInfersRdmaFromTheListOfAdapters) {
  std::string text;
  const std::string whole = Job{}.Text();
  for (std::string_view line : Lines(whole)) {
    if (!Contains(line, " via NET/")) text += fmt::format("{}\n", line);
  }
  for (const auto& [what, value] : Values(Observed(text))) {
    EXPECT_FALSE(Contains(what, "nccl.net") || Contains(what, "nccl.gdr")) << what;
  }
}

TEST(NcclLog, TellsNoGoodNewsWhenOnlyOneRankWasAskedToLog) {
  std::string text;
  const std::string whole = Job{}.Text();
  for (std::string_view line : Lines(whole)) {
    if (Contains(line, ":4000:")) text += fmt::format("{}\n", line);
  }
  EXPECT_EQ(Said(text, "rail rail0 nccl.net"), "-");
  EXPECT_THAT(ParseNcclLog(text).gaps.front(), HasSubstr("7 of 8 ranks"));
}

TEST(NcclLog, NamesRanksThatNeverFinished) {
  std::string text;
  const std::string whole = Job{}.Text();
  for (std::string_view line : Lines(whole)) {
    if (!(Contains(line, ":4005:") && (Contains(line, "COMPLETE") || Contains(line, "Connected"))))
      text += fmt::format("{}\n", line);
  }
  EXPECT_EQ(ParseNcclLog(text).Missing(), (std::vector<int>{5}));
}

TEST(NcclLog, KeepsWarningsAndVersionMismatch) {
  const std::string text = Job{}.Text() +
                           "node-01:4004:5004 [0] misc/ibvwrap.cc:174 NCCL WARN Call to "
                           "ibv_modify_qp failed with error No such device errno 19\n"
                           "node-01:4004:5004 [0] init.cc:900 NCCL WARN Mismatched NCCL version "
                           "detected : rank 0 version 22602 rank 4 version 22105\n";
  const NcclMap map = ParseNcclLog(text);
  ASSERT_EQ(map.warnings.size(), 2u);
  EXPECT_THAT(map.warnings[0], HasSubstr("node-01: Call to ibv_modify_qp failed"));
  EXPECT_EQ(Said(text, "node node-01 nccl.version"), "-");
}

TEST(NcclLog, DoesNotTakeTheVersionOfAnOlderReleaseForTheOtherNodes) {
  std::string text = Job{}.Text();
  text.replace(text.find("2.26.2+cuda12.8"), 15, "2.21.5+cuda12.4");
  EXPECT_EQ(Said(text, "node node-00 nccl.version"), "2.21.5+cuda12.4");
  EXPECT_EQ(Said(text, "node node-01 nccl.version"), "-");
}

TEST(NcclLog, ReadsAlgorithmsOfEveryEra) {
  const std::string old = "h:1:1 [0] NCCL INFO 4294967296 Bytes -> Algo 5 proto 2 time 11234.5\n";
  EXPECT_EQ(Said(old, "scope all collective.algorithm"), "NVLSTree");
  const std::string mixed =
      "h:1:1 [0] NCCL INFO AllReduce: 1073741824 Bytes -> Algo TREE proto SIMPLE "
      "channel{Lo..Hi}={0..3}\n"
      "h:1:1 [0] NCCL INFO AllReduce: 2147483648 Bytes -> Algo Ring proto Simple "
      "channel{Lo..Hi}={0..3}\n"
      "h:1:1 [0] NCCL INFO AllGather: 2147483648 Bytes -> Algo NVLS proto Simple "
      "channel{Lo..Hi}={0..3}\n"
      "h:1:1 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..3}\n";
  EXPECT_EQ(Said(mixed, "scope all collective.algorithm"), "Ring,Tree");
  EXPECT_EQ(Said("h:1:1 [0] NCCL INFO NCCL_ALGO set by environment to Ring.\n",
                 "scope all collective.algorithm"),
            "Ring");
  EXPECT_EQ(Said("h:1:1 [0] NCCL INFO NCCL_ALGO set by environment to ^Tree.\n",
                 "scope all collective.algorithm"),
            "-");
}

TEST(NcclLog, SaysSharpOnlyWhenACollectiveRanOnIt) {
  const std::string edges =
      "h:1:1 [0] NCCL INFO CollNet 00/0 : 0 [send] via COLLNET/SHARP/0/GDRDMA\n";
  EXPECT_EQ(Said(edges, "fabric fabric sharp.used"), "-");
  EXPECT_EQ(Said(edges + "h:1:1 [0] NCCL INFO AllReduce: 1073741824 Bytes -> Algo COLLNET_DIRECT "
                         "proto SIMPLE channel{Lo..Hi}={0..3}\n",
                 "fabric fabric sharp.used"),
            "yes");
  EXPECT_EQ(Said(edges + "h:1:1 [0] x.cc:1 NCCL WARN NET/IB : SHARP coll init error: Cannot create "
                         "SHARP job(-11)\n",
                 "fabric fabric sharp.used"),
            "no");
}

TEST(NcclLog, UsesTheNameOfAnAdapterAndNotItsNumberInTheList) {
  // Without mlx5_1 the list is shorter, and NCCL's device 1 is mlx5_2.
  EXPECT_EQ(RailByName("node-00", {1, "mlx5_2", "IB"}), 2);
  EXPECT_EQ(RailByName("node-00", {1, "rocep1s0f1", "RoCE"}), 1);
}

// Whatever is cut or garbled, no rail and no node looks better than it does in the whole log.
void NothingBetter(const std::map<std::string, Value>& whole, const std::string& text,
                   const std::string& what) {
  for (const auto& [key, value] : Values(Observed(text))) {
    const bool good = value == Value(true) || value == Value(std::string("NET/IB"));
    if (!good || !Contains(key, " nccl.")) continue;
    const auto at = whole.find(key);
    ASSERT_TRUE(at != whole.end() && at->second == value) << key << " after " << what;
  }
}

TEST(NcclLogDamage, CutsAndLossesMakeNothingHealthy) {
  Job sick;
  sick.nodes = 3;
  sick.tcp_nodes = {2};
  sick.no_gdr_rails = {1};
  for (const Job& job : {Job{}, sick}) {
    const std::string text = job.Text();
    const auto whole = Values(Observed(text));
    for (size_t cut = 0; cut < text.size(); cut += 37) {
      NothingBetter(whole, text.substr(0, cut), fmt::format("cut at {}", cut));
      NothingBetter(whole, text.substr(cut), fmt::format("begun at {}", cut));
    }
    const auto lines = Lines(text);
    for (size_t drop = 0; drop < lines.size(); ++drop) {
      std::string less;
      for (size_t i = 0; i < lines.size(); ++i) {
        if (i < drop || i >= drop + 1 + drop % 7) less += fmt::format("{}\n", lines[i]);
      }
      NothingBetter(whole, less, fmt::format("without line {}", drop));
    }
    SeededRandom random(11);
    for (int i = 0; i < 1500; ++i) {
      std::string garbled = text;
      const size_t at = random.Below(garbled.size());
      const size_t length = std::min<size_t>(random.Below(12), garbled.size() - at);
      if (i % 2 == 0) {
        garbled.erase(at, length);
      } else {
        for (size_t k = 0; k < length; ++k)
          garbled[at + k] = static_cast<char>("\x01\xff ~#:/-x["[random.Below(10)]);
      }
      NothingBetter(whole, garbled,
                    fmt::format("garbage at {}: {}", at,
                                Printable(garbled.substr(at > 60 ? at - 60 : 0, 120))));
    }
  }
}

RC_GTEST_PROP(NcclLogProperty, AnyBytesAreRead, (const std::string& bytes)) {
  RC_ASSERT(!ParseNcclLog(bytes).whole());
}

TEST(NcclLogLine, TakesTheSpeakerOutOfATableRow) {
  const auto line = ReadLogLine(
      "           8             2     float     sum      -1node-00:4000:5000 [0] NCCL INFO "
      "Connected all rings");
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->host, "node-00");
  EXPECT_EQ(line->text, "Connected all rings");
}

TEST(NcclLogLine, ReadsEdgesOfEveryEra) {
  const auto old = ReadEdge("Ring 00 : 1[0] -> 2[1] [send] via NET/IB/0/GDRDMA");
  ASSERT_TRUE(old.has_value());
  EXPECT_TRUE(old->gdr);
  const auto bus =
      ReadEdge("Channel 03 : 15[a01d0] -> 6[a01c0] [receive] via NET/AWS Libfabric/3/GDRDMA");
  EXPECT_EQ(bus->transport, "NET/AWS Libfabric");
  EXPECT_EQ(bus->from_device, -1);
  const auto pxn =
      ReadEdge("Channel 00/0 : 3[1] -> 4[0] [send] via NET/IBext_v8/5(2)/GDRDMA/Shared");
  EXPECT_EQ(pxn->device, 5);
  EXPECT_EQ(pxn->proxy_rank, 2);
  EXPECT_EQ(ReadEdge("Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read")->transport,
            "P2P/CUMEM/read");
  EXPECT_EQ(ReadEdge("Channel 00/08 :    0   1   2   3"), std::nullopt);
  EXPECT_EQ(ReadEdge("Channel 00/0 : 3[1] -> 4[0] [send] via NET/IB/5/GDR")->transport, "")
      << "cut in its flag";
}

}  // namespace
}  // namespace muster::nccl_log
