#include "backend/lab/state/truth.h"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"

namespace muster::lab {
namespace {

const TimePoint kLooked = ParseTime("2026-11-20T03:12:00Z").value();
constexpr double kGiB = 1073741824;

LabState LabOf(std::string_view spec = "nodes=4") {
  return MakeLab(ParseClusterSpec(spec).value(), 7, kLooked);
}

LabState With(std::string_view kind, std::string_view on, std::string_view spec = "nodes=4") {
  LabState lab = LabOf(spec);
  const Status status = Inject(lab, kind, on, kLooked);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().ToString());
  return lab;
}

std::vector<std::string> Names(const LabState& lab) {
  std::vector<std::string> names;
  for (const Node& node : lab.cluster.nodes) names.push_back(node.name);
  return names;
}

std::string Text(const PortCounters& c) {
  return fmt::format("{} {} {} {} {} {} {}", c.symbol_errors, c.link_error_recovery, c.link_downed,
                     c.rcv_errors, c.xmit_discards, c.xmit_data, c.rcv_packets);
}

// Everything that is so, as text: two labs differ where these lines differ.
std::string Snapshot(const LabState& lab, TimePoint now) {
  std::string out;
  for (const Node& node : lab.cluster.nodes) {
    const NodeTruth n = NodeNow(lab, node, now);
    out += fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {}\n", node.name, n.reachable,
                       n.driver_version, n.kernel, n.os_version, n.container_toolkit_version,
                       n.loaded_driver_version, n.fabric_manager_version, n.fabric_manager_running,
                       n.peermem_loaded, n.clock_offset.count(), n.exporter_answers,
                       n.scrape_interval_seconds, n.boot_id);
    for (const Gpu& gpu : node.gpus) {
      const GpuTruth g = GpuNow(lab, node, gpu.index, now);
      out += fmt::format(
          "{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}\n", g.present, g.lost, g.model,
          g.temperature_celsius, g.throttle_thermal, g.throttle_power_brake,
          g.ecc_uncorrected_volatile, g.remapped_uncorrectable, g.remap_pending, g.remap_failed,
          g.mig_enabled, g.persistence, g.pcie_width, g.nvlinks_active, g.nvlink_crc_errors,
          g.diag_fails, g.diag_hides_error, g.xids.size(), g.xids.empty() ? "" : g.xids[0].text);
    }
    for (const Nic& nic : node.nics) {
      const HcaTruth h = HcaNow(lab, node, nic, now);
      const Transport t = TransportNow(lab, node, nic.rail, now);
      out += fmt::format("{} {} {} {} {} {} {} {}\n", h.present, h.state, h.physical_state,
                         h.rate_gbit_per_s, h.lid, h.sm_lid, t.rdma, t.gdr);
    }
  }
  for (size_t i = 0; i < lab.cluster.links.size(); ++i) {
    const LinkTruth l = LinkNow(lab, i, now);
    out += fmt::format("{} {} {} {} {} | {} | {}\n", l.up, l.state, l.physical_state, l.width,
                       l.lane_gbit_per_s, Text(l.a), Text(l.b));
  }
  for (const SubnetManager& sm : SubnetManagersNow(lab, now))
    out += fmt::format("{} {}\n", sm.host, sm.state);
  const auto names = Names(lab);
  out += fmt::format("{} {}\n", BusBandwidth(lab, names, 8, 8 * kGiB, now),
                     ResultsRight(lab, names, now));
  for (size_t n = 0; n + 1 < names.size(); ++n) {
    for (int rail = 0; rail < lab.cluster.RailCount(); ++rail) {
      out += fmt::format("{} ", PairBandwidth(lab, names[n], names[n + 1], rail, now));
    }
  }
  return out;
}

