#include "plan/alert.h"

#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using ::testing::HasSubstr;

// As Alertmanager 0.25 sends it.
constexpr const char* kBody = R"({"receiver":"muster","status":"firing","alerts":[{
  "status":"firing","labels":{"alertname":"GpuXidFatal","gpu":"3","UUID":"GPU-1","instance":"node001:9400",
  "severity":"page"},"annotations":{"summary":"Xid 119"},"startsAt":"2026-11-21T20:15:01.123456789Z",
  "endsAt":"0001-01-01T00:00:00Z","generatorURL":"http://x","fingerprint":"1a30ba71cca2921f"}],
  "groupLabels":{},"commonLabels":{},"commonAnnotations":{},"externalURL":"http://y","version":"4",
  "groupKey":"{}:{}","truncatedAlerts":0})";

class AlertTest : public ::testing::Test {
 protected:
  AlertTest() {
    for (const Runbook& book : books_) pointers_.push_back(&book);
  }
  AlertMatch Match(const Alert& alert) const { return MatchAlert(alert, pointers_, cluster_); }
  static Alert Of(std::map<std::string, std::string> labels) {
    Alert alert;
    alert.name = labels["alertname"];
    alert.labels = std::move(labels);
    return alert;
  }

  std::vector<Runbook> books_ = LoadEmbeddedRunbooks().value();
  std::vector<const Runbook*> pointers_;
  Cluster cluster_ = BuildCluster(*ParseClusterSpec("nodes=2,gpus=4,numa=1,rails=0,leaves=0"));
};

TEST_F(AlertTest, ReadsWhatAlertmanagerSends) {
  const auto alerts = ParseAlerts(kBody);
  ASSERT_TRUE(alerts.ok()) << alerts.error().ToString();
  ASSERT_EQ(alerts->size(), 1u);
  EXPECT_EQ((*alerts)[0].name, "GpuXidFatal");
  EXPECT_EQ((*alerts)[0].fingerprint, "1a30ba71cca2921f");
  EXPECT_EQ(FormatTime((*alerts)[0].starts_at), "2026-11-21T20:15:01.123Z");
  const AlertMatch match = Match((*alerts)[0]);
  EXPECT_EQ(match.why_not, "");
  EXPECT_EQ(match.runbook, "R6");
  EXPECT_EQ(match.on, GpuSubject("node001", 3));
}

TEST_F(AlertTest, ABodyThatIsWrongAnywhereIsRefusedAsAWhole) {
  const std::map<std::string, std::string> wrongs = {
      {R"("version":"4")", R"("version":"3")"},
      {R"("status":"firing","labels")", R"("status":"on","labels")"},
      {"1a30ba71cca2921f", "not hex"},
      {"2026-11-21T20:15:01.123456789Z", "yesterday"},
      {R"("alertname":"GpuXidFatal")", R"("alertname":7)"},
      {R"("alertname":"GpuXidFatal",)", ""},
      {R"("alerts":[{)", R"("alerts":[7,{)"},
      {R"("alerts":[{)", R"("warnings":[{)"}};
  for (const auto& [good, bad] : wrongs) {
    std::string body = kBody;
    const size_t at = body.find(good);
    ASSERT_NE(at, std::string::npos) << good;
    body.replace(at, good.size(), bad);
    EXPECT_EQ(ParseAlerts(body).error().code, Code::kInvalid) << bad;
  }
  EXPECT_FALSE(ParseAlerts("").ok());
  EXPECT_FALSE(ParseAlerts("[]").ok());
  std::string many = R"({"version":"4","alerts":[)";
  for (size_t i = 0; i <= kMostAlertsAtOnce; ++i) many += "{},";
  EXPECT_THAT(ParseAlerts(many + "{}]}").error().message, HasSubstr("at most 1000"));
}

TEST_F(AlertTest, TheNodeIsNamedByAnyOfItsLabels) {
  for (const auto& [label, value] :
       {std::pair{"node", "node001"}, std::pair{"hostname", "node001"},
        std::pair{"Hostname", "node001"}, std::pair{"instance", "node001:9400"},
        std::pair{"instance", "node001.example.org:9400"}}) {
    const auto match = Match(Of({{"alertname", "MusterPersistenceOff"}, {label, value}}));
    EXPECT_EQ(match.why_not, "") << label;
    EXPECT_EQ(match.on, NodeSubject("node001")) << label;
  }
}

TEST_F(AlertTest, WhatCannotBeMappedIsSaidAndDoesNothing) {
  EXPECT_THAT(Match(Of({{"alertname", "Watchdog"}})).why_not, HasSubstr("no runbook"));
  EXPECT_THAT(Match(Of({{"alertname", "MusterPersistenceOff"}, {"instance", "x:1"}})).why_not,
              HasSubstr("names a node"));
  EXPECT_THAT(Match(Of({{"alertname", "GpuXidFatal"}, {"node", "node000"}})).why_not,
              HasSubstr("names none of node000"));
  EXPECT_THAT(Match(Of({{"alertname", "GpuXidFatal"}, {"node", "node000"}, {"gpu", "4"}})).why_not,
              HasSubstr("names none of node000"));
  EXPECT_THAT(Match(Of({{"alertname", "MusterCollectiveStall"}, {"node", "node000"}})).why_not,
              HasSubstr("needs job"));
}

// Label values end in commands on hosts.
TEST_F(AlertTest, ALabelThatIsNoPlainWordIsRefused) {
  for (const char* bad : {"a;reboot", "-rf", "$(id)", "a b", "", "a\nb", "`id`"}) {
    const auto match = Match(
        Of({{"alertname", "MusterCollectiveStall"}, {"node", "node000"}, {"input_job", bad}}));
    EXPECT_THAT(match.why_not, HasSubstr("plain word")) << bad;
  }
  const auto match = Match(Of({{"alertname", "MusterCollectiveStall"},
                               {"node", "node000"},
                               {"job", "dcgm-exporter"},
                               {"input_job", "team-a/job.7"}}));
  EXPECT_EQ(match.why_not, "");
  EXPECT_EQ(match.inputs.at("job"), "team-a/job.7");
}

TEST_F(AlertTest, AnAlertNamesOneRunbookAtMost) {
  std::map<std::string, std::string> owner;
  for (const Runbook& book : books_) {
    for (const std::string& alert : book.trigger.alerts) {
      EXPECT_TRUE(owner.emplace(alert, book.id).second)
          << alert << " is of " << owner[alert] << " and " << book.id;
    }
  }
}

}  // namespace
}  // namespace muster
