#include "probes/prometheus/alert_proof.h"

#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "probes/prometheus/probes.h"
#include "world/random.h"
#include "world/testing/captures.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::prometheus {
namespace {

using Json = nlohmann::json;
using Hop = AlertHop::Seen;

// A monitor of a site: fires and delivers so long after the condition was raised, or never.
class Site {
 public:
  std::optional<Duration> fires_after = std::chrono::seconds(20),
                          delivers_after = std::chrono::seconds(1);
  bool has_switch = true, has_rule = true, alertmanager_answers = true, resolves = true;
  std::vector<std::string> asked;

  Site() {
    http_.On("GET http://prometheus/api/v1/rules?type=alert",
             [this](const HttpRequest&) { return Rules(); });
    http_.On("GET http://prometheus/api/v1/alerts",
             [this](const HttpRequest&) { return Alerts(); });
    http_.On("POST http://monitor/synthetic?value=1",
             [this](const HttpRequest&) { return Switch(true); });
    http_.On("POST http://monitor/synthetic?value=0",
             [this](const HttpRequest&) { return Switch(false); });
    http_.On("GET http://alertmanager/api/v2/alerts?filter=alertname%3D%22MusterSyntheticAlert%22",
             [this](const HttpRequest&) { return Held(); });
    http_.On("POST http://alertmanager/api/v2/alerts",
             [this](const HttpRequest& request) { return Post(request); });
  }

  HostPorts Ports() {
    return {"monitor", {clock_, files_, processes_, http_, random_}, Origin::kLive};
  }
  AlertProof Prove() {
    const Reading reading = RunAlertProof(Ports(), {});
    transcript = reading.text;
    return ReadAlertProof(reading.text).value();
  }
  bool raised() const { return raised_at_.has_value(); }
  bool holds_direct() const { return direct_; }
  testing::FakeClock& clock() { return clock_; }
  std::string transcript;

 private:
  static Result<HttpResponse> Ok(std::string body) {
    return HttpResponse{200, {}, std::move(body), {}};
  }
  static Result<HttpResponse> Refused() { return Fail(Code::kUnavailable, "connection refused"); }

  bool Firing() const {
    if (!resolves && was_raised_ && fires_after) return true;
    return raised_at_ && fires_after && clock_.Monotonic() - *raised_at_ >= *fires_after;
  }
  bool Delivered() const {
    if (!delivers_after) return false;
    if (!resolves && was_raised_) return true;
    return Firing() && clock_.Monotonic() - *raised_at_ >= *fires_after + *delivers_after;
  }
  Result<HttpResponse> Rules() const {
    Json rules = Json::array();
    if (has_rule) {
      rules.push_back({{"name", "MusterSyntheticAlert"},
                       {"type", "alerting"},
                       {"health", "ok"},
                       {"state", "inactive"},
                       {"duration", 0}});
    }
    return Ok(Json{{"status", "success"},
                   {"data", {{"groups", {{{"name", "g"}, {"interval", 15}, {"rules", rules}}}}}}}
                  .dump());
  }
  Result<HttpResponse> Alerts() const {
    Json alerts = Json::array();
    if (Firing()) {
      alerts.push_back({{"labels", {{"alertname", "MusterSyntheticAlert"}}},
                        {"annotations", Json::object()},
                        {"state", "firing"},
                        {"activeAt", "2026-11-20T00:00:00Z"}});
    }
    return Ok(Json{{"status", "success"}, {"data", {{"alerts", alerts}}}}.dump());
  }
  Result<HttpResponse> Held() const {
    if (!alertmanager_answers) return Refused();
    Json held = Json::array();
    if (Delivered()) held.push_back(HeldAlert({{"alertname", "MusterSyntheticAlert"}}));
    if (direct_)
      held.push_back(HeldAlert({{"alertname", "MusterSyntheticAlert"}, {"muster_path", "direct"}}));
    return Ok(held.dump());
  }
  static Json HeldAlert(const Json& labels) {
    return {{"labels", labels},
            {"annotations", Json::object()},
            {"status", {{"state", "active"}}},
            {"startsAt", "2026-11-20T00:00:00Z"},
            {"endsAt", "2026-11-20T00:05:00Z"}};
  }
  Result<HttpResponse> Post(const HttpRequest& request) {
    if (!alertmanager_answers) return Refused();
    direct_ = !Json::parse(request.body)[0].contains("endsAt");
    return Ok("");
  }
  Result<HttpResponse> Switch(bool on) {
    if (!has_switch) return Refused();
    raised_at_.reset();
    if (on) raised_at_ = clock_.Monotonic();
    was_raised_ = was_raised_ || on;
    return Ok("");
  }