// These do not change what is so of the hardware: they are laid over the answers (LabHosts), over
// the gang (LabJobs), or are played by the exporter, the trainer and the server, each tested there.
const std::set<std::string_view> kPlayedElsewhere = {"dcgm_hang",
                                                     "tool_garbage",
                                                     "tool_truncated",
                                                     "tool_denied",
                                                     "alert_route_broken",
                                                     "rank_never_starts",
                                                     "straggler",
                                                     "nan_loss",
                                                     "checkpoint_disk_full",
                                                     "slow_training",
                                                     "endpoint_slow",
                                                     "endpoint_failing",
                                                     "endpoint_down",
                                                     "pdu_off",
                                                     "budget_exceeded",
                                                     "signoff_expired",
                                                     "signoff_missing",
                                                     "gpus_not_registered",
                                                     "time_slicing_left_on",
                                                     "kv_cache_pressure",
                                                     "mps_left_on",
                                                     "bmc_silent",
                                                     "checkpoint_cut_off",
                                                     "gpu_memory_held"};

TEST(Truth, EveryFaultChangesWhatIsSoAndHealingUndoesIt) {
  const std::string healthy = Snapshot(LabOf(), kLooked);
  for (const FaultKind& kind : FaultTable()) {
    LabState lab = LabOf();
    const Subject on = SampleSubject(lab, kind, 11);
    ASSERT_TRUE(Inject(lab, kind.name, on.id, kLooked).ok());
    EXPECT_EQ(Snapshot(lab, kLooked) == healthy, kPlayedElsewhere.contains(kind.name)) << kind.name;
    ASSERT_TRUE(Heal(lab, kind.name, on.id).ok());
    EXPECT_EQ(Snapshot(lab, kLooked), healthy) << kind.name;
  }
}

TEST(Truth, AHealthyLabIsHealthyEverywhere) {
  const LabState lab = LabOf();
  for (const Node& node : lab.cluster.nodes) {
    const NodeTruth n = NodeNow(lab, node, kLooked);
    EXPECT_TRUE(n.reachable && n.fabric_manager_running && n.peermem_loaded && n.exporter_answers);
    EXPECT_EQ(n.driver_version, n.loaded_driver_version);
    EXPECT_EQ(n.driver_version, n.fabric_manager_version);
    EXPECT_EQ(n.clock_offset, Duration::zero());
    EXPECT_LE(n.scrape_interval_seconds, 15);
    for (const Gpu& gpu : node.gpus) {
      const GpuTruth g = GpuNow(lab, node, gpu.index, kLooked);
      EXPECT_TRUE(g.present && !g.lost && g.persistence && !g.mig_enabled);
      EXPECT_TRUE(!g.remap_pending && !g.remap_failed && !g.throttle_thermal &&
                  !g.throttle_power_brake);
      EXPECT_EQ(g.ecc_uncorrected_volatile, 0);
      EXPECT_EQ(g.nvlinks_active, 18);
      EXPECT_EQ(g.pcie_width, g.pcie_width_max);
      EXPECT_LT(g.temperature_celsius, 60);
      EXPECT_TRUE(g.xids.empty());
    }
    for (const Nic& nic : node.nics) {
      const HcaTruth h = HcaNow(lab, node, nic, kLooked);
      EXPECT_EQ(h.state, "Active");
      EXPECT_EQ(h.rate_gbit_per_s, 400);
      EXPECT_GT(h.lid, 0);
      EXPECT_EQ(h.port_guid.size(), 16u);
    }
  }
  for (size_t i = 0; i < lab.cluster.links.size(); ++i) {
    const LinkTruth l = LinkNow(lab, i, kLooked);
    EXPECT_TRUE(l.up && l.state == "Active" && l.width == 4 && l.lane_gbit_per_s == 106.25);
    EXPECT_EQ(l.a.symbol_errors + l.b.symbol_errors + l.a.link_downed + l.b.link_downed, 0);
  }
  const auto managers = SubnetManagersNow(lab, kLooked);
  EXPECT_EQ(std::count_if(managers.begin(), managers.end(),
                          [](const auto& m) { return m.state == "SMINFO_MASTER"; }),
            1);
}

