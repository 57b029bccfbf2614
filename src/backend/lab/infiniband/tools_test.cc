// The lab's tools against the production parsers and against what the real programs printed.
#include "backend/lab/infiniband/tools.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/lab/infiniband/fabric.h"
#include "base/strings.h"
#include "probes/infiniband/collect.h"
#include "probes/infiniband/probes.h"
#include "probes/rdma/ib_write_bw.h"
#include "world/testing/captures.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::lab {
namespace {

using ::muster::testing::Capture;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

const TimePoint kNow = ParseTime("2026-11-20T03:12:00Z").value();

CommandResult RunTool(const LabState& state, std::string_view host,
                      const std::vector<std::string>& argv, TimePoint now = kNow) {
  for (const Tool& tool : InfinibandTools()) {
    if (tool.program != argv[0]) continue;
    const std::vector<std::string> args(argv.begin() + 1, argv.end());
    return tool.run({state, state.cluster.FindNode(host), args, now});
  }
  return Complained("no such tool", 127);
}

// A host of the lab: its tools and its files behind the ports that a probe reads.
class LabHost {
 public:
  LabHost(const LabState& state, std::string host, TimePoint now = kNow)
      : state_(state), host_(std::move(host)) {
    processes_.Otherwise([this, now](const Command& command) -> Result<CommandResult> {
      return RunTool(state_, host_, command.argv, now);
    });
  }
  HostPorts Ports() {
    return {host_, {clock_, files_, processes_, http_, random_}, Origin::kRehearsed};
  }
  muster::testing::MemoryFiles& files() { return files_; }

 private:
  const LabState& state_;
  std::string host_;
  muster::testing::FakeClock clock_;
  muster::testing::MemoryFiles files_;
  muster::testing::ScriptedProcesses processes_;
  muster::testing::ScriptedHttp http_;
  SeededRandom random_{1};
};

std::vector<std::string> Dump(const Observations& observations) {
  std::vector<std::string> lines;
  for (const Observation& o : observations) {
    lines.push_back(fmt::format(
        "{} | {} | {}", o.subject.ToString(), o.fact,
        o.value() != nullptr ? FormatValue(*o.value(), o.unit) : "? " + o.unobserved()->detail));
  }
  return lines;
}

std::vector<std::string> Observe(const LabState& state, std::string_view probe_id,
                                 std::string host = "node000", TimePoint now = kNow) {
  LabHost lab_host(state, std::move(host), now);
  for (const Probe& probe : InfinibandProbes()) {
    if (probe.id == probe_id) return Dump(ParseReading(probe, probe.collect(lab_host.Ports())));
  }
  ADD_FAILURE() << probe_id;
  return {};
}

LabState Small(std::string_view spec = "nodes=4,gpus=8,rails=2,leaves=2,spines=2,rate=400") {
  return MakeLab(ParseClusterSpec(spec).value(), 7, kNow - std::chrono::hours(1));
}

LabState With(LabState state, std::string_view kind, const std::string& subject) {
  const Status status = Inject(state, kind, subject, kNow - std::chrono::seconds(10));
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().ToString());
  return state;
}

size_t CountOf(const std::vector<std::string>& lines, std::string_view part) {
  return static_cast<size_t>(
      std::count_if(lines.begin(), lines.end(),
                    [&](const std::string& line) { return muster::Contains(line, part); }));
}

// The fabric of the captures, as a lab.
LabState LikeCaptures() { return Small("nodes=16,gpus=1,rails=1,leaves=4,spines=2,rate=100"); }

// LIDs are the subnet manager's choice and the advice is the simulator's: both are taken off before
// lines are compared.
std::set<std::string> Shape(const std::string& text) {
  static const std::regex kLid(R"(( +\d+)( +\d+\[))"), kAdvice(R"(\(Could be.*\)| \( \)$)"),
      kNetLid(R"(lid \d+)");
  std::set<std::string> lines;
  for (const std::string_view line : Lines(text)) {
    std::string out = std::regex_replace(std::string(line), kAdvice, "");
    std::smatch match;
    // The width of the LID's column stays.
    std::string masked;
    while (std::regex_search(out, match, kLid)) {
      masked += match.prefix().str() + std::string(match[1].length(), 'L') + match[2].str();
      out = match.suffix().str();
    }
    masked += out;
    lines.insert(std::string(Trim(std::regex_replace(masked, kNetLid, "lid L"))));
  }
  return lines;
}

