#include "probes/prometheus/api.h"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

#include "base/strings.h"
#include "world/testing/captures.h"

namespace muster::prometheus {
namespace {

std::string Captured(const std::string& name) {
  return testing::Capture(MUSTER_SOURCE_DIR, "rehearsed/prometheus/" + name);
}

TEST(PrometheusApi, ReadsAVector) {
  const auto answer = ParseQuery(Captured("query-series.json"));
  ASSERT_TRUE(answer.ok()) << answer.error().ToString();
  EXPECT_EQ(answer->result_type, "vector");
  ASSERT_EQ(answer->series.size(), 4u);
  EXPECT_EQ(answer->series[0].labels.at("hostname"), "node000");
  ASSERT_EQ(answer->series[0].points.size(), 1u);
  EXPECT_GT(answer->series[0].points[0].value, 0);
}

TEST(PrometheusApi, ReadsAMatrixAndAScalar) {
  const auto matrix = ParseQuery(Captured("query-matrix.json"));
  ASSERT_TRUE(matrix.ok());
  EXPECT_EQ(matrix->series[0].points.size(), 3u);
  const auto scalar = ParseQuery(Captured("query-scalar.json"));
  ASSERT_TRUE(scalar.ok());
  EXPECT_EQ(scalar->series[0].points[0].value, INFINITY);
}

TEST(PrometheusApi, EmptyVectorIsAnAnswerWithoutSeries) {
  const auto answer = ParseQuery(Captured("query-empty.json"));
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(answer->series.empty());
}

TEST(PrometheusApi, ErrorStatusIsAnErrorWithTheServersWords) {
  const auto answer = ParseQuery(Captured("query-bad.json"));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, Code::kInvalid);
  EXPECT_TRUE(Contains(answer.error().message, "unclosed left parenthesis"));
}

TEST(PrometheusApi, KeepsWarningsAndInfos) {
  const auto answer = ParseQuery(
      R"({"status":"success","data":{"resultType":"vector","result":[]},"warnings":["store 3 is away"],"infos":["i"]})");
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->notes.warnings, std::vector<std::string>{"store 3 is away"});
  EXPECT_EQ(answer->notes.infos, std::vector<std::string>{"i"});
}

TEST(PrometheusApi, ReadsTargets) {
  const auto answer = ParseTargets(Captured("targets.json"));
  ASSERT_TRUE(answer.ok()) << answer.error().ToString();
  ASSERT_EQ(answer->active.size(), 3u);
  size_t down = 0;
  for (const Target& target : answer->active) {
    EXPECT_EQ(target.scrape_interval_s, 1.0);
    if (target.health == "down") {
      ++down;
      EXPECT_TRUE(Contains(target.last_error, "503"));
    }
  }
  EXPECT_EQ(down, 1u);
}

TEST(PrometheusApi, TargetNeverScrapedHasNoScrapeTime) {
  std::string text = Captured("targets.json");
  const size_t at = text.find("\"lastScrape\":\"") + 14;
  text.replace(at, text.find('"', at) - at, "0001-01-01T00:00:00Z");
  const auto answer = ParseTargets(text);
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(answer->active[0].last_scrape.has_value());
}

TEST(PrometheusApi, ReadsRulesAndAlerts) {
  const auto rules = ParseRules(Captured("rules.json"));
  ASSERT_TRUE(rules.ok()) << rules.error().ToString();
  ASSERT_EQ(rules->rules.size(), 1u);
  EXPECT_EQ(rules->rules[0].name, "MusterSyntheticAlert");
  EXPECT_EQ(rules->rules[0].state, "firing");
  EXPECT_EQ(rules->rules[0].interval_s, 1);
  const auto alerts = ParseAlerts(Captured("alerts.json"));
  ASSERT_TRUE(alerts.ok());
  ASSERT_EQ(alerts->alerts.size(), 1u);
  EXPECT_EQ(alerts->alerts[0].Name(), "MusterSyntheticAlert");
  EXPECT_EQ(alerts->alerts[0].state, "firing");
}

TEST(AlertmanagerApi, ReadsAlerts) {
  const auto answer = ParseAlertmanagerAlerts(Captured("alertmanager-alerts.json"));
  ASSERT_TRUE(answer.ok()) << answer.error().ToString();
  ASSERT_EQ(answer->alerts.size(), 1u);
  EXPECT_EQ(answer->alerts[0].state, "active");
  EXPECT_FALSE(answer->alerts[0].fingerprint.empty());
}

TEST(AlertmanagerApi, ReadsAlertmanagersOfPrometheus) {
  const auto urls = ParseAlertmanagers(Captured("alertmanagers.json"));
  ASSERT_TRUE(urls.ok());
  EXPECT_EQ(urls->size(), 1u);
}

