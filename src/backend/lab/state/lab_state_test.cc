#include "backend/lab/state/lab_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "backend/lab/state/truth.h"
#include "base/strings.h"
#include "world/testing/memory_files.h"

namespace muster::lab {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

const TimePoint kNow = ParseTime("2026-11-20T03:12:00.250Z").value();

LabState Lab(std::string_view spec = "nodes=4") {
  return MakeLab(ParseClusterSpec(spec).value(), 7, kNow);
}

TEST(FaultTable, HasEveryPromisedKindOnceWithItsSource) {
  const std::vector<std::string> promised = {"link_down",
                                             "link_lane_degraded",
                                             "link_wrong_rate",
                                             "symbol_errors",
                                             "link_flapping",
                                             "two_masters",
                                             "no_master",
                                             "port_stuck_init",
                                             "hca_missing",
                                             "rdma_pair_slow",
                                             "gpu_missing",
                                             "gpu_wrong_model",
                                             "xid_48",
                                             "xid_63",
                                             "xid_64",
                                             "xid_74",
                                             "xid_79",
                                             "xid_94",
                                             "xid_95",
                                             "xid_119",
                                             "remap_pending",
                                             "remap_failed",
                                             "ecc_uncorrectable",
                                             "thermal",
                                             "power_brake",
                                             "mig_left_on",
                                             "driver_mismatch",
                                             "fabric_manager_down",
                                             "fabric_manager_mismatch",
                                             "dcgm_hidden_error",
                                             "dcgm_fail",
                                             "dcgm_hang",
                                             "nvlink_down",
                                             "pcie_width_degraded",
                                             "persistence_off",
                                             "clock_skew",
                                             "unreachable",
                                             "tool_garbage",
                                             "tool_truncated",
                                             "tool_denied",
                                             "peermem_missing",
                                             "module_mismatch",
                                             "exporter_silent",
                                             "alert_route_broken",
                                             "scrape_too_slow",
                                             "tcp_fallback",
                                             "gdr_off_rail",
                                             "slow_rail",
                                             "slow_pair",
                                             "slow_node_collective",
                                             "wrong_result",
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
                                             "signoff_missing"};
  std::map<std::string, int> seen;
  for (const FaultKind& kind : FaultTable()) {
    ++seen[std::string(kind.name)];
    EXPECT_FALSE(kind.what.empty()) << kind.name;
    EXPECT_FALSE(kind.source.empty()) << kind.name;
    EXPECT_GE(kind.gate, 0) << kind.name;
    EXPECT_LE(kind.gate, 8) << kind.name;
  }
  for (const std::string& name : promised) EXPECT_EQ(seen[name], 1) << name;
  EXPECT_EQ(seen.size(), FaultTable().size());
}

TEST(Inject, EveryKindFindsAPlaceInAnOrdinaryLabAndIsItsOwnFirstSuspect) {
  for (const FaultKind& kind : FaultTable()) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      LabState lab = Lab();
      const Subject on = SampleSubject(lab, kind, seed);
      ASSERT_TRUE(Inject(lab, kind.name, on.id, kNow).ok()) << kind.name << " on " << on.ToString();
      ASSERT_EQ(lab.faults.size(), 1u);
      EXPECT_EQ(lab.faults[0].on.kind, kind.on);
      EXPECT_EQ(RightSuspects(lab, lab.faults[0]).front(), on) << kind.name;
      EXPECT_TRUE(lab.Has(kind.name, on));
      EXPECT_NE(lab.FindAny(kind.name), nullptr);
    }
  }
}

