#include "diagnose/knowledge.h"

#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "diagnose/diagnosis.h"

namespace muster::diagnose {
namespace {

Diagnosis Of(const std::string& text) {
  Reader reader(*LoadKnowledge().value());
  reader.Begin("example");
  reader.Feed(text + "\n");
  reader.End();
  return Judge(*LoadKnowledge().value(), reader.Take());
}

TEST(Knowledge, OfTheCatalogueLoads) {
  const auto knowledge = LoadKnowledge();
  ASSERT_TRUE(knowledge.ok()) << knowledge.error().ToString();
  EXPECT_GE((*knowledge)->causes.size(), 100u);
}

TEST(Knowledge, CoversEveryLayer) {
  std::set<std::string_view> layers;
  for (const Cause& cause : (*LoadKnowledge())->causes) layers.insert(cause.layer);
  EXPECT_EQ(layers.size(), Layers().size());
}

TEST(Knowledge, EachExampleHasItsCauseFirst) {
  for (const Cause& cause : (*LoadKnowledge())->causes) {
    for (const std::string& text : cause.yes) {
      const Diagnosis d = Of(text);
      ASSERT_FALSE(d.findings.empty()) << cause.id << " is not found in: " << text;
      EXPECT_EQ(d.findings.front().cause->id, cause.id) << text;
    }
  }
}

TEST(Knowledge, NoCounterExampleNamesTheCause) {
  for (const Cause& cause : (*LoadKnowledge())->causes) {
    for (const std::string& text : cause.no) {
      for (const Finding& finding : Of(text).findings)
        EXPECT_NE(finding.cause->id, cause.id) << text;
    }
  }
}

TEST(Knowledge, EverySignACauseAsksForIsMadeBySomebody) {
  // Facts of the readers; signs of the catalogue are known from it.
  const std::set<std::string> kReaders = {"sxid",
                                          "sxid.detail",
                                          "nvlink.all_inactive",
                                          "kube.set_unready",
                                          "link.went_down",
                                          "link.flaps",
                                          "df.full",
                                          "df.nearly_full",
                                          "df.shm_full",
                                          "df.shm_small",
                                          "memory.nearly_used",
                                          "numa.no_memory",
                                          "clock.no_source",
                                          "ethtool.half_duplex",
                                          "ethtool.slow",
                                          "gpu.hw_slowdown",
                                          "gpu.ecc_mode",
                                          "gpu.slow_clock",
                                          "kube.set_empty",
                                          "nvlink.uneven",
                                          "pcie.unbound",
                                          "gpu.fabric_health",
                                          "gpu.fabric_bandwidth",
                                          "gpu.fabric_route",
                                          "gpu.fabric_configuration",
                                          "gpu.repair_pending",
                                          "ethtool.no_link",
                                          "gpu.odd_number",
                                          "rocm.junction",
                                          "ras.uncorrected",
                                          "gpu.no_peer_access",
                                          "lustre.target_full",
                                          "service.state",
                                          "deepspeed.other_cuda",
                                          "python.raised",
                                          "gpu.fallen_off",
                                          "pcie.rev_ff",
                                          "pcie.acs_redirect",
                                          "verdict",
                                          "metric.xid",
                                          "gpu.remap_failed",
                                          "gpu.remap_pending",
                                          "gpu.retired_pending",
                                          "gpu.double_bit",
                                          "gpu.sram_threshold",
                                          "gpu.ecc_uncorrected",
                                          "nvlink.inactive",
                                          "nvlink.fewer",
                                          "nvlink.topology_gap",
                                          "gpu.recovery_action",
                                          "gpu.lost",
                                          "gpu.throttle_thermal",
                                          "gpu.temperature",
                                          "gpu.memory_temperature",
                                          "gpu.throttle_power_brake",
                                          "dcgm.fail",
                                          "dcgm.warning",
                                          "dcgm.runtime_error",
                                          "dcgm.skipped",
                                          "gpu.pcie_narrow",
                                          "nic.pcie_narrow",
                                          "nic.pcie_slow",
                                          "pcie.aer",
                                          "gpu.fabric_state",
                                          "gpu.fabric_status",
                                          "metric.fabric_status",
                                          "link.polling",
                                          "hca.port",
                                          "nic.port",
                                          "hca.panic",
                                          "link.init",
                                          "link.disabled",
                                          "link.narrow",
                                          "link.slow",
                                          "counter.growing",
                                          "counter.saturated",
                                          "counter.single",
                                          "job.socket",
                                          "job.no_gdr",
                                          "job.rdma",
                                          "job.versions",
                                          "job.adapters_apart",
                                          "job.networks_apart",
                                          "hang.mismatch",
                                          "hang.behind",
                                          "hang.apart",
                                          "hang.silent",
                                          "hang.all_entered",
                                          "hang.one_dump",
                                          "hang.slow_rank",
                                          "job.silent_ranks",
                                          "job.unfinished",
                                          "job.one_host",
                                          "job.stays_inside",
                                          "job.few_ranks",
                                          "nccl.crash",
                                          "collective.wrong",
                                          "collective.falls_off",
                                          "collective.copies_of_rank0",
                                          "collective.failure",
                                          "bandwidth.host_low",
                                          "bandwidth.peer_low",
                                          "bandwidth.failed",
                                          "bandwidth.p2p_slower",
                                          "hang.some_wait",
                                          "ib.completion",
                                          "sensor.state",
                                          "sensor.status",
                                          "metric.starved",
                                          "metric.spinning",
                                          "vllm.kv_cache",
                                          "vllm.waiting",
                                          "pod.gang_partial",
                                          "pod.gang_pending",
                                          "pod.creating",
                                          "slurm.node",
                                          "slurm.partition",
                                          "slurm.job",
                                          "slurm.job_state",
                                          "kube.node",
                                          "metric.up",
                                          "metric.blank",
                                          "pod.status",
                                          "pod.unready",
                                          "kube.row",
                                          "pod.restarting",
                                          "node.out_of_memory",
                                          "redfish.health",
                                          "redfish.event",
                                          "gpu.pcie_slow",
                                          "pace.fell",
                                          "node.devices_short",
                                          "words.failure",
                                          "words.layer",
                                          "job.p2p",
                                          "job.shm"};
  std::set<std::string> signs;
  for (const SignLine& line : (*LoadKnowledge())->lines) signs.insert(line.id);
  const auto known = [&](const SignRef& ref) {
    return signs.contains(ref.fact) || kReaders.contains(ref.fact);
  };
  for (const Cause& cause : (*LoadKnowledge())->causes) {
    for (const auto* refs : {&cause.signs, &cause.all, &cause.unless, &cause.heals})
      for (const SignRef& ref : *refs)
        EXPECT_TRUE(known(ref)) << cause.id << " asks for " << ref.fact;
    for (const AgainstRef& against : cause.against)
      EXPECT_TRUE(known(against.sign)) << cause.id << " asks for " << against.sign.fact;
  }
}

TEST(Knowledge, ATitleThatLacksItsWordQuotesTheLine) {
  const Diagnosis d = Of("OSError: [Errno 24] Too many open files");
  ASSERT_FALSE(d.findings.empty());
  EXPECT_THAT(d.findings.front().title, ::testing::HasSubstr("Too many open files"));
  EXPECT_EQ(d.findings.front().title.find('?'), std::string::npos) << d.findings.front().title;
}

TEST(Knowledge, ASignWithATitleOfItsOwnSaysIt) {
  const Diagnosis d = Of("OSError: CUDA_HOME environment variable is not set.");
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().cause->id, "app.build_tools");
  EXPECT_THAT(d.findings.front().title, ::testing::HasSubstr("no CUDA toolkit"));
}

TEST(Knowledge, AWordingStandsOnceForItsSign) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const SignLine& line : (*LoadKnowledge())->lines)
    EXPECT_TRUE(seen.emplace(line.id, ToLower(line.pattern.text())).second)
        << line.id << ": " << line.pattern.text();
}

