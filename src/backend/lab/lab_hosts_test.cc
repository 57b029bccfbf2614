#include "backend/lab/lab_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/lab/state/truth.h"
#include "backend/lab/tool_table.h"
#include "base/strings.h"
#include "probes/facility/probes.h"
#include "probes/facility/signoff.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A lab on a machine that has nothing: what a host answers can only come from the lab.
class LabHostsTest : public ::testing::Test {
 protected:
  World base() { return {clock_, files_, processes_, http_, random_}; }
  LabHosts& Open() {
    state_.folder = "/lab";
    hosts_ = std::make_unique<LabHosts>(state_, base(), LabHostsOptions{"", true});
    return *hosts_;
  }
  void Put(std::string_view kind, std::string_view on,
           const std::map<std::string, double>& with = {}) {
    const Status status = Inject(state_, kind, on, clock_.Now(), with);
    ASSERT_TRUE(status.ok()) << status.error().ToString();
  }
  Result<CommandResult> Run(std::string_view host, std::vector<std::string> argv) {
    Command command;
    command.argv = std::move(argv);
    return hosts_->At(host)->world.processes.Run(command);
  }
  std::string Out(std::string_view host, std::vector<std::string> argv) {
    const auto result = Run(host, std::move(argv));
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().ToString());
    return result.ok() ? result->out : "";
  }

  testing::FakeClock clock_;
  testing::MemoryFiles files_;
  testing::ScriptedProcesses processes_;
  testing::ScriptedHttp http_;
  SeededRandom random_{1};
  LabState state_ = MakeLab(ParseClusterSpec("nodes=3").value(), 5, clock_.Now());
  std::unique_ptr<LabHosts> hosts_;
};

TEST_F(LabHostsTest, NodesAreListedAndEveryPlaceAnswers) {
  LabHosts& hosts = Open();
  EXPECT_THAT(hosts.Names(), ElementsAre("node000", "node001", "node002"));
  EXPECT_EQ(hosts.origin(), Origin::kRehearsed);
  for (const char* name : {"node002", "fabric", "facility", "monitor"}) {
    ASSERT_TRUE(hosts.At(name).ok()) << name;
    EXPECT_EQ(hosts.At(name)->origin, Origin::kRehearsed);
    EXPECT_EQ(hosts.At(name)->host, name);
  }
  EXPECT_EQ(hosts.At("node003").error().code, Code::kNotFound);
}

TEST_F(LabHostsTest, EveryFamilyOfToolsIsThere) {
  for (const char* program :
       {"ibstat", "iblinkinfo", "ibnetdiscover", "perfquery", "sminfo", "ibdiagnet", "nvidia-smi",
        "dcgmi", "dmesg", "journalctl", "all_reduce_perf", "true", "/usr/sbin/ibstat"}) {
    EXPECT_NE(FindTool(program), nullptr) << program;
  }
  EXPECT_EQ(FindTool("rm"), nullptr);
  EXPECT_EQ(FindTool("/usr/bin/"), nullptr);
  Open();
  EXPECT_THAT(Out("node001", {"nvidia-smi", "-L"}),
              HasSubstr(state_.cluster.nodes[1].gpus[0].uuid));
  EXPECT_THAT(Out("node001", {"ibstat"}), HasSubstr("Port 1:"));
  EXPECT_THAT(Out("fabric", {"sminfo"}), HasSubstr("SMINFO_MASTER"));
  EXPECT_EQ(Run("node001", {"rm", "-rf", "/"}).error().code, Code::kNotFound);
  EXPECT_EQ(Run("node001", {}).error().code, Code::kInvalid);
  EXPECT_EQ(Run("monitor", {"true"}).error().code, Code::kNotFound);
  EXPECT_TRUE(processes_.asked().empty());
}

