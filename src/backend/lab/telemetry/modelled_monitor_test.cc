#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/lab/telemetry/monitor.h"
#include "base/strings.h"
#include "probes/prometheus/alert_proof.h"
#include "probes/prometheus/probes.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_processes.h"

namespace muster::lab {
namespace {

class ModelledMonitor : public ::testing::Test {
 protected:
  ModelledMonitor()
      : state_(MakeLab(Spec(4), 3, clock_.Now())), monitor_(MakeModelledMonitor(state_, clock_)) {}

  static ClusterSpec Spec(int nodes) {
    ClusterSpec spec;
    spec.nodes = nodes;
    return spec;
  }
  HostPorts Ports() {
    return {"monitor", {clock_, files_, processes_, *monitor_, random_}, Origin::kRehearsed};
  }

  using Seen = std::map<std::pair<std::string, std::string>, Value>;
  Seen Look() {
    Seen seen;
    for (const Probe& probe : PrometheusProbes().first(2)) {
      for (const Observation& o : ParseReading(probe, probe.collect(Ports()))) {
        if (o.value() != nullptr) seen[{o.subject.id, o.fact}] = *o.value();
      }
    }
    return seen;
  }
  Seen Prove() {
    Seen seen;
    const auto observations = prometheus::ProveAlert(Ports());
    for (const Observation& o : observations.value_or(Observations())) {
      if (o.value() != nullptr) seen[{o.subject.id, o.fact}] = *o.value();
    }
    return seen;
  }
  void Break(const char* fault, const char* on) {
    ASSERT_TRUE(Inject(state_, fault, on, clock_.Now()).ok());
  }

  muster::testing::FakeClock clock_;
  muster::testing::MemoryFiles files_;
  muster::testing::ScriptedProcesses processes_;
  SeededRandom random_{1};
  LabState state_;
  std::unique_ptr<MonitorPort> monitor_;
};

TEST_F(ModelledMonitor, HealthyLabHasEverySeriesFresh) {
  const Seen seen = Look();
  EXPECT_EQ(seen.size(), 4u * 8 * 2 + 4 * 2);
  for (const Node& node : state_.cluster.nodes) {
    EXPECT_EQ(seen.at({node.name, "telemetry.target_up"}), Value(true));
    EXPECT_EQ(seen.at({node.name, "telemetry.scrape_interval"}), Value(15.0));
    for (int gpu = 0; gpu < 8; ++gpu) {
      const std::string id = fmt::format("{}/gpu{}", node.name, gpu);
      EXPECT_EQ(seen.at({id, "telemetry.series"}), Value(int64_t{1}));
      EXPECT_LE(std::get<double>(seen.at({id, "telemetry.sample_age"})), 15);
    }
  }
}

TEST_F(ModelledMonitor, SilentExporterIsDownAndHasNoSeries) {
  Break("exporter_silent", "node002");
  const Seen seen = Look();
  EXPECT_EQ(seen.at({"node002", "telemetry.target_up"}), Value(false));
  EXPECT_EQ(seen.count({"node002/gpu0", "telemetry.series"}), 0u);
  EXPECT_EQ(seen.at({"node001/gpu0", "telemetry.series"}), Value(int64_t{1}));
}

TEST_F(ModelledMonitor, SlowScrapeShowsInTheInterval) {
  Break("scrape_too_slow", "node001");
  EXPECT_EQ(Look().at({"node001", "telemetry.scrape_interval"}), Value(60.0));
}

TEST_F(ModelledMonitor, AlertArrivesAndResolvesWithoutWaiting) {
  const Seen seen = Prove();
  for (const char* fact : {"alert.fired", "alert.delivered", "alert.resolved"}) {
    EXPECT_EQ(seen.at({"site", fact}), Value(true)) << fact;
  }
  EXPECT_EQ(clock_.slept(), Duration::zero());
}

TEST_F(ModelledMonitor, BrokenRouteFiresAndDoesNotDeliver) {
  Break("alert_route_broken", "");
  const Seen seen = Prove();
  EXPECT_EQ(seen.at({"site", "alert.fired"}), Value(true));
  EXPECT_EQ(seen.at({"site", "alert.delivered"}), Value(false));
  EXPECT_EQ(seen.count({"site", "alert.latency"}), 0u);
}

TEST_F(ModelledMonitor, UnknownQueryIsAnApiError) {
  const auto answer = monitor_->Do({.url = "http://prometheus/api/v1/query?query=vector(1)"});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->status, 422);
  EXPECT_TRUE(Contains(answer->body, "\"status\":\"error\""));
  EXPECT_EQ(monitor_->Do({.url = "http://elsewhere/"}).error().code, Code::kNotFound);
}

TEST_F(ModelledMonitor, BadPostsAreRefusedWhole) {
  for (const char* body : {"", "{}", "[1]", "[{}]", "[{\"labels\":{\"alertname\":1}}]",
                           "[{\"labels\":{\"a\":\"b\"}},{}]",
                           "[{\"labels\":{\"a\":\"b\"}},{\"labels\":{},\"endsAt\":\"soon\"}]"}) {
    const auto answer =
        monitor_->Do({.method = "POST", .url = "http://alertmanager/api/v2/alerts", .body = body});
    EXPECT_EQ(answer->status, 400) << body;
  }
  EXPECT_EQ(monitor_->Do({.url = "http://alertmanager/api/v2/alerts"})->body, "[]");
}

TEST_F(ModelledMonitor, AnswersForTheLargestLab) {
  const LabState large = MakeLab(Spec(1024), 3, clock_.Now());
  monitor_ = MakeModelledMonitor(large, clock_);
  EXPECT_EQ(Look().size(), 1024u * 8 * 2 + 1024 * 2);
}

}  // namespace
}  // namespace muster::lab