TEST(Truth, ADownLinkIsDownAtTheAdapterToo) {
  LabState lab = LabOf();
  const std::string id = lab.cluster.links[3].Id().id;
  ASSERT_TRUE(Inject(lab, "link_down", id, kLooked).ok());
  EXPECT_EQ(LinkNow(lab, 3, kLooked).state, "Down");
  EXPECT_EQ(LinkNow(lab, 3, kLooked).physical_state, "Polling");
  const Node& node = lab.cluster.nodes[0];
  const HcaTruth hca = HcaNow(lab, node, node.nics[3], kLooked);
  EXPECT_EQ(hca.state, "Down");
  EXPECT_EQ(hca.rate_gbit_per_s, 10);
  EXPECT_EQ(hca.lid, 0);
  EXPECT_EQ(HcaNow(lab, node, node.nics[2], kLooked).state, "Active");
}

TEST(Truth, AMissingAdapterLeavesItsSwitchPortPolling) {
  const LabState lab = With("hca_missing", "node001/mlx5_2");
  const auto link = LinkOf(lab, {"node001/mlx5_2", 1});
  ASSERT_TRUE(link.has_value());
  EXPECT_EQ(LinkNow(lab, *link, kLooked).state, "Down");
  EXPECT_FALSE(HcaNow(lab, lab.cluster.nodes[1], lab.cluster.nodes[1].nics[2], kLooked).present);
}

TEST(Truth, APortStuckInInitHasLightAndNoLid) {
  const LabState lab = With("port_stuck_init", "node001/mlx5_2");
  const HcaTruth hca = HcaNow(lab, lab.cluster.nodes[1], lab.cluster.nodes[1].nics[2], kLooked);
  EXPECT_EQ(hca.state, "Initializing");
  EXPECT_EQ(hca.physical_state, "LinkUp");
  EXPECT_EQ(hca.lid, 0);
  EXPECT_EQ(LinkNow(lab, *LinkOf(lab, {"node001/mlx5_2", 1}), kLooked).state, "Init");
}

TEST(Truth, DegradedLinksSayWhatIsLost) {
  LabState lanes = LabOf();
  ASSERT_TRUE(Inject(lanes, "link_lane_degraded", lanes.cluster.links[0].Id().id, kLooked).ok());
  EXPECT_EQ(LinkNow(lanes, 0, kLooked).width, 2);
  EXPECT_EQ(HcaNow(lanes, lanes.cluster.nodes[0], lanes.cluster.nodes[0].nics[0], kLooked)
                .rate_gbit_per_s,
            200);
  LabState rate = LabOf();
  ASSERT_TRUE(Inject(rate, "link_wrong_rate", rate.cluster.links[0].Id().id, kLooked).ok());
  EXPECT_EQ(LinkNow(rate, 0, kLooked).lane_gbit_per_s, 53.125);
  EXPECT_EQ(LinkNow(rate, 0, kLooked).width, 4);
}

TEST(Counters, RiseBetweenTwoReadingsAndStickAtTheirWidth) {
  LabState lab = LabOf();
  const std::string id = lab.cluster.links[5].Id().id;
  ASSERT_TRUE(Inject(lab, "symbol_errors", id, kLooked).ok());
  const TimePoint later = kLooked + std::chrono::seconds(2);
  EXPECT_GT(LinkNow(lab, 5, later).a.symbol_errors, LinkNow(lab, 5, kLooked).a.symbol_errors);
  EXPECT_EQ(LinkNow(lab, 5, kLooked + std::chrono::hours(24)).a.symbol_errors, 65535);
  LabState flap = LabOf();
  ASSERT_TRUE(Inject(flap, "link_flapping", id, kLooked).ok());
  EXPECT_GT(LinkNow(flap, 5, later).a.link_downed, LinkNow(flap, 5, kLooked).a.link_downed);
  EXPECT_EQ(LinkNow(flap, 5, kLooked + std::chrono::hours(24)).b.link_downed, 255);
}

RC_GTEST_PROP(Counters, NeverFallWhileTheLabRuns, ()) {
  LabState lab = LabOf("nodes=2,gpus=2,rails=2,leaves=2,spines=1");
  for (const char* kind : {"symbol_errors", "link_flapping"}) {
    RC_ASSERT(Inject(lab, kind, lab.cluster.links[0].Id().id, kLooked).ok());
  }
  const auto first = std::chrono::seconds(*rc::gen::inRange(0, 100000));
  const auto step = std::chrono::milliseconds(*rc::gen::inRange(0, 100000));
  const PortCounters a = LinkNow(lab, 0, kLooked + first).a,
                     b = LinkNow(lab, 0, kLooked + first + step).a;
  RC_ASSERT(a.symbol_errors <= b.symbol_errors && a.link_downed <= b.link_downed &&
            a.xmit_data <= b.xmit_data);
}

