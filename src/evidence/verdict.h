// A Verdict is what a criterion says of one subject, with the evidence. UNKNOWN has a reason and
// never passes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "evidence/criterion.h"
#include "evidence/observation.h"

namespace muster {

enum class Level { kPass, kWarn, kUnknown, kFail, kNotApplicable };
std::string_view ToString(Level level);  // "pass", "warn", "unknown", "fail", "not_applicable"
Result<Level> ParseLevel(std::string_view text);

struct Verdict {
  std::string code;
  int gate = 0;
  Subject subject;
  Level level = Level::kUnknown;
  std::optional<UnknownReason> reason;  // of kUnknown
  std::string measured;                 // "4X 106.25", "7", "-"
  std::string wanted;                   // ">= 368 GB/s"
  std::string text;                     // one sentence for a person
  std::vector<size_t>
      evidence;  // indexes into the observations judged; never empty except unknown / n.a.
  Origin origin = Origin::kLive;  // the least real of the evidence
};

// Observations by (subject, fact): what was seen, oldest first, and apart from it what could not be
// seen. Borrowing: the observations must outlive it. Cheap to copy; may be read by several threads
// at once.
class ObservationIndex {
 public:
  explicit ObservationIndex(std::span<const Observation> observations);
  const Observation& at(size_t i) const;
  // What was seen of the subject, oldest first; those without a value are not among them.
  std::span<const size_t> Find(const Subject& subject, std::string_view fact) const;
  // Why the fact is not known for the subject: its own Unobserved, or that of its host, or that of
  // a place which speaks for the whole site (the hosts "fabric", "monitor" and "facility", the
  // site, the fabric). The newest of the nearest.
  std::optional<size_t> WhyNot(const Subject& subject, std::string_view fact) const;
  // The Unobserved that takes back a value seen at `seen_at`: one of this very subject and not
  // older, or one of its host or of such a place that is younger and says more than "not mentioned"
  // (a hang, a refusal, damage).
  std::optional<size_t> TakenBack(const Subject& subject, std::string_view fact,
                                  TimePoint seen_at) const;
  // All indexes of a fact that were seen, any subject, in the order of the observations.
  std::span<const size_t> OfFact(std::string_view fact) const;

  // The subjects of this kind of which anything was said about the fact, also that it is not known;
  // sorted.
  std::vector<Subject> SubjectsWith(SubjectKind kind, std::string_view fact) const;

  // What the fleet says of a fact: the newest value of each subject of the kind, counted. Made
  // once, then kept.
  struct Census {
    size_t subjects = 0;
    size_t distinct = 0;
    std::optional<size_t> usual;  // an observation that has the value of more subjects than any
                                  // other; nothing on a tie
  };
  const Census& CensusOf(SubjectKind kind, std::string_view fact,
                         std::span<const std::string> leave_out) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

// What the site expects of a subject, by name ("gpu_model", "link_rate"); nothing = the site does
// not say.
using Expectation = std::function<std::optional<Value>(const Subject&, std::string_view name)>;

// Judges one subject. Pure: the same arguments give the same verdict, whatever the order of the
// observations. UNKNOWN, with its reason, when there is no value, too few samples, the newest is
// older than fresh_for or lies in the future (kStale), a counter was reset or is saturated, a
// value's unit or type is not the threshold's (kUnparsable: the figure cannot be read as what it is
// held to), the tool says that it does not know (unknown_values), or the site does not say what to
// expect (kNotObserved). Among the samples of one moment the worst counts. kAllEqual holds a
// subject to the value most of its kind have; without a majority all of them miss. A value that
// misses is not made better by a later Unobserved; one that passes becomes UNKNOWN.
Verdict Judge(const Criterion& criterion, const Subject& subject, const ObservationIndex& index,
              const Expectation& expect, TimePoint now);

// How far in the future an observation may lie (clock steps between reading and judging) before it
// is not believed.
inline constexpr Duration kFutureSkew = std::chrono::seconds(5);

// The verdict of a set: FAIL over UNKNOWN over WARN over PASS; not_applicable ones do not count;
// nothing judged is UNKNOWN.
Level Combine(std::span<const Verdict> verdicts);

}  // namespace muster