TEST(Inject, AWrongKindOrPlaceIsRefusedWithWhatWouldDo) {
  LabState lab = Lab();
  const auto message = [&](std::string_view kind, std::string_view on,
                           std::map<std::string, double> with = {}) {
    const Status status = Inject(lab, kind, on, kNow, with);
    EXPECT_FALSE(status.ok());
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_THAT(message("link_downn", "x"), HasSubstr("did you mean \"link_down\"?"));
  EXPECT_THAT(message("gpu_missing", "node009/gpu0"), HasSubstr("node000/gpu0"));
  EXPECT_THAT(message("gpu_missing", ""), HasSubstr("goes on a gpu"));
  EXPECT_THAT(message("thermal", "node000/gpu0", {{"kelvin", 300}}), HasSubstr("it has celsius"));
  LabState one = Lab("nodes=1,leaves=0");
  EXPECT_FALSE(Inject(one, "link_down", "", kNow).ok());
  EXPECT_TRUE(lab.faults.empty());
}

TEST(Inject, TheSameFaultTwiceIsOneFault) {
  LabState lab = Lab();
  ASSERT_TRUE(Inject(lab, "thermal", "node000/gpu1", kNow).ok());
  ASSERT_TRUE(
      Inject(lab, "thermal", "gpu node000/gpu1", kNow + std::chrono::hours(1), {{"celsius", 99}})
          .ok());
  ASSERT_EQ(lab.faults.size(), 1u);
  EXPECT_EQ(Setting(lab.faults[0], "celsius"), 99);
  EXPECT_EQ(Setting({"thermal", lab.faults[0].on, kNow, {}}, "celsius"), 93);
}

TEST(Heal, TakesOutWhatItIsAskedToAndSaysWhenThereIsNothing) {
  LabState lab = Lab();
  ASSERT_TRUE(Inject(lab, "thermal", "node000/gpu1", kNow).ok());
  ASSERT_TRUE(Inject(lab, "thermal", "node000/gpu2", kNow).ok());
  ASSERT_TRUE(Inject(lab, "no_master", "", kNow).ok());
  EXPECT_FALSE(Heal(lab, "thermal", "node003/gpu0").ok());
  EXPECT_EQ(Heal(lab, "thermal", "node000/gpu1").value(), 1);
  EXPECT_EQ(Heal(lab, "", "").value(), 2);
  EXPECT_EQ(Heal(lab, "", "").error().code, Code::kNotFound);
}

TEST(LabFile, WhatIsSavedLoadsTheSame) {
  testing::MemoryFiles files;
  LabState lab = Lab("nodes=3,gpus=4,rails=4,leaves=4,spines=2,rate=200");
  lab.folder = "/site/lab";
  for (const FaultKind& kind : FaultTable()) {
    const Subject on = SampleSubject(lab, kind, 3);
    ASSERT_TRUE(Inject(lab, kind.name, on.id, kNow, kind.defaults).ok()) << kind.name;
  }
  ASSERT_TRUE(SaveLab(files, lab).ok());
  const auto back = LoadLab(files, "/site/lab");
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  EXPECT_EQ(back->spec, lab.spec);
  EXPECT_EQ(back->seed, lab.seed);
  EXPECT_EQ(back->created, lab.created);
  EXPECT_EQ(back->faults, lab.faults);
  EXPECT_EQ(back->folder, lab.folder);
  EXPECT_EQ(back->cluster.nodes[2].gpus[3].uuid, lab.cluster.nodes[2].gpus[3].uuid);
}

TEST(LabFile, ADamagedFileIsRefusedAndNeverHalfRead) {
  testing::MemoryFiles files;
  LabState lab = Lab();
  lab.folder = "/lab";
  ASSERT_TRUE(Inject(lab, "xid_79", "node002/gpu5", kNow).ok());
  ASSERT_TRUE(SaveLab(files, lab).ok());
  const std::string good = files.Read("/lab/lab.json").value();
  for (size_t cut = 0; cut + 2 < good.size(); ++cut) {
    files.Put("/lab/lab.json", std::string_view(good).substr(0, cut));
    EXPECT_FALSE(LoadLab(files, "/lab").ok()) << "cut at " << cut;
  }
  const std::pair<const char*, const char*> edits[] = {{"\"version\": 1", "\"version\": 2"},
                                                       {"xid_79", "xid_78"},
                                                       {"node002/gpu5", "node002/gpu8"},
                                                       {"nodes=4", "nodes=0"},
                                                       {"\"kind\": \"gpu\"", "\"kind\": \"node\""},
                                                       {"2026-11-20", "yesterday"},
                                                       {"\"seed\": 7", "\"seed\": \"x\""}};
  for (const auto& [from, to] : edits) {
    std::string bad = good;
    ASSERT_NE(bad.find(from), std::string::npos) << from;
    bad.replace(bad.find(from), std::string_view(from).size(), to);
    files.Put("/lab/lab.json", bad);
    EXPECT_FALSE(LoadLab(files, "/lab").ok()) << to;
  }
  EXPECT_EQ(LoadLab(files, "/nowhere").error().code, Code::kNotFound);
}

TEST(RightSuspects, ALinkIsItsEndsToo) {
  const LabState lab = Lab();
  const Subject link = lab.cluster.links[0].Id();
  const auto suspects = RightSuspects(lab, {"link_down", link, kNow, {}});
  EXPECT_THAT(suspects, Contains(HcaSubject("node000", "mlx5_0")));
  EXPECT_THAT(suspects, Contains(PortSubject("leaf00", 1)));
  const auto missing =
      RightSuspects(lab, {"hca_missing", HcaSubject("node000", "mlx5_0"), kNow, {}});
  EXPECT_THAT(missing, Contains(link));
}

TEST(RightSuspects, WhatThereIsOneOfIsKnownByAnyName) {
  const LabState lab = Lab();
  const Fault broken{"alert_route_broken", SiteSubject(kLabSite), kNow, {}},
      nan{"nan_loss", NodeSubject("node001"), kNow, {}};
  EXPECT_TRUE(IsRightSuspect(lab, broken, SiteSubject("exam")));
  EXPECT_TRUE(IsRightSuspect(lab, broken, {SubjectKind::kEndpoint, "alertmanager"}));
  EXPECT_FALSE(IsRightSuspect(lab, broken, NodeSubject("node001")));
  EXPECT_TRUE(IsRightSuspect(lab, nan, {SubjectKind::kGang, "run-7"}));
  EXPECT_TRUE(IsRightSuspect(lab, nan, NodeSubject("node001")));
  EXPECT_FALSE(IsRightSuspect(lab, nan, NodeSubject("node002")));
  EXPECT_FALSE(IsRightSuspect(lab, {"straggler", NodeSubject("node001"), kNow, {}},
                              {SubjectKind::kGang, "train"}));
}

TEST(Lab, HardwareIsPinnedByTheSeedAndUnique) {
  const LabState lab = Lab("nodes=64"), same = Lab("nodes=64");
  std::set<std::string> uuids, serials;
  for (const Node& node : lab.cluster.nodes) {
    for (const Gpu& gpu : node.gpus) {
      uuids.insert(gpu.uuid);
      serials.insert(GpuNow(lab, node, gpu.index, kNow).serial);
    }
  }
  EXPECT_EQ(uuids.size(), 512u);
  EXPECT_EQ(serials.size(), 512u);
  EXPECT_EQ(lab.cluster.nodes[9].gpus[2].uuid, same.cluster.nodes[9].gpus[2].uuid);
}

}  // namespace
}  // namespace muster::lab
