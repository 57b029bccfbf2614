#include <functional>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"
#include "probes/facility/probes.h"
#include "probes/facility/redfish.h"
#include "probes/facility/signoff.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::facility {
namespace {

using ::testing::HasSubstr;

const TimePoint kNow = ParseTime("2026-11-20T00:00:00Z").value();

const SigningKey& Key() {
  static const SigningKey key = NewSigningKey().value();
  return key;
}

Signoff Example() {
  Signoff s;
  s.budgets = {{"power", {45000, Unit::kWatt}, {38200, Unit::kWatt}},
               {"weight", {6000, Unit::kKilogram}, {5000, Unit::kKilogram}}};
  s.pdus = {{"pdu00", true, "A. Person", ""},
            {"pdu01", std::nullopt, "", "http://pdu01/redfish/v1/Outlets"}};
  s.signed_by = "A. Person";
  s.signed_at = kNow - std::chrono::hours(24);
  s.expires = kNow + std::chrono::hours(240);
  return s;
}

std::string Signed(const Signoff& s = Example()) { return WriteSignoff(s, Key()).value(); }

Reading ReadingOf(std::string text) {
  Reading r;
  r.probe = "facility.signoff";
  r.host = "facility";
  r.text = std::move(text);
  r.at = kNow;
  return r;
}

const Observation* Find(const Observations& all, std::string_view subject, std::string_view fact) {
  for (const Observation& o : all) {
    if (o.subject.ToString() == subject && o.fact == fact) return &o;
  }
  return nullptr;
}

// What would count as good news: whatever says so must be said by the intact document too.
std::map<std::string, Value> GoodNews(const Observations& all) {
  std::map<std::string, Value> good;
  for (const Observation& o : all) {
    if (o.value() != nullptr && *o.value() != Value(false))
      good[o.subject.ToString() + " " + o.fact] = *o.value();
  }
  return good;
}

TEST(Signoff, ASignedDocumentSaysWhatWasSigned) {
  const Observations all = ParseSignoff(ReadingOf(Signed()));
  EXPECT_EQ(*Find(all, "budget power", "facility.signed")->value(), Value(true));
  EXPECT_EQ(*Find(all, "budget power", "facility.signer")->value(),
            Value(std::string("A. Person")));
  EXPECT_EQ(*Find(all, "budget power", "facility.expires_in")->value(), Value(864000.0));
  EXPECT_NEAR(std::get<double>(*Find(all, "budget power", "facility.used_ratio")->value()),
              38.2 / 45, 1e-9);
  EXPECT_EQ(Find(all, "budget power", "facility.used_ratio")->unit, Unit::kRatio);
  EXPECT_NE(Find(all, "budget weight", "facility.used_ratio"), nullptr);
  EXPECT_EQ(*Find(all, "pdu pdu00", "pdu.energised")->value(), Value(true));
  EXPECT_EQ(Find(all, "pdu pdu01", "pdu.energised"), nullptr);  // its endpoint is asked
}

TEST(Signoff, LayoutAndKeyOrderDoNotMatter) {
  const std::string text = Signed();
  std::string squeezed = CanonicalSignoff(text).value();
  EXPECT_TRUE(VerifySignoff(text));
  EXPECT_THAT(squeezed, Not(HasSubstr("\"signature\"")));
  EXPECT_EQ(CanonicalSignoff(squeezed).value(), squeezed);
}

TEST(Signoff, AnyChangeOfAFigureBreaksTheSignatureAndNothingIsBelieved) {
  std::string text = Signed();
  text.replace(text.find("38.2"), 4, "18.2");
  EXPECT_FALSE(VerifySignoff(text));
  const Observations all = ParseSignoff(ReadingOf(text));
  EXPECT_EQ(*Find(all, "budget power", "facility.signed")->value(), Value(false));
  EXPECT_EQ(Find(all, "budget power", "facility.used_ratio")->value(), nullptr);
  EXPECT_EQ(Find(all, "budget power", "facility.expires_in")->value(), nullptr);
  EXPECT_EQ(Find(all, "pdu pdu00", "pdu.energised")->value(), nullptr);
}

TEST(Signoff, AnotherKeysSignatureIsNone) {
  std::string text = Signed();
  const std::string other = NewSigningKey()->public_hex;
  text.replace(text.find(Key().public_hex), other.size(), other);
  EXPECT_FALSE(VerifySignoff(text));
}

TEST(Signoff, AnExpiredOneSaysForHowLong) {
  Signoff s = Example();
  s.expires = kNow - std::chrono::hours(1);
  const Observations all = ParseSignoff(ReadingOf(Signed(s)));
  EXPECT_EQ(*Find(all, "budget power", "facility.expires_in")->value(), Value(-3600.0));
}

TEST(Signoff, WhatCannotBeMeantIsNotWritten) {
  const auto refused = [](const std::function<void(Signoff&)>& edit) {
    Signoff s = Example();
    edit(s);
    return !WriteSignoff(s, Key()).ok();
  };
  EXPECT_TRUE(refused([](Signoff& s) { s.signed_by = " "; }));
  EXPECT_TRUE(refused([](Signoff& s) { s.expires = s.signed_at; }));
  EXPECT_TRUE(refused([](Signoff& s) { s.budgets[1].name = "power"; }));
  EXPECT_TRUE(refused([](Signoff& s) { s.budgets[0].limit = {}; }));
  EXPECT_TRUE(refused([](Signoff& s) { s.budgets[0].used.unit = Unit::kKilogram; }));
  EXPECT_TRUE(refused([](Signoff& s) { s.pdus[1].name = "pdu00"; }));
  EXPECT_TRUE(refused([](Signoff& s) { s.budgets.clear(), s.pdus.clear(); }));
}

// Documents of other hands, validly signed, with holes.
std::string SignedText(std::string body) {
  const std::string with_key = "{" + body + ",\"public_key\":\"" + Key().public_hex + "\"}";
  const auto canonical = CanonicalSignoff(with_key);
  EXPECT_TRUE(canonical.ok()) << with_key;
  const std::string signature = Sign(Key(), canonical.value()).value();
  return with_key.substr(0, with_key.size() - 1) + ",\"signature\":\"" + signature + "\"}";
}
constexpr std::string_view kHead = R"("apiVersion":"muster/v1","kind":"FacilitySignoff",)";

TEST(Signoff, HolesInASignedDocumentAreUnknown) {
  const Observations all = ParseSignoff(ReadingOf(SignedText(
      std::string(kHead) +
      R"("signed_by":"B","budgets":[{"name":"power","limit":"45 kW"},{"name":"cooling","limit":"45 kW","used":"4 kg"},)"
      R"({"name":"weight","limit":"0 kg","used":"4 kg"},{"name":"twice","limit":"9 kW","used":"1 kW"},{"name":"twice","limit":"9 kW","used":"8 kW"}],)"
      R"("pdus":[{"name":"p0"},{"name":"p1","energised":true},{"name":"p2","energised":"yes","attested_by":"B"},{"name":"p3","energised":false}])")));
  for (const char* budget : {"budget power", "budget cooling", "budget weight", "budget twice"}) {
    EXPECT_EQ(Find(all, budget, "facility.used_ratio")->value(), nullptr) << budget;
    EXPECT_EQ(Find(all, budget, "facility.expires_in")->value(), nullptr) << budget;
  }
  EXPECT_EQ(Find(all, "budget twice", "facility.signed")->value(), nullptr);
  for (const char* pdu : {"pdu p0", "pdu p1", "pdu p2"})
    EXPECT_EQ(Find(all, pdu, "pdu.energised")->value(), nullptr) << pdu;
  EXPECT_EQ(*Find(all, "pdu p3", "pdu.energised")->value(), Value(false));
}

TEST(Signoff, ASignatureWithoutASignerSignsNothing) {
  const Observations all = ParseSignoff(ReadingOf(SignedText(
      std::string(kHead) + R"("budgets":[{"name":"power","limit":"9 kW","used":"1 kW"}])")));
  EXPECT_EQ(*Find(all, "budget power", "facility.signed")->value(), Value(false));
}

TEST(Signoff, DamageNeverMakesGoodNews) {
  const std::string intact = Signed();
  const auto good = GoodNews(ParseSignoff(ReadingOf(intact)));
  ASSERT_FALSE(good.empty());
  const auto check = [&](const std::string& text, size_t at) {
    for (const auto& [what, value] : GoodNews(ParseSignoff(ReadingOf(text)))) {
      ASSERT_TRUE(good.contains(what)) << what << " at " << at;
      EXPECT_EQ(good.at(what), value) << what << " at " << at;
    }
  };
  for (size_t cut = 0; cut <= intact.size(); ++cut) check(intact.substr(0, cut), cut);
  for (size_t at = 0; at < intact.size(); ++at) {
    std::string flipped = intact;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    check(flipped, at);
  }
}

RC_GTEST_PROP(Signoff, NoBytesCrashTheParsersOrPass, (const std::string& text)) {
  RC_ASSERT(GoodNews(ParseSignoff(ReadingOf(text))).empty());
  RC_ASSERT(GoodNews(ParseRedfish(ReadingOf(text))).empty());
}

TEST(Signoff, DeepNestingIsRefusedAndNotFollowed) {
  EXPECT_FALSE(CanonicalSignoff("{\"a\":" + std::string(200000, '[')).ok());
  EXPECT_FALSE(
      CanonicalSignoff("{\"a\":" + std::string(200000, '[') + std::string(200000, ']') + "}").ok());
}

TEST(Signoff, AMissingFileIsSaidForEveryFact) {
  const Probe& probe = FacilityProbes()[0];
  testing::FakeClock clock;
  testing::MemoryFiles files;
  testing::ScriptedHttp http;
  testing::ScriptedProcesses processes;
  SeededRandom random(1);
  const HostPorts ports{"facility", {clock, files, processes, http, random}, Origin::kRehearsed};
  const Observations none = ParseReading(probe, probe.collect(ports));
  for (const std::string_view fact : probe.facts) {
    const Observation* o = Find(none, "node facility", fact);
    ASSERT_NE(o, nullptr) << fact;
    EXPECT_NE(o->unobserved(), nullptr);
    EXPECT_EQ(o->origin, Origin::kRehearsed);
  }
  files.Put(std::string(kSignoffPath), Signed());
  EXPECT_FALSE(GoodNews(ParseReading(probe, probe.collect(ports))).empty());
}

// One PDU, asked over a scripted network.
class Redfish : public ::testing::Test {
 protected:
  void SetUp() override { files_.Put(std::string(kSignoffPath), Signed()); }
  Observations Ask() {
    const Probe& probe = FacilityProbes()[1];
    return ParseReading(
        probe, probe.collect(
                   {"facility", {clock_, files_, processes_, http_, random_}, Origin::kRehearsed}));
  }
  const Observation* Pdu(const Observations& all) {
    return Find(all, "pdu pdu01", "pdu.energised");
  }