TEST(Lids, AreSwitchesThenAdaptersAndTheManagerHasOne) {
  const LabState lab = LabOf();
  EXPECT_EQ(LidOf(lab, "leaf00"), 1);
  EXPECT_EQ(LidOf(lab, "spine01"), 4);
  EXPECT_EQ(LidOf(lab, "node000/mlx5_0"), 5);
  EXPECT_EQ(LidOf(lab, "node003/mlx5_7"), 36);
  EXPECT_EQ(LidOf(lab, "nobody"), 0);
  EXPECT_EQ(SubnetManagersNow(lab, kLooked)[0].lid, 5);
}

TEST(SubnetManagers, TwoMastersAndNone) {
  const auto masters = [](const LabState& lab) {
    int count = 0;
    for (const auto& sm : SubnetManagersNow(lab, kLooked))
      count += sm.state == "SMINFO_MASTER" ? 1 : 0;
    return count;
  };
  EXPECT_EQ(masters(With("two_masters", "")), 2);
  EXPECT_EQ(masters(With("two_masters", "", "nodes=1")), 2);
  EXPECT_EQ(masters(With("no_master", "")), 0);
  EXPECT_TRUE(SubnetManagersNow(LabOf("nodes=1,leaves=0"), kLooked).empty());
}

TEST(Xids, CarryTheirCodeTimeAndCompanions) {
  const auto gpu = [](std::string_view kind) {
    const LabState lab = With(kind, "node001/gpu3");
    return GpuNow(lab, lab.cluster.nodes[1], 3, kLooked);
  };
  for (const int code : {48, 63, 64, 74, 79, 94, 95, 119}) {
    const GpuTruth truth = gpu(fmt::format("xid_{}", code));
    ASSERT_EQ(truth.xids.size(), 1u);
    EXPECT_EQ(truth.xids[0].code, code);
    EXPECT_EQ(truth.xids[0].at, kLooked);
    EXPECT_FALSE(truth.xids[0].text.empty());
  }
  EXPECT_TRUE(gpu("xid_79").lost);
  EXPECT_TRUE(gpu("xid_63").remap_pending);
  EXPECT_TRUE(gpu("xid_64").remap_failed);
  EXPECT_EQ(gpu("xid_95").ecc_uncorrected_volatile, 1);
  EXPECT_EQ(gpu("xid_74").nvlinks_active, 17);
}

TEST(Bandwidth, AHealthyFabricClearsTheBarsAndNeverExceedsTheWire) {
  const LabState lab = LabOf();
  const double gib = BusBandwidth(lab, Names(lab), 8, kGiB, kLooked),
               eight = BusBandwidth(lab, Names(lab), 8, 8 * kGiB, kLooked);
  EXPECT_GT(gib, 0.92 * 400);
  EXPECT_GT(eight, gib);
  EXPECT_LT(eight, 400);
  EXPECT_LT(BusBandwidth(lab, Names(lab), 8, 8 * 1048576, kLooked), 100);
  EXPECT_EQ(BusBandwidth(lab, Names(lab), 8, 0, kLooked), 0);
  // One rank a node has one adapter.
  EXPECT_NEAR(BusBandwidth(lab, Names(lab), 1, 8 * kGiB, kLooked), eight / 8, 0.01);
}