TEST_F(LabHostsTest, PlainProgramsAnswerAsTheNode) {
  Put("clock_skew", "node001", {{"seconds", 90.5}});
  Open();
  EXPECT_EQ(Out("node001", {"hostname"}), "node001\n");
  EXPECT_EQ(Out("fabric", {"hostname"}), "node000\n");
  EXPECT_EQ(Run("node001", {"false"})->exit_code, 1);
  EXPECT_EQ(Out("node000", {"date", "+%s.%N"}), "1795132800.000000000\n");
  EXPECT_EQ(Out("node001", {"date", "+%s.%N"}), "1795132890.500000000\n");
  EXPECT_THAT(Out("node000", {"uname", "-r"}), HasSubstr("generic"));
  EXPECT_THAT(Out("node000", {"uptime"}), HasSubstr("load average"));
  EXPECT_EQ(Out("node000", {"sudo", "-n", "hostname"}), "node000\n");
  EXPECT_NE(Run("node000", {"date", "+%Q"})->exit_code, 0);
}

TEST_F(LabHostsTest, FilesOfANodeAreReadListedAndNeverWritten) {
  LabHosts& hosts = Open();
  Files& files = hosts.At("node001")->world.files;
  const std::string boot = files.Read("/proc/sys/kernel/random/boot_id").value();
  EXPECT_EQ(Out("node001", {"cat", "/proc/sys/kernel/random/boot_id"}), boot);
  EXPECT_NE(boot, hosts.At("node002")->world.files.Read("/proc/sys/kernel/random/boot_id").value());
  EXPECT_EQ(files.Read("/sys/class/infiniband/mlx5_3/ports/1/state").value(), "4: ACTIVE\n");
  const auto devices = files.List("/sys/class/infiniband");
  ASSERT_TRUE(devices.ok());
  EXPECT_EQ(devices->size(), 8u);
  EXPECT_TRUE(devices->front().is_directory);
  EXPECT_THAT(Out("node001", {"ls", "/sys/class/infiniband"}), HasSubstr("mlx5_7\n"));
  EXPECT_EQ(files.Read("/etc/shadow").error().code, Code::kNotFound);
  EXPECT_NE(Run("node001", {"cat", "/etc/shadow"})->exit_code, 0);
  EXPECT_EQ(files.WriteAtomic("/tmp/x", "x").error().code, Code::kPermission);
  EXPECT_EQ(files.Remove("/proc").error().code, Code::kPermission);
  EXPECT_TRUE(files_.Paths().empty());
}

TEST_F(LabHostsTest, AnUnreachableHostGivesNoAnswerAtAll) {
  Put("unreachable", "node002");
  LabHosts& hosts = Open();
  const HostPorts ports = hosts.At("node002").value();
  EXPECT_EQ(Run("node002", {"true"}).error().code, Code::kUnavailable);
  EXPECT_EQ(ports.world.files.Read("/proc/modules").error().code, Code::kUnavailable);
  EXPECT_EQ(ports.world.http.Do({"GET", "http://localhost:9400/metrics"}).error().code,
            Code::kUnavailable);
  EXPECT_TRUE(Run("node001", {"true"}).ok());
}

TEST_F(LabHostsTest, AHungDiagnosticTimesOutWithoutAnyWaiting) {
  Put("dcgm_hang", "node001");
  Open();
  const auto hung = Run("node001", {"dcgmi", "diag", "-r", "3", "-j"});
  ASSERT_TRUE(hung.ok());
  EXPECT_TRUE(hung->timed_out);
  EXPECT_EQ(hung->took, std::chrono::seconds(60));
  EXPECT_EQ(clock_.slept(), Duration::zero());
  EXPECT_FALSE(Run("node001", {"dcgmi", "discovery", "-l"})->timed_out);
  EXPECT_FALSE(Run("node000", {"dcgmi", "diag", "-r", "3", "-j"})->timed_out);
}