  testing::FakeClock clock_;
  testing::MemoryFiles files_;
  testing::ScriptedHttp http_;
  testing::ScriptedProcesses processes_;
  SeededRandom random_{1};
  static constexpr const char* kUrl = "http://pdu01/redfish/v1/Outlets";
};

TEST_F(Redfish, EveryOutletOnIsEnergised) {
  http_.Serves(
      kUrl,
      R"({"Members@odata.count":2,"Members":[{"Id":"A1","PowerState":"On"},{"Id":"A2","PowerState":"On"}]})");
  const Observations all = Ask();
  EXPECT_EQ(*Pdu(all)->value(), Value(true));
}

TEST_F(Redfish, ReferencesAreFollowed) {
  http_.Serves(
      kUrl,
      R"({"Members@odata.count":2,"Members":[{"@odata.id":"/redfish/v1/Outlets/A1"},{"@odata.id":"/redfish/v1/Outlets/A2"}]})");
  http_.Serves("http://pdu01/redfish/v1/Outlets/A1", R"({"Id":"A1","PowerState":"On"})");
  http_.Serves("http://pdu01/redfish/v1/Outlets/A2", R"({"Id":"A2","PowerState":"Off"})");
  const Observations all = Ask();
  EXPECT_EQ(*Pdu(all)->value(), Value(false));
  EXPECT_THAT(Pdu(all)->excerpt, HasSubstr("A2"));
}

TEST_F(Redfish, WhatWasNotSeenIsUnknown) {
  EXPECT_EQ(Pdu(Ask())->value(), nullptr);  // nobody answers
  for (const char* body :
       {R"({"Members@odata.count":3,"Members":[{"Id":"A1","PowerState":"On"}]})",
        R"({"Members":[]})", R"({"Members":[{"Id":"A1"}]})", R"({"PowerState":null})", "{", "",
        R"({"Members":[{"Id":"A1","PowerState":"On"}],"Members@odata.nextLink":"/x"})"}) {
    http_.Serves(kUrl, body);
    EXPECT_EQ(Pdu(Ask())->value(), nullptr) << body;
  }
  http_.On(kUrl, HttpResponse{503, {}, R"({"PowerState":"On"})", {}});
  EXPECT_EQ(Pdu(Ask())->value(), nullptr);
}

TEST_F(Redfish, DamagedAnswersNeverSayOn) {
  const std::string body =
      R"({"Members@odata.count":2,"Members":[{"Id":"A1","PowerState":"On"},{"Id":"A2","PowerState":"On"}]})";
  for (size_t cut = 0; cut < body.size(); ++cut) {
    http_.Serves(kUrl, body.substr(0, cut));
    EXPECT_EQ(Pdu(Ask())->value(), nullptr) << cut;
  }
}

}  // namespace
}  // namespace muster::facility
