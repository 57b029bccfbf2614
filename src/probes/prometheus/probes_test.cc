#include "probes/prometheus/probes.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "world/testing/captures.h"

namespace muster::prometheus {
namespace {

using Json = nlohmann::json;

std::string Captured(const std::string& name) {
  return testing::Capture(MUSTER_SOURCE_DIR, "rehearsed/prometheus/" + name);
}

Reading Of(std::string_view probe, std::string text) {
  Reading reading;
  reading.probe = std::string(probe);
  reading.host = "monitor";
  reading.command = "GET http://prometheus/...";
  reading.text = std::move(text);
  return reading;
}

// (subject, fact) -> value, of what was seen.
using Seen = std::map<std::pair<std::string, std::string>, Value>;
Seen SeenIn(const Observations& observations) {
  Seen seen;
  for (const Observation& o : observations) {
    if (o.value() != nullptr) seen[{o.subject.id, o.fact}] = *o.value();
  }
  return seen;
}
Seen SeriesSeen(const std::string& text) {
  return SeenIn(ParseSeriesReading(Of("prometheus.series", text)));
}
Seen TargetsSeen(const std::string& text) {
  return SeenIn(ParseTargetsReading(Of("prometheus.targets", text)));
}

const Unobserved* WhyNot(const Observations& observations, std::string_view subject,
                         std::string_view fact) {
  for (const Observation& o : observations) {
    if (o.subject.id == subject && o.fact == fact && o.unobserved() != nullptr)
      return o.unobserved();
  }
  return nullptr;
}

std::string Vector(const std::vector<Json>& metrics, const std::string& value = "0.4") {
  Json result = Json::array();
  for (const Json& metric : metrics)
    result.push_back({{"metric", metric}, {"value", {1.0, value}}});
  return Json{{"status", "success"}, {"data", {{"resultType", "vector"}, {"result", result}}}}
      .dump();
}

TEST(SeriesProbe, SeesOneSeriesForEachGpuOfTheCapture) {
  const Seen seen = SeriesSeen(Captured("query-series.json"));
  for (int gpu = 0; gpu < 4; ++gpu) {
    const std::string id = fmt::format("node000/gpu{}", gpu);
    EXPECT_EQ(seen.at({id, "telemetry.series"}), Value(int64_t{1})) << id;
    EXPECT_LT(std::get<double>(seen.at({id, "telemetry.sample_age"})), 1.1) << id;
  }
  // node001's exporter was silent.
  EXPECT_EQ(seen.count({"node001/gpu0", "telemetry.series"}), 0u);
}

TEST(SeriesProbe, TheSameGpuScrapedTwiceCountsTwice) {
  const Json one = {{"gpu", "0"}, {"hostname", "n"}, {"instance", "n:9400"}, {"job", "a"}};
  Json two = one;
  two["job"] = "b";
  EXPECT_EQ(SeriesSeen(Vector({one, two})).at({"n/gpu0", "telemetry.series"}), Value(int64_t{2}));
}

TEST(SeriesProbe, WorkloadsAndMigInstancesOfOneGpuAreOneSeries) {
  const Json base = {{"gpu", "0"}, {"Hostname", "n"}, {"instance", "n:9400"}};
  Json first = base, second = base;
  first.update({{"exported_pod", "train-0"}, {"GPU_I_ID", "7"}});
  second.update({{"exported_pod", "train-1"}, {"GPU_I_ID", "8"}});
  EXPECT_EQ(SeriesSeen(Vector({first, second})).at({"n/gpu0", "telemetry.series"}),
            Value(int64_t{1}));
}

// Counting by `Hostname` alone collapses to one series on new exporters and passes as "not empty".
TEST(SeriesProbe, BothSpellingsOfTheHostAreTheSameNode) {
  const Seen seen =
      SeriesSeen(Vector({{{"gpu", "0"}, {"Hostname", "a"}}, {{"gpu", "1"}, {"hostname", "a"}}}));
  EXPECT_EQ(seen.count({"a/gpu0", "telemetry.series"}), 1u);
  EXPECT_EQ(seen.count({"a/gpu1", "telemetry.series"}), 1u);
}

TEST(SeriesProbe, EmptyVectorIsNotObserved) {
  const Observations all =
      ParseSeriesReading(Of("prometheus.series", Captured("query-empty.json")));
  EXPECT_TRUE(SeenIn(all).empty());
  ASSERT_NE(WhyNot(all, "monitor", "telemetry.series"), nullptr);
  EXPECT_EQ(WhyNot(all, "monitor", "telemetry.series")->reason, UnknownReason::kNotObserved);
}

TEST(SeriesProbe, SeriesThatNameNobodyAreSaid) {
  const Observations all = ParseSeriesReading(
      Of("prometheus.series", Vector({{{"gpu", "0"}, {"instance", "127.0.0.1:9400"}}})));
  EXPECT_TRUE(SeenIn(all).empty());
  ASSERT_NE(WhyNot(all, "monitor", "telemetry.series"), nullptr);
  EXPECT_TRUE(Contains(WhyNot(all, "monitor", "telemetry.series")->detail, "name no node"));
}

TEST(SeriesProbe, WarningsReachTheEvidence) {
  Json answer = Json::parse(Vector({{{"gpu", "0"}, {"hostname", "n"}}}));
  answer["warnings"] = {"store gateway 3 is away"};
  const Observations all = ParseSeriesReading(Of("prometheus.series", answer.dump()));
  EXPECT_EQ(SeenIn(all).at({"n/gpu0", "telemetry.series"}), Value(int64_t{1}));
  ASSERT_NE(WhyNot(all, "monitor", "telemetry.series"), nullptr);
  EXPECT_TRUE(
      Contains(WhyNot(all, "monitor", "telemetry.series")->detail, "store gateway 3 is away"));
}

TEST(SeriesProbe, AgeThatIsNoNumberIsUnknown) {
  for (const char* age : {"NaN", "+Inf", "-5"}) {
    const Observations all = ParseSeriesReading(
        Of("prometheus.series", Vector({{{"gpu", "0"}, {"hostname", "n"}}}, age)));
    EXPECT_EQ(SeenIn(all).count({"n/gpu0", "telemetry.sample_age"}), 0u) << age;
    EXPECT_NE(WhyNot(all, "n/gpu0", "telemetry.sample_age"), nullptr) << age;
  }
}

TEST(SeriesProbe, ErrorAnswerIsUnknownForTheWholeMonitor) {
  const Observations all = ParseSeriesReading(Of("prometheus.series", Captured("query-bad.json")));
  EXPECT_TRUE(SeenIn(all).empty());
  EXPECT_EQ(WhyNot(all, "monitor", "telemetry.series")->reason, UnknownReason::kToolFault);
}

TEST(TargetsProbe, NamesTheSilentExporter) {
  const Seen seen = TargetsSeen(Captured("targets.json"));
  EXPECT_EQ(seen.at({"node000", "telemetry.target_up"}), Value(true));
  EXPECT_EQ(seen.at({"node001", "telemetry.target_up"}), Value(false));
  EXPECT_EQ(seen.at({"node001", "telemetry.scrape_interval"}), Value(1.0));
  EXPECT_EQ(seen.size(), 4u);  // the monitor's own target is no exporter of GPU metrics
}

std::string WithTarget(const std::function<void(Json&)>& change) {
  Json answer = Json::parse(Captured("targets.json"));
  for (Json& target : answer["data"]["activeTargets"]) {
    if (target["labels"]["instance"] == "node000:9400") change(target);
  }
  return answer.dump();
}

TEST(TargetsProbe, TargetNeverScrapedIsNeitherUpNorDown) {
  const Observations all = ParseTargetsReading(
      Of("prometheus.targets", WithTarget([](Json& t) { t["health"] = "unknown"; })));
  EXPECT_EQ(SeenIn(all).count({"node000", "telemetry.target_up"}), 0u);
  EXPECT_NE(WhyNot(all, "node000", "telemetry.target_up"), nullptr);
}

TEST(TargetsProbe, UnsaidIntervalIsUnknown) {
  const Observations all = ParseTargetsReading(
      Of("prometheus.targets", WithTarget([](Json& t) { t.erase("scrapeInterval"); })));
  EXPECT_NE(WhyNot(all, "node000", "telemetry.scrape_interval"), nullptr);
  EXPECT_EQ(SeenIn(all).at({"node000", "telemetry.target_up"}), Value(true));
}

TEST(TargetsProbe, OfTwoTargetsTheWorstCounts) {
  Json answer = Json::parse(Captured("targets.json"));
  Json& targets = answer["data"]["activeTargets"];
  for (const Json& target : Json(targets)) {
    if (target["labels"]["instance"] != "node000:9400") continue;
    targets.push_back(target);
    targets.back()["health"] = "down";
    targets.back()["scrapeInterval"] = "1m";
  }
  const Seen seen = TargetsSeen(answer.dump());
  EXPECT_EQ(seen.at({"node000", "telemetry.target_up"}), Value(false));
  EXPECT_EQ(seen.at({"node000", "telemetry.scrape_interval"}), Value(60.0));
}

TEST(TargetsProbe, NoGpuExporterAmongTheTargetsIsNotObserved) {
  const Observations all = ParseTargetsReading(
      Of("prometheus.targets",
         R"({"status":"success","data":{"activeTargets":[],"droppedTargets":[]}})"));
  ASSERT_NE(WhyNot(all, "monitor", "telemetry.target_up"), nullptr);
  EXPECT_EQ(WhyNot(all, "monitor", "telemetry.target_up")->reason, UnknownReason::kNotObserved);
}

TEST(AlertProbes, SeeTheSyntheticAlertAndAreSilentWithoutIt) {
  EXPECT_EQ(SeenIn(ParseAlertsReading(Of("prometheus.alerts", Captured("alerts.json")))).size(),
            1u);
  EXPECT_EQ(SeenIn(ParseAlertmanagerReading(
                       Of("alertmanager.alerts", Captured("alertmanager-alerts.json"))))
                .size(),
            1u);
  EXPECT_TRUE(
      ParseAlertsReading(Of("prometheus.alerts", R"({"status":"success","data":{"alerts":[]}})"))
          .empty());
  EXPECT_TRUE(ParseAlertmanagerReading(Of("alertmanager.alerts", "[]")).empty());
}

// No cut and no dropped key may show what the whole answer did not show.
void ExpectNothingNew(const Seen& damaged, const Seen& whole, const std::string& what) {
  for (const auto& [key, value] : damaged) {
    const auto found = whole.find(key);
    ASSERT_NE(found, whole.end()) << what << " invents " << key.first << " " << key.second;
    if (key.second != "telemetry.target_up" || std::get<bool>(value)) {
      EXPECT_EQ(value, found->second) << what;
    }
  }
}

using Look = Seen (*)(const std::string&);
void DropEachKey(const std::string& text, Look look) {
  const Json whole = Json::parse(text);
  const Json flat = whole.flatten();
  for (const auto& [path, ignored] : flat.items()) {
    // Every prefix of the path that ends in a member is dropped in turn.
    for (size_t end = path.size(); end != std::string::npos && end > 0;
         end = path.rfind('/', end - 1)) {
      const Json::json_pointer pointer(path.substr(0, end));
      if (pointer.empty()) continue;
      Json damaged = whole;
      Json& parent = damaged[pointer.parent_pointer()];
      if (!parent.is_object()) continue;
      parent.erase(pointer.back());
      // Without its host label a series is told by its instance, which names the same node; labels
      // are not damage by themselves.
      ExpectNothingNew(look(damaged.dump()), look(text), "without " + path.substr(0, end));
    }
  }
}

TEST(Damage, CutAnswersShowNothing) {
  for (const auto& [name, look] : std::map<std::string, Look>{{"query-series.json", SeriesSeen},
                                                              {"targets.json", TargetsSeen}}) {
    const std::string text = Captured(name);
    for (size_t cut = 0; cut + 1 < text.size(); cut += 7)
      EXPECT_TRUE(look(text.substr(0, cut)).empty()) << name << " " << cut;
  }
}

TEST(Damage, DroppedKeysShowNothingNew) {
  DropEachKey(Captured("query-series.json"), SeriesSeen);
  DropEachKey(Captured("targets.json"), TargetsSeen);
}

TEST(Probes, EveryFactIsInTheContract) {
  const auto facts = testing::ReadWhole(std::string(MUSTER_SOURCE_DIR) + "/catalogue/facts.yaml");
  ASSERT_TRUE(facts.has_value());
  std::set<std::string_view> ids;
  for (const Probe& probe : PrometheusProbes()) {
    EXPECT_TRUE(ids.insert(probe.id).second);
    for (const std::string_view fact : probe.facts) {
      EXPECT_TRUE(Contains(*facts, fmt::format("{{id: {},", fact))) << fact;
    }
  }
  EXPECT_EQ(ids, (std::set<std::string_view>{"prometheus.series", "prometheus.targets",
                                             "prometheus.alerts", "alertmanager.alerts"}));
}

}  // namespace
}  // namespace muster::prometheus