TEST_F(LabHostsTest, ToolFaultsHitTheToolTheyAreSetToAndNoOther) {
  const std::vector<std::vector<std::string>> tools = {
      {"nvidia-smi", "-q", "-x"},
      {"dcgmi", "diag", "-r", "3", "-j"},
      {"ibstat"},
      {"journalctl", "-k", "-b", "--no-pager", "-o", "short-iso"}};
  for (const char* kind : {"tool_garbage", "tool_truncated", "tool_denied"}) {
    for (size_t hit = 0; hit < tools.size(); ++hit) {
      state_.faults.clear();
      Open();
      std::vector<CommandResult> healthy;
      for (const auto& argv : tools) healthy.push_back(Run("node001", argv).value());
      Put(kind, "node001", {{"tool", static_cast<double>(hit)}});
      Open();
      for (size_t t = 0; t < tools.size(); ++t) {
        const CommandResult result = Run("node001", tools[t]).value();
        EXPECT_EQ(result.out == healthy[t].out && result.exit_code == healthy[t].exit_code,
                  t != hit)
            << kind << " " << tools[t][0];
        EXPECT_EQ(Run("node000", tools[t])->exit_code, healthy[t].exit_code);
      }
      const CommandResult spoiled = Run("node001", tools[hit]).value();
      if (std::string_view(kind) == "tool_truncated") {
        EXPECT_EQ(spoiled.out, healthy[hit].out.substr(0, healthy[hit].out.size() / 2));
      }
      if (std::string_view(kind) == "tool_denied") {
        EXPECT_NE(spoiled.exit_code, 0);
      }
    }
  }
}

TEST_F(LabHostsTest, TooMuchOutputIsCutAndSaidSo) {
  Open();
  Command command;
  command.argv = {"nvidia-smi", "-q", "-x"};
  command.max_output = 100;
  const auto result = hosts_->At("node000")->world.processes.Run(command);
  EXPECT_EQ(result->out.size(), 100u);
  EXPECT_TRUE(result->truncated);
}

TEST_F(LabHostsTest, AStartedCommandHasEnded) {
  Open();
  Command command;
  command.argv = {"hostname"};
  const auto child = hosts_->At("node002")->world.processes.Start(command, "");
  ASSERT_TRUE(child.ok());
  EXPECT_EQ((*child)->Poll(), 0);
  EXPECT_EQ((*child)->Output(), "node002\n");
}

TEST_F(LabHostsTest, ExportersAnswerOnTheirPort) {
  Put("exporter_silent", "node002");
  LabHosts& hosts = Open();
  const auto page = hosts.At("node001")->world.http.Do({"GET", "http://localhost:9400/metrics"});
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(page->body, HasSubstr("DCGM_FI_DEV_GPU_UTIL"));
  EXPECT_FALSE(hosts.At("node002")->world.http.Do({"GET", "http://localhost:9400/metrics"}).ok());
  EXPECT_FALSE(hosts.At("node001")->world.http.Do({"GET", "http://localhost:22/"}).ok());
}

TEST_F(LabHostsTest, TheModelledMonitorKnowsEveryNode) {
  LabHosts& hosts = Open();
  EXPECT_TRUE(hosts.PrepareMonitor().ok());
  const auto targets =
      hosts.At("monitor")->world.http.Do({"GET", "http://prometheus/api/v1/targets"});
  ASSERT_TRUE(targets.ok()) << targets.error().ToString();
  EXPECT_THAT(targets->body, HasSubstr("node002"));
  EXPECT_TRUE(http_.requests().empty());
}