TEST(LabIblinkinfo, PrintsTheLinesOfTheRealProgram) {
  const auto ours = Shape(RunTool(LikeCaptures(), "node000", {"iblinkinfo"}).out);
  int compared = 0;
  std::string capture = Capture(MUSTER_SOURCE_DIR, "rehearsed/ib/iblinkinfo-64port-16hca.txt");
  capture.resize(capture.rfind('\n') + 1);  // the file was cut within its last line
  for (const std::string& line : Shape(capture)) {
    if (line.empty() || line[0] == '#') continue;
    ++compared;
    EXPECT_TRUE(ours.contains(line)) << line;
  }
  EXPECT_GT(compared, 60);
}

TEST(LabIbnetdiscover, PrintsTheLinesOfTheRealProgram) {
  const auto ours = Shape(RunTool(LikeCaptures(), "node000", {"ibnetdiscover"}).out);
  int compared = 0;
  for (const std::string& line :
       Shape(Capture(MUSTER_SOURCE_DIR, "rehearsed/ib/ibnetdiscover-64port.txt"))) {
    // Vendor and device numbers are the adapters' own; the date is the moment's.
    if (line.empty() || line[0] == '$' || StartsWith(line, "# Topology") ||
        StartsWith(line, "vendid") || StartsWith(line, "devid") || StartsWith(line, "# same")) {
      continue;
    }
    ++compared;
    EXPECT_TRUE(ours.contains(line)) << line;
  }
  EXPECT_GT(compared, 90);
}

// A text with every number replaced: its words, their order and the blanks between.
std::string WithoutNumbers(std::string_view text) {
  static const std::regex kNumber("(0x)?[0-9a-f]*[0-9][0-9a-f]*");
  return std::regex_replace(std::string(text), kNumber, "N");
}

std::string Part(const std::string& text, std::string_view from, std::string_view to) {
  const size_t begin = text.find(from);
  const size_t end = text.find(to, begin + from.size());
  return text.substr(begin, end == std::string::npos ? end : end - begin);
}

TEST(LabPerfquery, PrintsTheTextOfTheRealProgram) {
  const std::string capture =
      Capture(MUSTER_SOURCE_DIR, "rehearsed/02-healthy-iblinkinfo-ibqueryerrors-perfquery.txt");
  const std::string real = Part(capture, "# Port counters", "$ smpquery");
  const std::string ours = RunTool(LikeCaptures(), "node000", {"perfquery", "2", "1"}).out;
  EXPECT_EQ(WithoutNumbers(ours), WithoutNumbers(real));
  // Dots and values stand in the same columns.
  const auto a = Lines(ours), b = Lines(real);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 1; i < a.size(); ++i)
    EXPECT_EQ(a[i].find_last_of('.'), b[i].find_last_of('.')) << a[i];
  const std::string errors =
      Capture(MUSTER_SOURCE_DIR, "rehearsed/05-errors-ibqueryerrors-perfquery-ibdiagnet.txt");
  EXPECT_EQ(WithoutNumbers(RunTool(LikeCaptures(), "node000", {"perfquery", "-x", "2", "5"}).out),
            WithoutNumbers(Part(errors, "# Port extended counters", "$ ibdiagnet")));
}

TEST(LabSminfo, PrintsTheTextOfTheRealProgram) {
  const std::string capture = Capture(MUSTER_SOURCE_DIR, "rehearsed/01-healthy-sminfo-ibstat.txt");
  EXPECT_EQ(WithoutNumbers(RunTool(LikeCaptures(), "node000", {"sminfo"}).out),
            WithoutNumbers(Part(capture, "sminfo: ", "$ ibstat")));
  const CommandResult none =
      RunTool(With(LikeCaptures(), "no_master", "fabric"), "node000", {"sminfo"});
  EXPECT_EQ(none.exit_code, 255);
  EXPECT_EQ(none.out, "sminfo: iberror: failed: query\n");
}

TEST(LabIbstat, HasTheKeysOfTheRealProgram) {
  const auto keys = [](const std::string& text) {
    std::vector<std::string> found;
    for (const std::string_view line : Lines(text)) {
      const size_t colon = line.find(':');
      if (colon != std::string_view::npos) found.emplace_back(line.substr(0, colon));
    }
    return found;
  };
  const std::string capture = Capture(MUSTER_SOURCE_DIR, "rehearsed/01-healthy-sminfo-ibstat.txt");
  EXPECT_EQ(keys(RunTool(LikeCaptures(), "node000", {"ibstat"}).out),
            keys(capture.substr(capture.find("CA '"))));
}

TEST(LabIbqueryerrors, PrintsTheTextOfTheRealProgram) {
  const std::string capture =
      Capture(MUSTER_SOURCE_DIR, "rehearsed/02-healthy-iblinkinfo-ibqueryerrors-perfquery.txt");
  EXPECT_EQ(WithoutNumbers(RunTool(LikeCaptures(), "node000", {"ibqueryerrors"}).out),
            WithoutNumbers(Part(capture, "\n## Summary", "$ perfquery")));
}

