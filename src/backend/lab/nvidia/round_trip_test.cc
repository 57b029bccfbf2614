// What the lab's tools print is read back by the production probes: the facts must be the truth,
// for every fault, and nothing else may change.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/lab/nvidia/tools.h"
#include "base/strings.h"
#include "probes/dcgm/probes.h"
#include "probes/kernel_log/probes.h"
#include "probes/node/probes.h"
#include "probes/nvidia_smi/probes.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::lab {
namespace {

using muster::testing::FakeClock;
using muster::testing::MemoryFiles;
using muster::testing::ScriptedHttp;
using muster::testing::ScriptedProcesses;

// One node of a lab behind the world ports, as the lab's hosts put it there.
class LabNode {
 public:
  LabNode(const LabState& state, const Node& node) : state_(state), node_(node) {
    clock_.Jump(state.created + std::chrono::minutes(5) - clock_.Now());
    for (const LabFile& file : NvidiaFiles())
      if (auto text = file.read(state_, node_, file.prefix, clock_.Now()); text.ok())
        files_.Put(std::string(file.prefix), *text);
    processes_.Otherwise([this](const Command& command) -> Result<CommandResult> {
      for (const Tool& tool : NvidiaTools())
        if (tool.program == command.argv[0])
          return tool.run({state_, &node_, std::span(command.argv).subspan(1), clock_.Now()});
      return Fail(Code::kNotFound, command.argv[0]);
    });
    processes_.Prints("true", "");
    processes_.On("date '+%s.%N'", Date());
    processes_.On("date +%s.%N", Date());
  }

  Observations Observe() {
    const HostPorts ports{
        node_.name, {clock_, files_, processes_, http_, random_}, Origin::kRehearsed};
    Observations all;
    for (auto probes : {NvidiaSmiProbes(), DcgmProbes(), KernelLogProbes(), NodeProbes()})
      for (const Probe& probe : probes)
        for (auto& o : ParseReading(probe, probe.collect(ports))) all.push_back(std::move(o));
    return all;
  }

 private:
  ScriptedProcesses::Answer Date() {
    return [this](const Command&) -> Result<CommandResult> {
      const auto ns = (clock_.Now() + NodeNow(state_, node_, clock_.Now()).clock_offset)
                          .time_since_epoch()
                          .count();
      return Printed(fmt::format("{}.{:09}\n", ns / 1'000'000'000, ns % 1'000'000'000));
    };
  }