// Gate 1, through the production probes.
class LabFacilityTest : public LabHostsTest {
 protected:
  // "budget power facility.signed" -> text of the value, or "unknown".
  std::map<std::string, std::string> Look() {
    LabHosts& hosts = Open();
    std::map<std::string, std::string> seen;
    for (const Probe& probe : FacilityProbes()) {
      for (const Observation& o :
           ParseReading(probe, probe.collect(hosts.At("facility").value()))) {
        const std::string key = o.subject.ToString() + " " + o.fact;
        // Of two sources the worse one is kept.
        const std::string text =
            o.value() == nullptr ? "unknown" : FormatValue(*o.value(), Unit::kNone);
        if (!seen.contains(key) || text != FormatValue(Value(true), Unit::kNone)) seen[key] = text;
      }
    }
    return seen;
  }
  const std::string yes_ = FormatValue(Value(true), Unit::kNone),
                    no_ = FormatValue(Value(false), Unit::kNone);
};

TEST_F(LabFacilityTest, AHealthyLabIsSignedAsARehearsal) {
  auto seen = Look();
  for (const std::string budget : {"power", "cooling", "weight"}) {
    EXPECT_EQ(seen["budget " + budget + " facility.signed"], yes_);
    EXPECT_THAT(seen["budget " + budget + " facility.signer"], HasSubstr("rehearsal"));
    EXPECT_LT(ParseDouble(seen["budget " + budget + " facility.used_ratio"]).value_or(9), 1);
    EXPECT_GT(ParseDouble(seen["budget " + budget + " facility.expires_in"]).value_or(-1), 0);
  }
  EXPECT_EQ(seen["pdu pdu00 pdu.energised"], yes_);
}

TEST_F(LabFacilityTest, EveryFacilityFaultIsSeen) {
  Put("pdu_off", "pdu00");
  EXPECT_EQ(Look()["pdu pdu00 pdu.energised"], no_);
  state_.faults.clear();
  Put("budget_exceeded", "cooling");
  auto seen = Look();
  EXPECT_GT(ParseDouble(seen["budget cooling facility.used_ratio"]).value_or(0), 1);
  EXPECT_LT(ParseDouble(seen["budget power facility.used_ratio"]).value_or(9), 1);
  state_.faults.clear();
  Put("signoff_expired", "");
  EXPECT_LT(ParseDouble(Look()["budget power facility.expires_in"]).value_or(0), 0);
  state_.faults.clear();
  Put("signoff_missing", "");
  EXPECT_EQ(Look()["node facility facility.signed"], "unknown");
}

TEST_F(LabFacilityTest, TheLabsKeyIsKeptAndAPersonsSignOffGoesFirst) {
  Look();
  const std::string key = files_.Read("/lab/facility/signoff.key").value();
  Look();
  EXPECT_EQ(files_.Read("/lab/facility/signoff.key").value(), key);

  facility::Signoff own;
  own.budgets = {{"power", {45000, Unit::kWatt}, {9000, Unit::kWatt}}};
  own.signed_by = "A. Person";
  own.signed_at = clock_.Now();
  own.expires = clock_.Now() + std::chrono::hours(24);
  const std::string text = facility::WriteSignoff(own, NewSigningKey().value()).value();
  ASSERT_TRUE(hosts_->At("facility")->world.files.WriteAtomic("/facility/signoff.json", text).ok());
  EXPECT_EQ(Look()["budget power facility.signer"], "A. Person");
  // A fault of the building is not hidden by an older paper.
  Put("pdu_off", "pdu00");
  EXPECT_EQ(Look()["pdu pdu00 pdu.energised"], no_);
  Files& files = hosts_->At("facility")->world.files;
  EXPECT_FALSE(files.WriteAtomic("/facility/../lab.json", "x").ok());
  EXPECT_FALSE(files.WriteAtomic("/etc/x", "x").ok());
}

TEST_F(LabFacilityTest, ADamagedKeyIsSaidAndNotReplaced) {
  files_.Put("/lab/facility/signoff.key", "{");
  Open();
  const auto read = hosts_->At("facility")->world.files.Read("/facility/signoff.json");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::kCorrupt);
  EXPECT_EQ(files_.Read("/lab/facility/signoff.key").value(), "{");
}

}  // namespace
}  // namespace muster::lab