std::vector<std::string> CapturedWebhooks() {
  const std::string text = Captured("alertmanager-webhook.txt");
  std::vector<std::string> bodies;
  for (const std::string_view line : Lines(text)) {
    const size_t brace = line.find('{');
    if (StartsWith(line, "hook ") && brace != std::string_view::npos)
      bodies.emplace_back(line.substr(brace));
  }
  return bodies;
}

TEST(AlertmanagerWebhook, ReadsEveryCapturedMessage) {
  const auto bodies = CapturedWebhooks();
  ASSERT_EQ(bodies.size(), 6u);
  std::map<std::string, int> keys;
  for (const std::string& body : bodies) {
    const auto message = ParseWebhook(body);
    ASSERT_TRUE(message.ok()) << message.error().ToString();
    ASSERT_EQ(message->alerts.size(), 1u);
    const Alert& alert = message->alerts[0];
    EXPECT_EQ(alert.Name(), "XidSeen");
    EXPECT_EQ(alert.ends_at.has_value(), message->status == "resolved");
    EXPECT_EQ(message->truncated_alerts, 0u);
    ++keys[alert.Key()];
  }
  // Fired and resolved have one key; another firing of the same alert has another.
  EXPECT_EQ(keys.size(), 3u);
  for (const auto& [key, count] : keys) EXPECT_EQ(count, 2) << key;
}

TEST(AlertmanagerWebhook, OtherVersionsAndMissingPartsAreRefused) {
  const std::string body = CapturedWebhooks().front();
  auto json = nlohmann::json::parse(body);
  json["version"] = "5";
  EXPECT_FALSE(ParseWebhook(json.dump()).ok());
  json = nlohmann::json::parse(body);
  json["orgId"] = 1;  // Grafana adds fields of its own
  EXPECT_TRUE(ParseWebhook(json.dump()).ok());
  json["alerts"][0].erase("startsAt");
  EXPECT_FALSE(ParseWebhook(json.dump()).ok());
}

// A cut document is an error, never a shorter list.
TEST(PrometheusApi, CutAnywhereEveryAnswerIsAnError) {
  const auto cut_all = [](const std::string& text, const auto& parse) {
    const size_t end = text.find_last_not_of(" \n") + 1;
    for (size_t cut = 0; cut < end; ++cut)
      EXPECT_FALSE(parse(std::string_view(text).substr(0, cut)).ok()) << cut;
  };
  cut_all(Captured("query-series.json"), ParseQuery);
  cut_all(Captured("query-matrix.json"), ParseQuery);
  cut_all(Captured("targets.json"), ParseTargets);
  cut_all(Captured("rules.json"), ParseRules);
  cut_all(Captured("alerts.json"), ParseAlerts);
  cut_all(Captured("alertmanager-alerts.json"), ParseAlertmanagerAlerts);
  cut_all(CapturedWebhooks().front(), ParseWebhook);
}

TEST(PrometheusApi, ReadsDurationsAndValuesAsThePrometheusWrites) {
  EXPECT_EQ(ParsePromDuration("1m30s"), 90.0);
  EXPECT_EQ(ParsePromDuration("250ms"), 0.25);
  EXPECT_EQ(ParsePromDuration("1d"), 86400.0);
  EXPECT_EQ(ParsePromDuration("0"), 0.0);
  for (const char* bad : {"", "15", "s", "15 s", "1x", "-1s", "99999999999s"})
    EXPECT_FALSE(ParsePromDuration(bad)) << bad;
  EXPECT_TRUE(std::isnan(*ParseSampleValue("NaN")));
  EXPECT_EQ(ParseSampleValue("-Inf"), -INFINITY);
  EXPECT_FALSE(ParseSampleValue("1 GB"));
  EXPECT_EQ(UrlEncode("a b\"{~}"), "a%20b%22%7B~%7D");
}

TEST(PrometheusApi, TimesThatNoServerMeansAreRefused) {
  EXPECT_TRUE(ParseApiTime("2026-11-21T02:05:41.84125077Z")->has_value());
  EXPECT_FALSE(ParseApiTime("0001-01-01T00:00:00Z")->has_value());
  for (const char* bad :
       {"", "1014-11-21T02:05:41Z", "9999-12-31T23:59:59Z", "-999-01-01T00:00:00Z", "2026-11-21"}) {
    ASSERT_FALSE(ParseApiTime(bad).ok()) << bad;
    EXPECT_EQ(ParseApiTime(bad).error().code, Code::kParse) << bad;
  }
}

TEST(PrometheusApi, AnyBytesAreReadWithoutTrouble) {
  EXPECT_TRUE(rc::check([](const std::string& text) {
    RC_ASSERT(!ParseTargets(text).ok());
    RC_ASSERT(!ParseAlerts(text).ok());
    RC_ASSERT(!ParseWebhook(text).ok());
  }));
}

}  // namespace
}  // namespace muster::prometheus