  testing::FakeClock clock_;
  testing::MemoryFiles files_;
  testing::ScriptedProcesses processes_;
  testing::ScriptedHttp http_;
  SeededRandom random_{1};
  std::optional<Duration> raised_at_;
  bool was_raised_ = false, direct_ = false;
};

TEST(AlertProof, AlertThatArrivesAndResolvesIsProven) {
  Site site;
  const AlertProof proof = site.Prove();
  EXPECT_TRUE(proof.through_rule);
  EXPECT_EQ(proof.fired.seen, Hop::kYes);
  EXPECT_EQ(proof.delivered.seen, Hop::kYes);
  EXPECT_EQ(proof.resolved.seen, Hop::kYes);
  EXPECT_GE(*proof.delivered.after, std::chrono::seconds(21));
  EXPECT_LT(*proof.delivered.after, std::chrono::seconds(22));
  EXPECT_FALSE(site.raised());
}

TEST(AlertProof, BrokenRouteIsNotDeliveredAlthoughAlertmanagerIsWell) {
  Site site;
  site.delivers_after.reset();
  const AlertProof proof = site.Prove();
  EXPECT_EQ(proof.fired.seen, Hop::kYes);
  EXPECT_EQ(proof.delivered.seen, Hop::kNo);
  EXPECT_TRUE(Contains(proof.delivered.detail, "the route is broken"));
  EXPECT_EQ(proof.resolved.seen, Hop::kUnknown);
  EXPECT_FALSE(site.raised());
  EXPECT_FALSE(site.holds_direct());
}

TEST(AlertProof, AlertThatNeverFiresLeavesDeliveryUnknown) {
  Site site;
  site.fires_after.reset();
  const AlertProof proof = site.Prove();
  EXPECT_EQ(proof.fired.seen, Hop::kNo);
  EXPECT_EQ(proof.delivered.seen, Hop::kUnknown);
  EXPECT_FALSE(site.raised());
  EXPECT_LT(site.clock().slept(), std::chrono::minutes(4));
}

TEST(AlertProof, SilentAlertmanagerIsUnknownNotUndelivered) {
  Site site;
  site.alertmanager_answers = false;
  const AlertProof proof = site.Prove();
  EXPECT_NE(proof.delivered.seen, Hop::kYes);
  EXPECT_EQ(proof.delivered.seen, Hop::kUnknown);
  EXPECT_FALSE(site.raised());
}

TEST(AlertProof, WithoutRuleOnlyTheLastHopIsProven) {
  Site site;
  site.has_rule = false;
  const AlertProof proof = site.Prove();
  EXPECT_FALSE(proof.through_rule);
  EXPECT_EQ(proof.fired.seen, Hop::kUnknown);
  EXPECT_TRUE(Contains(proof.fired.detail, "no rule"));
  EXPECT_EQ(proof.delivered.seen, Hop::kYes);
  EXPECT_TRUE(Contains(proof.delivered.detail, "posted directly"));
  EXPECT_FALSE(site.holds_direct());
}

TEST(AlertProof, WithoutSwitchItSaysWhyNothingWasRaised) {
  Site site;
  site.has_switch = false;
  const AlertProof proof = site.Prove();
  EXPECT_EQ(proof.fired.seen, Hop::kUnknown);
  EXPECT_TRUE(Contains(proof.fired.detail, "could not be raised"));
  EXPECT_EQ(proof.delivered.seen, Hop::kYes);
}

TEST(AlertProof, OldAlertThatStaysMakesEverythingUnknown) {
  Site site;
  site.resolves = false;
  EXPECT_EQ(site.Prove().resolved.seen, Hop::kNo);  // the first one stays for ever
  const AlertProof second = site.Prove();
  EXPECT_EQ(second.fired.seen, Hop::kUnknown);
  EXPECT_EQ(second.delivered.seen, Hop::kUnknown);
  EXPECT_TRUE(Contains(second.fired.detail, "does not go away"));
}

TEST(AlertProof, ObservationsAreAboutTheSiteThatWasNamed) {
  Site site;
  AlertProofOptions options;
  options.site = "alpha";
  const auto observations = ProveAlert(site.Ports(), options);
  ASSERT_TRUE(observations.ok());
  std::set<std::string> facts;
  for (const Observation& o : *observations) {
    EXPECT_EQ(o.subject, SiteSubject("alpha"));
    ASSERT_NE(o.value(), nullptr) << o.fact;
    facts.insert(o.fact);
  }
  EXPECT_EQ(facts, (std::set<std::string>{"alert.fired", "alert.delivered", "alert.latency",
                                          "alert.resolved"}));
}

TEST(AlertProof, WaitsThatAreNotPositiveAreRefused) {
  Site site;
  AlertProofOptions options;
  options.poll_every = Duration::zero();
  EXPECT_EQ(ProveAlert(site.Ports(), options).error().code, Code::kInvalid);
}

Reading Transcript(std::string text) {
  Reading reading;
  reading.probe = "alert_proof";
  reading.host = "monitor";
  reading.text = std::move(text);
  return reading;
}

size_t Healthy(const std::string& text) {
  size_t healthy = 0;
  for (const Observation& o : ParseAlertProof(Transcript(text)))
    healthy += o.value() != nullptr && *o.value() != Value(false);
  return healthy;
}

TEST(AlertProof, RealTranscriptIsRead) {
  const std::string text =
      testing::Capture(MUSTER_SOURCE_DIR, "rehearsed/prometheus/alert-proof.json");
  EXPECT_EQ(Healthy(text), 4u);
}

TEST(AlertProof, DamagedTranscriptShowsNothingHealthy) {
  const std::string text =
      testing::Capture(MUSTER_SOURCE_DIR, "rehearsed/prometheus/alert-proof.json");
  for (size_t cut = 0; cut < text.size(); cut += 11)
    EXPECT_EQ(Healthy(text.substr(0, cut)), 0u) << cut;
  const Json whole = Json::parse(text);
  for (const char* key : {"kind", "path", "site", "steps"}) {
    Json damaged = whole;
    damaged.erase(key);
    EXPECT_EQ(Healthy(damaged.dump()), 0u) << key;
  }
  for (size_t step = 0; step < whole["steps"].size(); ++step) {
    for (const char* key : {"step", "body", "after_s"}) {
      Json damaged = whole;
      damaged["steps"][step].erase(key);
      EXPECT_LE(Healthy(damaged.dump()), 4u);
      const std::string name = whole["steps"][step]["step"];
      if (name == "fired" || name == "resolved") {
        EXPECT_EQ(Healthy(damaged.dump()), 3u) << name << " " << key;
      }
      if (name == "delivered") {
        EXPECT_EQ(Healthy(damaged.dump()), 2u) << key;
      }
    }
  }
}

// What cannot be watched is never a pass: the Nth request of a proof fails, for every N.
TEST(AlertProof, AnySingleRefusalNeverTurnsABrokenRouteIntoADelivery) {
  for (int nth = 0; nth < 40; ++nth) {
    Site site;
    site.delivers_after.reset();
    HostPorts ports = site.Ports();
    class Flaky final : public Http {
     public:
      Flaky(Http& real, int nth) : real_(real), left_(nth) {}
      Result<HttpResponse> Do(const HttpRequest& request) override {
        if (left_-- == 0) return Fail(Code::kTimeout, "no answer");
        return real_.Do(request);
      }
      Result<HttpResponse> Stream(const HttpRequest& request, const OnBytes&, Duration&) override {
        return Do(request);
      }

     private:
      Http& real_;
      int left_;
    } flaky(ports.world.http, nth);
    const HostPorts shaky{
        "monitor",
        {ports.world.clock, ports.world.files, ports.world.processes, flaky, ports.world.random},
        Origin::kLive};
    const auto proof = ReadAlertProof(RunAlertProof(shaky, {}).text);
    ASSERT_TRUE(proof.ok());
    if (proof->through_rule) {
      EXPECT_NE(proof->delivered.seen, Hop::kYes) << nth;
    } else {
      // Posted directly it may be held, but then nothing fired.
      EXPECT_EQ(proof->fired.seen, Hop::kUnknown) << nth;
    }
  }
}

}  // namespace
}  // namespace muster::prometheus