TEST(LabIbdiagnet, PrintsTheTextOfTheRealProgram) {
  const std::string capture = Capture(MUSTER_SOURCE_DIR, "rehearsed/04-healthy-ibdiagnet.txt");
  std::string real = Part(capture, "Loading", "rc=0");
  real.replace(real.find("gd/ibdiagnet.log"), 16, "/tmp/ibdiagnet.log");
  EXPECT_EQ(RunTool(LikeCaptures(), "node000", {"ibdiagnet"}).out, real);
}

TEST(LabFabric, HealthyReadsAsTheTruth) {
  const LabState state = Small();
  const size_t links = state.cluster.links.size();
  const auto info = Observe(state, "infiniband.iblinkinfo");
  EXPECT_EQ(CountOf(info, "link.state | Active"), links);
  EXPECT_EQ(CountOf(info, "link.physical_state | LinkUp"), links);
  EXPECT_EQ(CountOf(info, "link.width | 4"), links);
  EXPECT_EQ(CountOf(info, "link.rate | 400 Gb/s"), links);
  const auto found = Observe(state, "infiniband.ibnetdiscover");
  EXPECT_EQ(found.size(), links);
  for (const Link& link : state.cluster.links) {
    EXPECT_THAT(found, Contains(link.Id().ToString() + " | link.present | yes"));
  }
  const auto counters = Observe(state, "infiniband.perfquery");
  EXPECT_EQ(counters.size(), links * 2 * 7);
  EXPECT_EQ(CountOf(counters, " | 0"), counters.size());
  EXPECT_EQ(Observe(state, "infiniband.sminfo"),
            (std::vector<std::string>{"fabric fabric | sm.state | MASTER",
                                      "fabric fabric | sm.masters | 1"}));
  EXPECT_EQ(Observe(state, "infiniband.ibdiagnet"),
            (std::vector<std::string>{"fabric fabric | ibdiagnet.errors | 0"}));
  for (const char* probe : {"infiniband.ibstat", "infiniband.ibstatus"}) {
    EXPECT_THAT(Observe(state, probe, "node002"),
                IsSupersetOf({"hca node002/mlx5_1 | hca.state | Active",
                              "hca node002/mlx5_1 | hca.physical_state | LinkUp",
                              "hca node002/mlx5_1 | hca.rate | 400 Gb/s"}));
  }
}

TEST(LabFabric, HasRoomForEveryWiredPort) {
  // A spine under so many leaves has more ports than one switch chip.
  const LabState state = Small("nodes=1024,gpus=8,rails=8,rate=400");
  EXPECT_EQ(CountOf(Observe(state, "infiniband.ibnetdiscover"), "link.present | yes"),
            state.cluster.links.size());
}

TEST(LabFabric, EveryFaultShowsInItsTool) {
  const LabState healthy = Small();
  const Link& link = healthy.cluster.links[0];
  const std::string id = link.Id().id, subject = link.Id().ToString();
  const std::string hca = link.b.device;  // "node000/mlx5_0"
  const auto down = Observe(With(healthy, "link_down", id), "infiniband.iblinkinfo");
  EXPECT_THAT(down, Contains("port " + link.a.ToString() + " | port.state | Down"));
  EXPECT_THAT(down, Not(Contains(HasSubstr(subject))));
  EXPECT_THAT(Observe(With(healthy, "link_down", id), "infiniband.ibnetdiscover"),
              Not(Contains(HasSubstr(subject))));
  EXPECT_THAT(Observe(With(healthy, "link_lane_degraded", id), "infiniband.iblinkinfo"),
              IsSupersetOf({subject + " | link.width | 2", subject + " | link.rate | 200 Gb/s"}));
  EXPECT_THAT(Observe(With(healthy, "link_wrong_rate", id), "infiniband.iblinkinfo"),
              IsSupersetOf({subject + " | link.width | 4", subject + " | link.rate | 200 Gb/s"}));
  const LabState errors = With(healthy, "symbol_errors", id);
  EXPECT_THAT(Observe(errors, "infiniband.perfquery"),
              Contains("port " + link.a.ToString() + " | port.symbol_errors | 240"));
  EXPECT_THAT(Observe(errors, "infiniband.ibqueryerrors"),
              Contains("port " + link.a.ToString() + " | port.symbol_errors | 240"));
  EXPECT_THAT(Observe(With(healthy, "link_flapping", id), "infiniband.perfquery"),
              IsSupersetOf({"port " + link.a.ToString() + " | port.link_downed | 18",
                            "port " + link.b.ToString() + " | port.link_downed | 18"}));
  EXPECT_THAT(Observe(With(healthy, "two_masters", "fabric"), "infiniband.sminfo"),
              Contains("fabric fabric | sm.masters | 2"));
  EXPECT_THAT(Observe(With(healthy, "no_master", "fabric"), "infiniband.sminfo"),
              Contains("fabric fabric | sm.masters | 0"));
  EXPECT_THAT(Observe(With(healthy, "no_master", "fabric"), "infiniband.ibdiagnet"),
              Contains("fabric fabric | ibdiagnet.errors | 1"));
  EXPECT_THAT(Observe(With(healthy, "port_stuck_init", hca), "infiniband.iblinkinfo"),
              IsSupersetOf({subject + " | link.state | Initialize",
                            subject + " | link.physical_state | LinkUp"}));
  EXPECT_THAT(Observe(With(healthy, "port_stuck_init", hca), "infiniband.ibstat"),
              Contains("hca " + hca + " | hca.state | Initializing"));
  const LabState missing = With(healthy, "hca_missing", hca);
  EXPECT_THAT(Observe(missing, "infiniband.ibstat"), Not(Contains(HasSubstr("hca " + hca + " |"))));
  EXPECT_THAT(Observe(missing, "infiniband.iblinkinfo"),
              Contains("port " + link.a.ToString() + " | port.physical_state | Polling"));
}