TEST(Bandwidth, InsideANodeItIsNvlink) {
  const LabState lab = LabOf();
  EXPECT_NEAR(BusBandwidth(lab, {"node000"}, 8, 16 * kGiB, kLooked), 480, 5);
  EXPECT_EQ(BusBandwidth(lab, {"node000"}, 1, 16 * kGiB, kLooked), 0);
  EXPECT_EQ(BusBandwidth(lab, {"nobody"}, 8, 16 * kGiB, kLooked), 0);
  EXPECT_NEAR(BusBandwidth(LabOf("nodes=1,model=NVIDIA A100-SXM4-80GB"), {"node000"}, 8, 16 * kGiB,
                           kLooked),
              232, 4);
  EXPECT_NEAR(BusBandwidth(LabOf("nodes=1,model=NVIDIA B200"), {"node000"}, 8, 16 * kGiB, kLooked),
              839, 10);
  EXPECT_LT(BusBandwidth(With("nvlink_down", "node000/gpu5"), {"node000"}, 8, 16 * kGiB, kLooked),
            0.92 * 480);
}

TEST(Bandwidth, OneSlowRailSlowsTheWholeRingAndIsFoundAlone) {
  const LabState lab = With("slow_rail", "rail3");
  EXPECT_LT(BusBandwidth(lab, Names(lab), 8, 8 * kGiB, kLooked), 0.88 * 400);
  for (int rail = 0; rail < 8; ++rail) {
    EXPECT_EQ(RingBandwidth(lab, Names(lab), {rail}, 8 * kGiB, kLooked) < 0.88 * 50, rail == 3)
        << rail;
  }
}

TEST(Bandwidth, OnlyTheSlowPairIsSlowAndOnlyAsNeighbours) {
  const LabState lab = With("slow_pair", "node001--node002");
  EXPECT_LT(BusBandwidth(lab, Names(lab), 8, 8 * kGiB, kLooked), 0.88 * 400);
  const auto names = Names(lab);
  for (size_t a = 0; a < names.size(); ++a) {
    for (size_t b = a + 1; b < names.size(); ++b) {
      EXPECT_EQ(BusBandwidth(lab, {names[a], names[b]}, 8, 8 * kGiB, kLooked) < 0.88 * 400,
                a == 1 && b == 2);
    }
  }
  EXPECT_GT(BusBandwidth(lab, {"node001", "node000", "node002", "node003"}, 8, 8 * kGiB, kLooked),
            0.92 * 400);
  // RDMA between the two alone is fine: it is slow under load only.
  EXPECT_GT(PairBandwidth(lab, "node001", "node002", 0, kLooked), 375);
  EXPECT_LT(
      PairBandwidth(With("rdma_pair_slow", "node001--node002"), "node002", "node001", 0, kLooked),
      375);
}

TEST(Bandwidth, ASlowNodeSlowsWhatItIsInAndTcpStarvesIt) {
  const LabState slow = With("slow_node_collective", "node002");
  EXPECT_LT(BusBandwidth(slow, {"node001", "node002"}, 8, 8 * kGiB, kLooked), 0.88 * 400);
  EXPECT_LT(BusBandwidth(slow, {"node002"}, 8, 8 * kGiB, kLooked), 0.88 * 450);
  EXPECT_GT(BusBandwidth(slow, {"node000", "node001"}, 8, 8 * kGiB, kLooked), 0.92 * 400);
  const LabState tcp = With("tcp_fallback", "node002");
  EXPECT_LT(BusBandwidth(tcp, Names(tcp), 8, 8 * kGiB, kLooked), 3.1);
  EXPECT_FALSE(TransportNow(tcp, tcp.cluster.nodes[2], 0, kLooked).rdma);
  const LabState gdr = With("gdr_off_rail", "rail1");
  EXPECT_FALSE(TransportNow(gdr, gdr.cluster.nodes[0], 1, kLooked).gdr);
  EXPECT_TRUE(TransportNow(gdr, gdr.cluster.nodes[0], 0, kLooked).gdr);
  EXPECT_LT(BusBandwidth(gdr, Names(gdr), 8, 8 * kGiB, kLooked), 0.88 * 400);
}

TEST(Rates, LanesAndLinksAgree) {
  for (const double rate : {40.0, 56.0, 100.0, 200.0, 400.0, 800.0, 25.0}) {
    EXPECT_DOUBLE_EQ(NominalRate(LaneRate(rate), 4), rate);
  }
}

}  // namespace
}  // namespace muster::lab
