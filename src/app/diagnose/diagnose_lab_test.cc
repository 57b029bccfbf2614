// Every fault of the lab that gates 1 to 5 can see, from a folder that `muster capture` wrote and
// nothing else: the right cause must come first.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "app/capture.h"
#include "app/diagnose/diagnose.h"
#include "app/init.h"
#include "app/lab_cases.h"
#include "backend/lab/state/lab_state.h"
#include "world/posix/posix_inputs.h"
#include "world/posix/posix_world.h"

namespace muster {
namespace {

// What each fault of the lab is, in the words of the catalogue.
const std::map<std::string, std::set<std::string>>& Expected() {
  static const std::map<std::string, std::set<std::string>> kExpected = {
      {"pdu_off", {"facility.power_supply"}},
      {"budget_exceeded", {"facility.signoff"}},
      {"signoff_expired", {"facility.signoff"}},
      {"signoff_missing", {"facility.signoff"}},
      {"link_down", {"fabric.link_down"}},
      {"link_lane_degraded", {"fabric.width"}},
      {"link_wrong_rate", {"fabric.rate"}},
      {"symbol_errors", {"fabric.errors_grow"}},
      {"link_flapping", {"fabric.flapping"}},
      {"two_masters", {"fabric.no_subnet_manager"}},
      {"no_master", {"fabric.no_subnet_manager"}},
      {"port_stuck_init", {"fabric.initializing"}},
      {"hca_missing", {"fabric.link_down", "nic.missing"}},
      {"rdma_pair_slow", {"fabric.pair_slow"}},
      {"unreachable", {"node.unreachable", "node.not_ready"}},
      {"gpu_missing", {"gpu.fallen_off_bus"}},
      {"gpu_wrong_model", {"gpu.wrong_model"}},
      {"xid_48", {"gpu.double_bit_ecc", "gpu.other_xid"}},
      {"xid_63", {"gpu.remap_pending"}},
      {"xid_64", {"gpu.remap_failed", "gpu.other_xid"}},
      {"xid_74", {"gpu.nvlink_error", "gpu.other_xid", "gpu.nvlink_inactive"}},
      {"xid_79", {"gpu.fallen_off_bus", "gpu.other_xid"}},
      {"xid_94", {"gpu.contained_ecc", "gpu.other_xid", "gpu.remap_pending"}},
      {"xid_95", {"gpu.uncontained_ecc", "gpu.other_xid"}},
      {"xid_119", {"gpu.gsp_timeout", "gpu.other_xid"}},
      {"remap_pending", {"gpu.remap_pending"}},
      {"remap_failed", {"gpu.remap_failed"}},
      {"ecc_uncorrectable", {"gpu.uncorrected_ecc"}},
      {"thermal", {"gpu.thermal"}},
      {"power_brake", {"gpu.power_brake"}},
      {"mig_left_on", {"gpu.mig_on"}},
      {"driver_mismatch", {"driver.differs"}},
      {"fabric_manager_down", {"node.fabric_manager"}},
      {"dcgm_hidden_error", {"gpu.dcgm_hidden"}},
      {"dcgm_fail", {"gpu.dcgm_failed"}},
      {"dcgm_hang", {"node.tool", "gpu.dcgm_did_not_run"}},
      {"nvlink_down", {"gpu.nvlink_inactive"}},
      {"pcie_width_degraded", {"pcie.link_narrow"}},
      {"persistence_off", {"gpu.persistence_off"}},
      {"kernel_module_missing", {"driver.not_loaded"}},
      {"image_drift", {"node.image"}},
      {"clock_skew", {"node.clock"}},
      {"tool_garbage", {"node.tool"}},
      {"tool_truncated", {"node.tool"}},
      {"tool_denied", {"node.tool", "gpu.dcgm_did_not_run"}},
      {"fabric_manager_mismatch", {"node.fabric_manager"}},
      {"peermem_missing", {"node.peermem"}},
      {"module_mismatch", {"driver.version_mismatch"}},
      {"exporter_silent", {"telemetry.exporter"}},
      {"alert_route_broken", {"telemetry.alerts"}},
      {"scrape_too_slow", {"telemetry.scrape"}},
  };
  return kExpected;
}

std::string FirstCause(World& world, const std::string& folder) {
  PosixInputs inputs;
  const auto result = DiagnoseInputs(world, inputs, {folder}, {});
  if (!result.ok()) return result.error().ToString();
  if (result->diagnosis.outcome != diagnose::Outcome::kFinding) return "(none)";
  return result->diagnosis.findings.front().cause->id;
}

// A proof is no reading: a capture fires no alert, places no gang and sends no traffic between two
// nodes.
const std::set<std::string> kNotInACapture = {"alert_route_broken", "rdma_pair_slow",
                                              "gpus_not_registered"};

// The lab's time, which passes when somebody waits: a capture waits between two counter samples.
class SkippingClock final : public Clock {
 public:
  explicit SkippingClock(Clock& under) : under_(under) {}
  TimePoint Now() const override { return under_.Now() + Duration(skipped_.load()); }
  Duration Monotonic() const override { return under_.Monotonic() + Duration(skipped_.load()); }
  void SleepFor(Duration d) override { skipped_ += d.count(); }

 private:
  Clock& under_;
  std::atomic<Duration::rep> skipped_{0};  // probes wait side by side
};

TEST(DiagnoseLab, NamesTheFaultFromACaptureAlone) {
  PosixWorld posix;
  const World real = posix.ports();
  SkippingClock clock(real.clock);
  World world{clock, real.files, real.processes, real.http, real.random};
  const std::string folder =
      std::string(std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp") +
      "/muster-diagnose-lab-" + std::to_string(static_cast<long>(::getpid()));
  size_t right = 0, all = 0;
  std::string wrong;
  SilentProgress silent;
  uint64_t seed = 1;
  const auto captured = [&](const lab::FaultKind* kind) {
    (void)world.files.Remove(folder);
    ClusterSpec spec;
    spec.nodes = 4;
    EXPECT_TRUE(InitLab(world, folder + "/site.yaml", "lab", spec, 1, true).ok());
    auto state = lab::LoadLab(world.files, folder + "/lab");
    EXPECT_TRUE(state.ok());
    if (kind != nullptr) {
      EXPECT_TRUE(lab::Inject(*state, kind->name, lab::SampleSubject(*state, *kind, ++seed).id,
                              world.clock.Now())
                      .ok());
    }
    EXPECT_TRUE(lab::SaveLab(world.files, *state).ok());
    auto site = OpenSite(folder + "/site.yaml", world, {"", true});
    EXPECT_TRUE(site.ok());
    EXPECT_TRUE(Capture(*site, folder + "/capture", silent).ok());
    return FirstCause(world, folder + "/capture");
  };
  EXPECT_EQ(captured(nullptr), "(none)");
  for (const lab::FaultKind& kind : lab::FaultTable()) {
    const auto expected = Expected().find(std::string(kind.name));
    if (kind.gate == 0 || kind.gate > 5 || kNotInACapture.contains(std::string(kind.name)))
      continue;
    ASSERT_NE(expected, Expected().end()) << kind.name << " has no expected cause";
    ++all;
    const std::string first = captured(&kind);
    if (expected->second.contains(first)) {
      ++right;
    } else {
      wrong += std::string(kind.name) + " -> " + first + "\n";
    }
  }
  (void)world.files.Remove(folder);
  std::cout << "lab faults from a capture alone: " << right << "/" << all << "\n" << wrong;
  EXPECT_EQ(right, all) << wrong;
}

}  // namespace
}  // namespace muster
