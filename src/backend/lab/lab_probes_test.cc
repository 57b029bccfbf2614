// The lab read by the production probes: a healthy one leaves nothing unsaid, and every fault of
// the gates that read (1 to 4) changes what they say. What the gates make of it is judged
// elsewhere.
#include <cstdlib>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/lab/lab_hosts.h"
#include "base/strings.h"
#include "probes/dcgm/probes.h"
#include "probes/facility/probes.h"
#include "probes/infiniband/probes.h"
#include "probes/kernel_log/probes.h"
#include "probes/node/probes.h"
#include "probes/nvidia_smi/probes.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::lab {
namespace {

// "gpu node000/gpu1 gpu.present" -> "yes", or "unknown: why".
using Seen = std::map<std::string, std::string>;

class LabProbes : public ::testing::Test {
 protected:
  Seen Look(const LabState& state) {
    LabHosts hosts(state, {clock_, files_, processes_, http_, random_}, {"", true});
    Seen seen;
    Read(FacilityProbes(), hosts, {"facility"}, seen);
    Read(InfinibandProbes(), hosts, {"fabric"}, seen);
    const std::vector<std::string> nodes = hosts.Names();
    for (const auto probes : {NvidiaSmiProbes(), DcgmProbes(), KernelLogProbes(), NodeProbes()})
      Read(probes, hosts, nodes, seen);
    for (const Probe& probe : InfinibandProbes()) {
      if (probe.id == "infiniband.ibstat") Read({&probe, 1}, hosts, nodes, seen);
    }
    return seen;
  }
  void Read(std::span<const Probe> probes, LabHosts& hosts, const std::vector<std::string>& places,
            Seen& seen) {
    for (const std::string& place : places) {
      for (const Probe& probe : probes) {
        for (const Observation& o : ParseReading(probe, probe.collect(hosts.At(place).value()))) {
          const std::string key =
              fmt::format("{} {} by {}", o.subject.ToString(), o.fact, probe.id);
          seen[key] = o.value() != nullptr ? FormatValue(*o.value(), o.unit)
                                           : "unknown: " + o.unobserved()->detail;
        }
      }
    }
  }

  testing::FakeClock clock_;
  testing::MemoryFiles files_;
  testing::ScriptedProcesses processes_;
  testing::ScriptedHttp http_;
  SeededRandom random_{1};
  LabState healthy_ = MakeLab(ParseClusterSpec("nodes=2,gpus=4,rails=2,leaves=2,spines=2").value(),
                              3, clock_.Now());
};

TEST_F(LabProbes, LeaveNothingUnsaidOfAHealthyLab) {
  const Seen seen = Look(healthy_);
  EXPECT_GT(seen.size(), 300u);
  for (const auto& [what, value] : seen)
    EXPECT_FALSE(StartsWith(value, "unknown")) << what << ": " << value;
}

TEST_F(LabProbes, SeeEveryFaultOfTheGatesThatRead) {
  const Seen before = Look(healthy_);
  for (const FaultKind& kind : FaultTable()) {
    // Seen by measuring the pair, by placing a gang, or by a runbook's own checks.
    if (kind.gate == 0 || kind.gate > 4 || kind.name == "rdma_pair_slow" ||
        kind.name == "gpus_not_registered")
      continue;
    for (uint64_t seed = 0; seed < 3; ++seed) {
      LabState lab = healthy_;
      const Subject on = SampleSubject(lab, kind, seed);
      ASSERT_TRUE(Inject(lab, kind.name, on.id, clock_.Now()).ok()) << kind.name;
      const Seen after = Look(lab);
      std::vector<std::string> changes;
      for (const auto& [what, value] : before) {
        const auto it = after.find(what);
        if (it == after.end() || it->second != value) {
          changes.push_back(what + ": " + value + " -> " +
                            (it == after.end() ? "nothing" : it->second));
        }
      }
      for (const auto& [what, value] : after) {
        if (!before.contains(what)) changes.push_back(what + ": nothing -> " + value);
      }
      EXPECT_FALSE(changes.empty())
          << kind.name << " on " << on.ToString() << " is not seen by any probe";
      if (std::getenv("MUSTER_SHOW_CHANGES") != nullptr && seed == 0) {
        fmt::print("{} on {} ({} changes)\n", kind.name, on.ToString(), changes.size());
        for (size_t i = 0; i < std::min<size_t>(6, changes.size()); ++i)
          fmt::print("    {}\n", Shorten(changes[i], 200));
      }
    }
  }
}

}  // namespace
}  // namespace muster::lab
