// What holds of Judge for whatever it is given, by generated looks at a small fleet. The seed is
// printed.
#include <algorithm>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "evidence/testing/sample.h"
#include "evidence/verdict.h"

namespace muster {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::JudgeOne;
using testing::kNow;
using testing::MakeCriterion;
using testing::Missing;
using testing::Seen;

// A criterion, and the observations that one look at a handful of subjects brings: exactly as many
// samples as it needs.
struct Look {
  Criterion criterion;
  Observations seen;
};

const std::vector<Subject>& Subjects() {
  static const std::vector<Subject> all = {NodeSubject("n0"), NodeSubject("n1"), NodeSubject("n2")};
  return all;
}

rc::Gen<Value> GenValue() {
  return rc::gen::oneOf(
      rc::gen::map(rc::gen::inRange<int64_t>(0, 4), [](int64_t i) { return Value(i); }),
      rc::gen::map(rc::gen::inRange(0, 4), [](int i) { return Value(i / 2.0); }),
      rc::gen::map(rc::gen::arbitrary<bool>(), [](bool b) { return Value(b); }),
      rc::gen::element<Value>(std::string("a"), std::string("b"), std::string("Skip"),
                              std::numeric_limits<double>::quiet_NaN()));
}

rc::Gen<Look> GenLook(bool with_all_equal) {
  return rc::gen::exec([with_all_equal] {
    Look look;
    Criterion& c = look.criterion;
    c = MakeCriterion("f", SubjectKind::kNode, static_cast<Compare>(*rc::gen::inRange(0, 11)), {});
    c.measure = static_cast<Measure>(*rc::gen::inRange(0, with_all_equal ? 7 : 6));
    const auto numeric = *rc::gen::arbitrary<bool>();
    const auto draw = [&] {
      return numeric ? Value(*rc::gen::inRange<int64_t>(0, 4)) : *GenValue();
    };
    c.pass.values = {draw()};
    c.pass.unit = c.measure == Measure::kRatePerHour ? Unit::kPerHour : Unit::kCount;
    if (*rc::gen::arbitrary<bool>()) c.warn = Threshold{{draw()}, c.pass.unit, ""};
    c.advisory = *rc::gen::weightedElement<bool>({{4, false}, {1, true}});
    c.unknown_values = {"Skip"};
    if (*rc::gen::arbitrary<bool>()) c.saturates_at = 3;
    const bool counter = c.measure == Measure::kDelta || c.measure == Measure::kRatePerHour;
    const int samples = counter ? 2 : 1;
    c.min_samples = samples;
    for (const Subject& subject : Subjects()) {
      for (int i = 0; i < samples; ++i) {
        const auto age = seconds(*rc::gen::element(10, 20, 3000, -60) + i);
        if (*rc::gen::weightedElement<bool>({{6, true}, {1, false}})) {
          look.seen.push_back(Seen(subject, "f", draw(), Unit::kCount, age));
        } else {
          look.seen.push_back(
              Missing(subject, "f", static_cast<UnknownReason>(*rc::gen::inRange(0, 7)), "", age));
        }
      }
    }
    return look;
  });
}

TEST(JudgeLaws, NothingPassesWithoutEvidence) {
  EXPECT_TRUE(rc::check("pass has evidence that is seen and fresh", [] {
    const Look look = *GenLook(true);
    for (const Subject& subject : Subjects()) {
      const Verdict v = JudgeOne(look.criterion, subject, look.seen);
      if (v.level != Level::kUnknown) RC_ASSERT(!v.evidence.empty());
      if (v.level == Level::kUnknown) RC_ASSERT(v.reason.has_value());
      if (v.level != Level::kPass) continue;
      for (const size_t i : v.evidence) RC_ASSERT(look.seen[i].value() != nullptr);
    }
  }));
}

TEST(JudgeLaws, TheOrderOfObservationsDoesNotMatter) {
  EXPECT_TRUE(rc::check("same verdict for any order", [] {
    const Look look = *GenLook(true);
    Observations shuffled = look.seen;
    std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(*rc::gen::arbitrary<uint32_t>()));
    for (const Subject& subject : Subjects()) {
      const Verdict a = JudgeOne(look.criterion, subject, look.seen);
      const Verdict b = JudgeOne(look.criterion, subject, shuffled);
      RC_ASSERT(a.level == b.level);
      RC_ASSERT(a.measured == b.measured);
      RC_ASSERT(a.text == b.text);
      RC_ASSERT(a.reason == b.reason);
    }
  }));
}

TEST(JudgeLaws, AnUnobservedNeverImprovesAVerdict) {
  EXPECT_TRUE(rc::check("level only rises", [] {
    const Look look = *GenLook(true);
    Observations more = look.seen;
    const auto who = *rc::gen::element(NodeSubject("n0"), NodeSubject("n1"), NodeSubject("fabric"),
                                       SiteSubject("s"));
    more.push_back(Missing(who, "f", static_cast<UnknownReason>(*rc::gen::inRange(0, 7)), "x",
                           seconds(*rc::gen::element(5, 15, 5000))));
    for (const Subject& subject : Subjects()) {
      const Level before = JudgeOne(look.criterion, subject, look.seen).level;
      RC_ASSERT(JudgeOne(look.criterion, subject, more).level >= before);
    }
  }));
}

// Of kAllEqual it is not so: when the one that differs is not seen any more, the others are alike
// again (it is UNKNOWN itself).
TEST(JudgeLaws, DroppingWhatOneLookSawNeverMakesAPass) {
  EXPECT_TRUE(rc::check("non-pass stays non-pass", [] {
    const Look look = *GenLook(false);
    const auto drop = *rc::gen::inRange<size_t>(0, look.seen.size());
    Observations less = look.seen;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(drop));
    for (const Subject& subject : Subjects()) {
      if (JudgeOne(look.criterion, subject, look.seen).level == Level::kPass) continue;
      RC_ASSERT(JudgeOne(look.criterion, subject, less).level != Level::kPass);
    }
  }));
}

TEST(JudgeLaws, DroppingMembersOfAFleetNeverMakesTheWholePass) {
  EXPECT_TRUE(rc::check("the set of all subjects does not pass", [] {
    Look look = *GenLook(true);
    const auto drop = *rc::gen::inRange<size_t>(0, look.seen.size());
    Observations less = look.seen;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(drop));
    const auto whole = [&](const Observations& seen) {
      std::vector<Verdict> verdicts;
      for (const Subject& subject : Subjects())
        verdicts.push_back(JudgeOne(look.criterion, subject, seen));
      return Combine(verdicts);
    };
    if (whole(look.seen) != Level::kPass) RC_ASSERT(whole(less) != Level::kPass);
  }));
}

TEST(JudgeLaws, TimeOnlyTakesVerdictsAway) {
  EXPECT_TRUE(rc::check("what is stale stays stale", [] {
    const Look look = *GenLook(false);
    const ObservationIndex index(look.seen);
    for (const Subject& subject : Subjects()) {
      const Level now = Judge(look.criterion, subject, index, nullptr, kNow + hours(1)).level;
      RC_ASSERT(now == Level::kUnknown);
    }
  }));
}

}  // namespace
}  // namespace muster