TEST(Knowledge, ATitleSaysWhyWhereTheLineDoes) {
  const auto title = [](std::string_view why) {
    const Diagnosis d = Of(fmt::format(
        "  Warning  Failed  2s  kubelet  Failed to pull image \"reg/train:9\": {}\n", why));
    return d.findings.empty() ? d.summary : d.findings.front().title;
  };
  EXPECT_THAT(title("429 Too Many Requests"), ::testing::HasSubstr("a rate limit"));
  EXPECT_THAT(title("dial tcp: lookup reg: no such host"),
              ::testing::HasSubstr("does not resolve"));
  EXPECT_THAT(title("i/o timeout"), ::testing::HasSubstr("no answer in time"));
  EXPECT_TRUE(title("it did not work").starts_with("the image cannot be pulled:"))
      << title("it did not work");
}

TEST(Knowledge, AMistakeIsNamedWithItsPlace) {
  const EmbeddedFile bad[] = {
      {"diagnose/x.yaml",
       "causes:\n- {id: a, layer: moon, title: t, match: ['abcd'], settle: s, "
       "next: n, source: x, wieght: 3}\n"}};
  const auto knowledge = ParseKnowledge(bad);
  ASSERT_FALSE(knowledge.ok());
  EXPECT_THAT(knowledge.error().message, ::testing::HasSubstr("diagnose/x.yaml:2"));
  EXPECT_THAT(knowledge.error().message, ::testing::HasSubstr("there is no layer moon"));
  EXPECT_THAT(knowledge.error().message, ::testing::HasSubstr("wieght"));
}

TEST(SignRef, ReadsConditionsAndWeight) {
  const auto ref = ParseSignRef("xid code=79,48 fatal!=no value>=3 @90");
  ASSERT_TRUE(ref.ok());
  EXPECT_EQ(ref->weight, 90);
  Fact fact{"xid", {{"code", "48"}, {"value", "3"}}, {}, "", {}, 0, 1};
  EXPECT_TRUE(ref->Holds(fact));
  fact.Set("value", "2");
  EXPECT_FALSE(ref->Holds(fact));
  fact.Set("value", "many");
  EXPECT_FALSE(ref->Holds(fact));
  EXPECT_FALSE(ParseSignRef("").ok());
  EXPECT_FALSE(ParseSignRef("xid =3").ok());
}

}  // namespace
}  // namespace muster::diagnose