TEST(LabFabric, WritesTheSysfsThatTheProbeReads) {
  const LabState state = Small();
  const Node& node = state.cluster.nodes[1];
  LabHost host(state, "node001");
  ASSERT_TRUE(WriteInfinibandSysfs(state, node, host.files(), "/sys", kNow).ok());
  for (const Probe& probe : InfinibandProbes()) {
    if (probe.id != "infiniband.sysfs") continue;
    const auto lines = Dump(ParseReading(probe, probe.collect(host.Ports())));
    EXPECT_THAT(lines, IsSupersetOf({"hca node001/mlx5_0 | hca.state | Active",
                                     "hca node001/mlx5_0 | hca.rate | 400 Gb/s",
                                     "port node001/mlx5_1/1 | port.symbol_errors | 0"}));
    EXPECT_EQ(CountOf(lines, "?"), 0u);
  }
  // A device that went away leaves the folder.
  const LabState gone = With(state, "hca_missing", "node001/mlx5_0");
  ASSERT_TRUE(WriteInfinibandSysfs(gone, node, host.files(), "/sys", kNow).ok());
  EXPECT_FALSE(host.files().Stat("/sys/class/infiniband/mlx5_0/fw_ver").ok());
  EXPECT_TRUE(host.files().Stat("/sys/class/infiniband/mlx5_1/fw_ver").ok());
}

TEST(LabFabric, AnswersSysfsPathByPath) {
  const LabState state = Small();
  const LabFile& file = InfinibandFiles().front();
  const Node& node = state.cluster.nodes[0];
  EXPECT_EQ(file.read(state, node, "/sys/class/infiniband/mlx5_0/ports/1/rate", kNow).value(),
            "400 Gb/sec (4X NDR)\n");
  EXPECT_EQ(file.list(state, node, "/sys/class/infiniband", kNow).value(),
            (std::vector<std::string>{"mlx5_0", "mlx5_1"}));
  EXPECT_EQ(file.read(state, node, "/sys/class/infiniband/mlx5_9/ports/1/rate", kNow).error().code,
            Code::kNotFound);
}

TEST(LabIbWriteBw, GivesThePairsModelledBandwidth) {
  const LabState state = Small();
  LabHost server(state, "node000"), client(state, "node001");
  const std::vector<rdma::PairRail> rails = {{"mlx5_0", "mlx5_0"}, {"mlx5_1", "mlx5_1"}};
  const auto rate = [&](const LabState& lab) {
    LabHost a(lab, "node000"), b(lab, "node001");
    const Observations seen =
        rdma::ParsePairReading(rdma::CollectPair(a.Ports(), b.Ports(), rails, {}));
    return seen.size() == 1 && seen[0].value() != nullptr ? std::get<double>(*seen[0].value())
                                                          : -1.0;
  };
  const double expected = std::min(PairBandwidth(state, "node000", "node001", 0, kNow),
                                   PairBandwidth(state, "node000", "node001", 1, kNow));
  EXPECT_NEAR(rate(state), expected, 0.01);
  const LabState slow = With(state, "rdma_pair_slow", "node000--node001");
  EXPECT_LT(rate(slow), expected * 0.8);
  EXPECT_EQ(rate(With(state, "link_down", state.cluster.links[0].Id().id)), -1.0);
}

}  // namespace
}  // namespace muster::lab
