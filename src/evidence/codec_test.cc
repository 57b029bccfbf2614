#include "evidence/codec.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/strings.h"
#include "evidence/testing/sample.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using testing::kNow;
using testing::Missing;
using testing::Seen;

Observation Full() {
  Observation o = Seen(GpuSubject("node-07", 3), "gpu.model", std::string("NVIDIA \"H100\"\n"));
  o.observed_at += std::chrono::nanoseconds(1'234'567);
  o.origin = Origin::kRehearsed;
  o.excerpt = "<product_name>NVIDIA H100</product_name>";
  o.source = std::make_shared<Source>(
      Source{"nvidia_smi.query", "node-07", "nvidia-smi -q -x", 0, std::string(64, 'a'), "570.1"});
  return o;
}

void ExpectSame(const Observation& a, const Observation& b) {
  EXPECT_EQ(a.subject, b.subject);
  EXPECT_EQ(a.fact, b.fact);
  EXPECT_EQ(a.seen, b.seen);
  EXPECT_EQ(a.unit, b.unit);
  EXPECT_EQ(a.observed_at, b.observed_at);
  EXPECT_EQ(a.excerpt, b.excerpt);
  EXPECT_EQ(a.origin, b.origin);
  ASSERT_EQ(a.source == nullptr, b.source == nullptr);
  if (a.source) {
    EXPECT_EQ(*a.source, *b.source);
  }
}

TEST(Codec, AnObservationReadsBackToTheNanosecond) {
  const auto back = DecodeObservation(EncodeObservation(Full()));
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  ExpectSame(*back, Full());
}

TEST(Codec, KeysStandInOneOrder) {
  EXPECT_EQ(
      EncodeObservation(
          Seen(NodeSubject("n"), "gpu.count", int64_t{8}, Unit::kCount, kNow - TimePoint{})),
      R"({"subject":"node n","fact":"gpu.count","value":8,"unit":"count","observed_at":"1970-01-01T00:00:00Z","origin":"live"})");
}

TEST(Codec, AValueKeepsItsType) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Value& value :
       {Value(int64_t{1}), Value(1.0), Value(true), Value(std::string("1")), Value(-0.0),
        Value(1e300), Value(0.1), Value(5e-324), Value(std::numeric_limits<int64_t>::min()),
        Value(std::numeric_limits<int64_t>::max()), Value(std::numeric_limits<double>::infinity()),
        Value(-std::numeric_limits<double>::infinity())}) {
    const auto back = DecodeObservation(EncodeObservation(Seen(NodeSubject("n"), "f", value)));
    ASSERT_TRUE(back.ok()) << back.error().ToString();
    EXPECT_EQ(*back->value(), value) << EncodeObservation(*back);
  }
  const auto back = DecodeObservation(EncodeObservation(Seen(NodeSubject("n"), "f", nan)));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(std::isnan(std::get<double>(*back->value())));
}

TEST(Codec, TheUnobservedKeepsItsReason) {
  const Observation o =
      Missing(SiteSubject("s"), "f", UnknownReason::kNotPermitted, "permission denied");
  const auto back = DecodeObservation(EncodeObservation(o));
  ASSERT_TRUE(back.ok());
  ExpectSame(*back, o);
}

TEST(Codec, BytesThatAreNoTextBecomeReplacementCharacters) {
  Observation o = Full();
  o.excerpt = "a\xff\xc0\x80\xed\xa0\x80z\x01\x7f";
  const auto back = DecodeObservation(EncodeObservation(o));
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  EXPECT_EQ(back->excerpt, "a\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDz\x01\x7f");
}

TEST(Codec, SharedSourcesAreWrittenOnceAndSharedAgain) {
  Observations many(5, Full());
  many.push_back(Missing(SiteSubject("s"), "f", UnknownReason::kStale));
  const std::string text = EncodeObservations(many);
  EXPECT_EQ(text.find("nvidia-smi -q -x"), text.rfind("nvidia-smi -q -x"));
  const auto back = DecodeObservations(text);
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  ASSERT_EQ(back->size(), many.size());
  for (size_t i = 0; i < many.size(); ++i) ExpectSame((*back)[i], many[i]);
  EXPECT_EQ((*back)[0].source, (*back)[4].source);
  EXPECT_EQ(EncodeObservations(*back), text);
  EXPECT_TRUE(DecodeObservations(EncodeObservations({})).value().empty());
}

