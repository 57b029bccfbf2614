// Small builders of observations and criteria for tests, so that each test says only what it is
// about.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "evidence/criterion.h"
#include "evidence/observation.h"
#include "evidence/verdict.h"

namespace muster::testing {

// The moment at which tests judge.
inline const TimePoint kNow = TimePoint(std::chrono::hours(24 * 365 * 56));

inline Observation Seen(Subject subject, std::string_view fact, Value value,
                        Unit unit = Unit::kNone, Duration age = std::chrono::seconds(10)) {
  Observation o;
  o.subject = std::move(subject);
  o.fact = fact;
  o.seen = std::move(value);
  o.unit = unit;
  o.observed_at = kNow - age;
  return o;
}

inline Observation Missing(Subject subject, std::string_view fact, UnknownReason reason,
                           std::string_view detail = "", Duration age = std::chrono::seconds(10)) {
  Observation o = Seen(std::move(subject), fact, false, Unit::kNone, age);
  o.seen = Unobserved{reason, std::string(detail)};
  return o;
}

inline Criterion MakeCriterion(std::string_view fact, SubjectKind on, Compare compare,
                               std::vector<Value> pass, Unit unit = Unit::kNone) {
  Criterion c;
  c.code = "NOD-001";
  c.gate = 3;
  c.title = "it is so";
  c.subject = on;
  c.fact = fact;
  c.compare = compare;
  c.pass.values = std::move(pass);
  c.pass.unit = unit;
  return c;
}

inline Verdict JudgeOne(const Criterion& criterion, const Subject& subject,
                        const Observations& seen, const Expectation& expect = nullptr) {
  const ObservationIndex index(seen);
  return Judge(criterion, subject, index, expect, kNow);
}

}  // namespace muster::testing