  const LabState& state_;
  const Node& node_;
  FakeClock clock_;
  MemoryFiles files_{&clock_};
  ScriptedProcesses processes_;
  ScriptedHttp http_;
  SeededRandom random_{1};
};

using Facts = std::map<std::pair<std::string, std::string>,
                       std::string>;  // (subject, fact) -> value, "?" when unobserved

Facts FactsOf(const LabState& state, const Node& node) {
  Facts facts;
  for (const auto& o : LabNode(state, node).Observe()) {
    const auto key = std::pair(o.subject.ToString(), o.fact);
    const std::string said = o.value() != nullptr ? FormatValue(*o.value(), Unit::kNone) : "?";
    EXPECT_TRUE(facts.emplace(key, said).second) << "twice: " << key.first << " " << key.second;
  }
  return facts;
}

LabState Lab() {
  ClusterSpec spec;
  spec.nodes = 2;
  return MakeLab(spec, 7, ParseTime("2026-11-20T03:00:00Z").value());
}
LabState LabWith(std::string_view kind, const std::string& on) {
  LabState state = Lab();
  const auto put = Inject(state, kind, on, state.created + std::chrono::minutes(1));
  EXPECT_TRUE(put.ok()) << put.error().ToString();
  return state;
}
std::string Text(bool value) { return FormatValue(Value(value), Unit::kNone); }
std::string Text(int64_t value) { return FormatValue(Value(value), Unit::kNone); }
std::string Text(double value) { return FormatValue(Value(value), Unit::kNone); }

// Every fact of one GPU that answers, straight from the truth.
Facts Wanted(const GpuTruth& gpu, const Subject& subject) {
  const std::set<int> fatal = {48, 64, 74, 79,
                               95, 119};  // of the codes a lab can have; catalogue/faults/xids.yaml
  int64_t fatal_xids = 0, last = 0;
  for (const auto& xid : gpu.xids)
    if (fatal.contains(xid.code)) ++fatal_xids, last = xid.code;
  const std::string id = subject.ToString();
  Facts wanted = {
      {{id, "gpu.present"}, Text(true)},
      {{id, "gpu.model"}, gpu.model},
      {{id, "gpu.uuid"}, gpu.uuid},
      {{id, "gpu.serial"}, gpu.serial},
      {{id, "gpu.pci_bus_id"}, gpu.pci_bus_id},
      {{id, "gpu.ecc_uncorrected"}, Text(gpu.ecc_uncorrected_volatile)},
      {{id, "gpu.remap_pending"}, gpu.mig_enabled ? "?" : Text(gpu.remap_pending)},
      {{id, "gpu.remap_failed"}, gpu.mig_enabled ? "?" : Text(gpu.remap_failed)},
      {{id, "gpu.temperature"}, Text(gpu.temperature_celsius)},
      {{id, "gpu.throttle_thermal"}, Text(gpu.throttle_thermal)},
      {{id, "gpu.throttle_power_brake"}, Text(gpu.throttle_power_brake)},
      {{id, "gpu.mig_mode"}, gpu.mig_enabled ? "Enabled" : "Disabled"},
      {{id, "gpu.persistence"}, Text(gpu.persistence)},
      {{id, "gpu.pcie_gen"}, Text(int64_t{gpu.pcie_gen})},
      {{id, "gpu.pcie_width"}, Text(int64_t{gpu.pcie_width})},
      {{id, "gpu.fabric_state"}, gpu.fabric_state},
      {{id, "nvlink.active"}, Text(int64_t{gpu.nvlinks_active})},
      {{id, "gpu.numa"}, Text(int64_t{gpu.numa})},
      {{id, "gpu.nearest_hca"}, fmt::format("mlx5_{}", gpu.index)},
      {{id, "gpu.fatal_xids"}, Text(fatal_xids)},
      {{id, "gpu.last_fatal_xid"}, Text(last)},
      {{id, "dcgm.hidden_errors"}, Text(int64_t{gpu.diag_hides_error ? 1 : 0})},
  };
  return wanted;
}

void ExpectTruth(const LabState& state, const Node& node) {
  const Facts facts = FactsOf(state, node);
  const TimePoint now = state.created + std::chrono::minutes(5);
  int64_t answering = 0;
  for (const Gpu& gpu : node.gpus) {
    const GpuTruth truth = GpuNow(state, node, gpu.index, now);
    const Subject subject = GpuSubject(node.name, gpu.index);
    if (!truth.present || truth.lost) {
      EXPECT_EQ(facts.at({subject.ToString(), "gpu.present"}), Text(false));
      continue;
    }
    ++answering;
    for (const auto& [key, value] : Wanted(truth, subject)) {
      ASSERT_TRUE(facts.contains(key)) << key.first << " " << key.second;
      EXPECT_EQ(facts.at(key), value) << key.first << " " << key.second;
    }
  }
  const NodeTruth truth = NodeNow(state, node, now);
  const std::string id = NodeSubject(node.name).ToString();
  EXPECT_EQ(facts.at({id, "gpu.count"}), Text(answering));
  EXPECT_EQ(facts.at({id, "node.driver_version"}), truth.driver_version);
  EXPECT_EQ(facts.at({id, "node.cuda_version"}), truth.cuda_version);
  EXPECT_EQ(facts.at({id, "node.reachable"}), Text(true));
  EXPECT_EQ(facts.at({id, "node.boot_id"}), truth.boot_id);
  EXPECT_EQ(facts.at({id, "node.clock_offset"}), Text(std::abs(Seconds(truth.clock_offset))));
  EXPECT_EQ(facts.at({id, "node.fabric_manager"}),
            truth.fabric_manager_running ? "active" : "inactive");
  EXPECT_EQ(facts.at({id, "node.peermem"}), Text(truth.peermem_loaded));
  EXPECT_EQ(facts.at({id, "node.driver_loaded_matches"}),
            Text(truth.driver_version == truth.loaded_driver_version));
  EXPECT_EQ(facts.at({id, "node.fabric_manager_matches"}),
            Text(truth.driver_version == truth.fabric_manager_version));
  EXPECT_EQ(facts.at({id, "dcgm.tests_run"}), Text(int64_t{7}));
}

TEST(RoundTripTest, HealthyNodeIsSeenAsItIs) {
  const LabState state = Lab();
  for (const Node& node : state.cluster.nodes) ExpectTruth(state, node);
  for (const auto& [key, value] : FactsOf(state, state.cluster.nodes[0])) {
    if (key.second == "node.os") continue;  // /etc/os-release is in no tool of this family
    EXPECT_NE(value, "?") << key.first << " " << key.second;
    if (key.second == "dcgm.result") {
      EXPECT_EQ(value, "Pass") << key.first;
    }
  }
}

TEST(RoundTripTest, EveryFaultOfANodeOrGpuIsSeenAsItIs) {
  for (const FaultKind& kind : FaultTable()) {
    if (kind.on != SubjectKind::kGpu && kind.on != SubjectKind::kNode) continue;
    if (kind.name == "kernel_module_missing") continue;  // every answer is a refusal
    SCOPED_TRACE(std::string(kind.name));
    const LabState state =
        LabWith(kind.name, kind.on == SubjectKind::kGpu ? "node001/gpu3" : "node001");
    ExpectTruth(state, state.cluster.nodes[1]);
    // Its neighbour does not notice.
    EXPECT_EQ(FactsOf(state, state.cluster.nodes[0]), FactsOf(Lab(), Lab().cluster.nodes[0]));
  }
}

TEST(RoundTripTest, FaultIsSeenInTheFactThatItsGateAsks) {
  struct Sign {
    std::string_view kind, on, subject, fact, value;
  };
  const Sign signs[] = {
      {"gpu_missing", "node001/gpu3", "gpu node001/gpu3", "gpu.present", "no"},
      {"gpu_missing", "node001/gpu3", "node node001", "gpu.count", "7"},
      {"gpu_wrong_model", "node001/gpu3", "gpu node001/gpu3", "gpu.model", "NVIDIA A100-SXM4-80GB"},
      {"xid_48", "node001/gpu3", "gpu node001/gpu3", "gpu.last_fatal_xid", "48"},
      {"xid_63", "node001/gpu3", "gpu node001/gpu3", "gpu.remap_pending", "yes"},
      {"xid_63", "node001/gpu3", "gpu node001/gpu3", "gpu.fatal_xids", "0"},
      {"xid_64", "node001/gpu3", "gpu node001/gpu3", "gpu.last_fatal_xid", "64"},
      {"xid_74", "node001/gpu3", "gpu node001/gpu3", "gpu.last_fatal_xid", "74"},
      {"xid_74", "node001/gpu3", "gpu node001/gpu3", "nvlink.active", "17"},
      {"xid_79", "node001/gpu3", "gpu node001/gpu3", "gpu.present", "no"},
      {"xid_79", "node001/gpu3", "gpu node001/gpu3", "gpu.last_fatal_xid", "79"},
      {"xid_79", "node001/gpu3", "gpu node001/gpu3", "dcgm.result", "Fail"},
      {"xid_94", "node001/gpu3", "gpu node001/gpu3", "gpu.ecc_uncorrected", "1"},
      {"xid_94", "node001/gpu3", "gpu node001/gpu3", "gpu.fatal_xids", "0"},
      {"xid_95", "node001/gpu3", "gpu node001/gpu3", "gpu.last_fatal_xid", "95"},
      {"xid_119", "node001/gpu3", "gpu node001/gpu3", "gpu.fatal_xids", "1"},
      {"remap_failed", "node001/gpu3", "gpu node001/gpu3", "gpu.remap_failed", "yes"},
      {"remap_failed", "node001/gpu3", "gpu node001/gpu3", "dcgm.result", "Fail"},
      {"thermal", "node001/gpu3", "gpu node001/gpu3", "gpu.throttle_thermal", "yes"},
      {"power_brake", "node001/gpu3", "gpu node001/gpu3", "gpu.throttle_power_brake", "yes"},
      {"mig_left_on", "node001/gpu3", "gpu node001/gpu3", "gpu.mig_mode", "Enabled"},
      {"mig_left_on", "node001/gpu3", "gpu node001/gpu3", "dcgm.result", "Skip"},
      {"persistence_off", "node001/gpu3", "gpu node001/gpu3", "gpu.persistence", "no"},
      {"pcie_width_degraded", "node001/gpu3", "gpu node001/gpu3", "gpu.pcie_width", "8"},
      {"nvlink_down", "node001/gpu3", "gpu node001/gpu3", "nvlink.active", "16"},
      {"dcgm_fail", "node001/gpu3", "gpu node001/gpu3", "dcgm.result", "Fail"},
      {"dcgm_hidden_error", "node001/gpu3", "gpu node001/gpu3", "dcgm.result", "Pass"},
      {"dcgm_hidden_error", "node001/gpu3", "gpu node001/gpu3", "dcgm.hidden_errors", "1"},
      {"driver_mismatch", "node001", "node node001", "node.driver_version", "570.172.08"},
      {"module_mismatch", "node001", "node node001", "node.driver_loaded_matches", "no"},
      {"fabric_manager_down", "node001", "node node001", "node.fabric_manager", "inactive"},
      {"fabric_manager_mismatch", "node001", "node node001", "node.fabric_manager_matches", "no"},
      {"peermem_missing", "node001", "node node001", "node.peermem", "no"},
  };
  for (const Sign& sign : signs) {
    SCOPED_TRACE(fmt::format("{} {}", sign.kind, sign.fact));
    const LabState state = LabWith(sign.kind, std::string(sign.on));
    const Facts facts = FactsOf(state, state.cluster.nodes[1]);
    const auto found = facts.find({std::string(sign.subject), std::string(sign.fact)});
    ASSERT_NE(found, facts.end());
    EXPECT_EQ(found->second, sign.value);
  }
}

TEST(RoundTripTest, ToolsOfOtherFormsTellTheSameStory) {
  const LabState state = LabWith("gpu_wrong_model", "node001/gpu3");
  const Node& node = state.cluster.nodes[1];
  const TimePoint now = state.created + std::chrono::minutes(5);
  auto run = [&](std::string_view program, std::vector<std::string> args) {
    for (const Tool& tool : NvidiaTools())
      if (tool.program == program) return tool.run({state, &node, args, now});
    return Complained("no such tool");
  };
  for (std::vector<std::string> args : std::vector<std::vector<std::string>>{
           {}, {"-L"}, {"-q"}, {"--query-gpu=index,name", "--format=csv"}}) {
    const auto result = run("nvidia-smi", args);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(Contains(result.out, "NVIDIA A100-SXM4-80GB")) << result.out;
    EXPECT_TRUE(Contains(result.out, "NVIDIA H100 80GB HBM3")) << result.out;
  }
  const auto table = run("nvidia-smi", {});
  for (auto line : Lines(table.out))
    if (StartsWith(line, "|") || StartsWith(line, "+")) {
      EXPECT_EQ(line.size(), 91u) << line;
    }
  EXPECT_EQ(run("nvidia-smi", {"--query-gpu=nonsense", "--format=csv"}).exit_code, 2);
  EXPECT_EQ(run("nvidia-smi", {"--nonsense"}).exit_code, 2);
  EXPECT_TRUE(Contains(run("dcgmi", {"diag", "-r", "1"}).out, "software"));
  EXPECT_TRUE(Contains(run("lsmod", {}).out, "nvidia_peermem"));
  EXPECT_EQ(run("systemctl", {"is-active", "nonsense"}).exit_code, 4);
  EXPECT_EQ(run("modinfo", {"-F", "version", "nonsense"}).exit_code, 1);
  EXPECT_EQ(static_cast<int>(Lines(run("lspci", {}).out).size()), 1 + 8 + 8 + 4);
}

TEST(RoundTripTest, NodeWithoutGpusSaysSo) {
  ClusterSpec spec;
  spec.nodes = 1;
  spec.gpus = 0;
  const LabState state = MakeLab(spec, 7, ParseTime("2026-11-20T03:00:00Z").value());
  const Facts facts = FactsOf(state, state.cluster.nodes[0]);
  EXPECT_EQ(facts.at({"node node000", "gpu.count"}), "0");
  for (const auto& [key, value] : facts)
    if (StartsWith(key.second, "dcgm.") || StartsWith(key.second, "gpu.fatal")) {
      EXPECT_EQ(value, "?") << key.second;
    }
}

// The promise of the house for any text: what is cut off is not known, and no value appears that
// the whole did not hold.
TEST(RoundTripTest, CutOutputTeachesNothingBetter) {
  const LabState state = LabWith("xid_48", "node001/gpu3");
  const Node& node = state.cluster.nodes[1];
  const TimePoint now = state.created + std::chrono::minutes(5);
  struct Case {
    const Probe* probe;
    std::string_view program;
    std::vector<std::string> args;
  };
  const Case cases[] = {{&NvidiaSmiProbes()[0], "nvidia-smi", {"-q", "-x"}},
                        {&NvidiaSmiProbes()[1], "nvidia-smi", {"topo", "-m"}},
                        {&NvidiaSmiProbes()[2], "nvidia-smi", {"nvlink", "-s"}},
                        {&DcgmProbes()[0], "dcgmi", {"diag", "-r", "3", "-j"}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.probe->id));
    Reading reading;
    reading.probe = std::string(c.probe->id);
    reading.host = node.name;
    for (const Tool& tool : NvidiaTools())
      if (tool.program == c.program) reading.text = tool.run({state, &node, c.args, now}).out;
    std::map<std::pair<std::string, std::string>, Value> intact;
    for (const auto& o : c.probe->parse(reading))
      if (o.value() != nullptr) intact.emplace(std::pair(o.subject.ToString(), o.fact), *o.value());
    EXPECT_FALSE(intact.empty());
    const std::string whole = reading.text;
    // Every cut of a short text, some hundred of a long one.
    const size_t step = std::max<size_t>(1, whole.size() / 700);
    for (size_t at = 0; at < whole.size(); at += step) {
      reading.text = whole.substr(0, at);
      for (const auto& o : c.probe->parse(reading)) {
        if (o.value() == nullptr) continue;
        const auto found = intact.find({o.subject.ToString(), o.fact});
        ASSERT_TRUE(found != intact.end()) << at << " " << o.subject.ToString() << " " << o.fact;
        // The list of links has no end mark: cut inside its first GPU it says fewer links, never
        // more.
        if (o.fact == "nvlink.active") {
          ASSERT_LE(*o.value(), found->second) << at;
        } else {
          ASSERT_EQ(*o.value(), found->second)
              << at << " " << o.subject.ToString() << " " << o.fact;
        }
      }
    }
  }
}

}  // namespace
}  // namespace muster::lab