Verdict Sample() {
  Verdict v;
  v.code = "FAB-012";
  v.gate = 2;
  v.subject = LinkSubject("leaf00/5", "spine00/1");
  v.level = Level::kUnknown;
  v.reason = UnknownReason::kTooFewSamples;
  v.measured = "-";
  v.wanted = "= 4";
  v.text = "why";
  v.evidence = {3, 5};
  v.origin = Origin::kReplayed;
  return v;
}

TEST(Codec, AVerdictReadsBack) {
  const auto back = DecodeVerdict(EncodeVerdict(Sample()));
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  EXPECT_EQ(EncodeVerdict(*back), EncodeVerdict(Sample()));
  EXPECT_EQ(back->evidence, Sample().evidence);
  EXPECT_EQ(back->reason, Sample().reason);
  const std::vector<Verdict> two = {Sample(), Sample()};
  EXPECT_EQ(DecodeVerdicts(EncodeVerdicts(two)).value().size(), 2u);
  EXPECT_TRUE(DecodeVerdicts(EncodeVerdicts({})).value().empty());
}

Criterion FullCriterion() {
  Criterion c = testing::MakeCriterion("port.symbol_errors", SubjectKind::kPort, Compare::kAtMost,
                                       {0.0, std::string("x"), true}, Unit::kPerHour);
  c.measure = Measure::kRatePerHour;
  c.warn = Threshold{{}, Unit::kPerHour, "symbol_rate"};
  c.fresh_for = std::chrono::nanoseconds(123456789123);
  c.min_samples = 2;
  c.applies_when = {"infiniband", "!roce"};
  c.otherwise = "no fabric";
  c.advisory = true;
  c.when_observed = true;
  c.unknown_values = {"N/A"};
  c.miss_is = UnknownReason::kStale;
  c.saturates_at = 65535;
  c.why = "w";
  c.measured_by = "m";
  c.source = "s";
  c.fix = "f";
  c.next = "n";
  c.runbook = "R10";
  c.owner = "o";
  c.since = "0.1.0";
  c.rank = 7;
  return c;
}

TEST(Codec, ACriterionReadsBackWithEveryField) {
  for (const Criterion& c : {FullCriterion(), Criterion{}}) {
    const std::string text = EncodeCriterion(c);
    const auto back = DecodeCriterion(text);
    ASSERT_TRUE(back.ok()) << back.error().ToString();
    EXPECT_EQ(EncodeCriterion(*back), text);
  }
  const auto back = DecodeCriterion(EncodeCriterion(FullCriterion()));
  EXPECT_EQ(back->fresh_for, FullCriterion().fresh_for);
  EXPECT_EQ(back->warn->expect, "symbol_rate");
  EXPECT_EQ(back->miss_is, UnknownReason::kStale);
  EXPECT_TRUE(back->when_observed && back->advisory);
}

