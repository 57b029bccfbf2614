// A Criterion is data: which fact of which subjects is compared with what, how fresh and how often
// it must have been seen, where it applies, and who says so. It is read from catalogue/ and
// interpreted by Judge; it holds no code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "evidence/observation.h"

namespace muster {

// How the samples of one (subject, fact) become one figure.
enum class Measure {
  kLast,   // the newest sample
  kDelta,  // newest minus oldest, for counters; needs two samples; a counter that went back is
           // unknown
  kRatePerHour,  // delta over the time between them
  kMax,
  kMin,
  kMedian,
  kAllEqual,  // every sample of the fact over ALL subjects of the kind is the same value (fleet
              // homogeneity)
};
std::string_view ToString(
    Measure measure);  // "last", "delta", "rate_per_hour", "max", "min", "median", "all_equal"
Result<Measure> ParseMeasure(std::string_view text);

enum class Compare {
  kEqual,
  kNotEqual,
  kAtLeast,
  kAtMost,
  kGreater,
  kLess,
  kIn,
  kNotIn,
  kContains,
  kTrue,
  kFalse
};
std::string_view ToString(Compare compare);  // "equal", "not_equal", "at_least", ...
Result<Compare> ParseCompare(std::string_view text);

// A threshold is a literal, or a name that the site answers ("expect: gpus_per_node", per subject).
struct Threshold {
  std::vector<Value> values;  // one, or several for kIn / kNotIn
  Unit unit = Unit::kNone;
  std::string expect;  // not empty: ask the site's expectation of this name for the subject
};

struct Criterion {
  std::string code;  // "FAB-012", stable, never reused
  int gate = 0;
  std::string title;  // "every link runs at its rated width"
  SubjectKind subject = SubjectKind::kNode;
  std::string fact;
  Measure measure = Measure::kLast;
  Compare compare = Compare::kEqual;
  Threshold pass;
  std::optional<Threshold> warn;  // worse than pass but within this: WARN
  Duration fresh_for = std::chrono::minutes(15);
  int min_samples = 1;
  std::vector<std::string> applies_when;  // site features, all needed; "!x" = must be absent
  std::string otherwise;                  // why it does not apply elsewhere, shown with n/a
  bool advisory = false;                  // a miss is WARN, never FAIL; not knowing stays UNKNOWN
  bool when_observed =
      false;  // a localising measurement: only subjects of which something was said are judged
  std::vector<std::string>
      unknown_values;  // texts by which a tool says that it does not know: "Skip", "N/A"
  std::optional<UnknownReason> miss_is;  // a miss says that too little was seen, not that something
                                         // is ill: UNKNOWN for this reason
  std::optional<int64_t>
      saturates_at;  // the value at which a counter of this width sticks (15, 255, 65535)
  std::string why, measured_by, source, fix, next, runbook, owner, since;
  int rank = 50;  // suspects of a lower rank are named first (a cause before its symptoms)
};

}  // namespace muster