TEST(Codec, WhatIsMissingOrOfAnotherTypeIsRefusedByName) {
  const std::string good = EncodeObservation(Full());
  const auto broken = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const auto back = DecodeObservation(text);
    return back.ok() ? std::string() : back.error().message;
  };
  EXPECT_THAT(broken("\"fact\":\"gpu.model\",", ""), HasSubstr("\"fact\""));
  EXPECT_THAT(broken("\"gpu.model\"", "7"), HasSubstr("\"fact\""));
  EXPECT_THAT(broken("gpu node-07/gpu3", "gpu"), HasSubstr("\"subject\""));
  EXPECT_THAT(broken("gpu node-07/gpu3", "gppu node-07/gpu3"), HasSubstr("unknown subject kind"));
  EXPECT_THAT(broken("\"value\"", "\"valeu\""), HasSubstr("\"value\""));
  EXPECT_THAT(broken("rehearsed", "real"), HasSubstr("origin"));
  EXPECT_THAT(broken("T23:", "T99:"), HasSubstr("T99"));
  EXPECT_THAT(broken("\"exit_code\":0", "\"exit_code\":0.5"), HasSubstr("exit_code"));
  EXPECT_FALSE(DecodeObservation("{}").ok());
  EXPECT_FALSE(DecodeObservation("").ok());
  EXPECT_FALSE(DecodeObservation(std::string(100000, '[')).ok());
  EXPECT_FALSE(DecodeObservations(R"({"sources":[],"observations":[{"source":0}]})").ok());
  EXPECT_FALSE(DecodeVerdict("[]").ok());
}

TEST(Codec, UnknownKeysAreLetPass) {
  std::string text = EncodeVerdict(Sample());
  text.insert(1, "\"later\":{\"a\":[1]},");
  EXPECT_TRUE(DecodeVerdict(text).ok());
}

// Damage: a text cut anywhere is refused, never read as something shorter.
TEST(Codec, ACutTextIsRefused) {
  const std::string whole[] = {EncodeObservation(Full()), EncodeVerdict(Sample()),
                               EncodeCriterion(FullCriterion())};
  for (const std::string& text : whole) {
    for (size_t n = 0; n < text.size(); ++n) {
      const std::string_view cut = std::string_view(text).substr(0, n);
      EXPECT_FALSE(DecodeObservation(cut).ok());
      EXPECT_FALSE(DecodeVerdict(cut).ok());
      EXPECT_FALSE(DecodeCriterion(cut).ok());
    }
  }
}

TEST(CodecLaws, DecodeUndoesEncode) {
  EXPECT_TRUE(rc::check("decode(encode(x)) is x", [] {
    Observation o;
    o.subject = {static_cast<SubjectKind>(*rc::gen::inRange(0, 16)),
                 *rc::gen::container<std::string>(rc::gen::inRange<char>(32, 127))};
    o.fact = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
    o.unit = static_cast<Unit>(*rc::gen::inRange(0, 14));
    o.observed_at = TimePoint(Duration(
        *rc::gen::inRange<int64_t>(-8'500'000'000'000'000'000, 7'200'000'000'000'000'000)));
    o.origin = static_cast<Origin>(*rc::gen::inRange(0, 3));
    switch (*rc::gen::inRange(0, 5)) {
      case 0:
        o.seen = Value(*rc::gen::arbitrary<bool>());
        break;
      case 1:
        o.seen = Value(*rc::gen::arbitrary<int64_t>());
        break;
      case 2:
        o.seen = Value(*rc::gen::arbitrary<double>());
        break;
      case 3:
        o.seen = Value(*rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127)));
        break;
      default:
        o.seen = Unobserved{static_cast<UnknownReason>(*rc::gen::inRange(0, 7)),
                            *rc::gen::string<std::string>().as("detail")};
    }
    if (auto* missing = std::get_if<Unobserved>(&o.seen))
      missing->detail = Printable(missing->detail);
    const std::string text = EncodeObservation(o);
    const auto back = DecodeObservation(text);
    RC_ASSERT(back.ok());
    RC_ASSERT(back->seen == o.seen);
    RC_ASSERT(back->subject == o.subject);
    RC_ASSERT(back->observed_at == o.observed_at);
    RC_ASSERT(EncodeObservation(*back) == text);
  }));
}

TEST(CodecLaws, AnyBytesInATextGiveReadableJson) {
  EXPECT_TRUE(rc::check("encode never breaks the document", [] {
    Observation o = Seen(NodeSubject("n"), "f", std::string(*rc::gen::string<std::string>()));
    const std::string once = EncodeObservation(o);
    const auto back = DecodeObservation(once);
    RC_ASSERT(back.ok());
    RC_ASSERT(EncodeObservation(*back) == once);
  }));
}

}  // namespace
}  // namespace muster
