// A Verdict is what a criterion says of one subject, with the evidence. UNKNOWN has a reason and never passes.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
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
  std::vector<size_t> evidence;         // indexes into the observations judged; never empty except unknown / n.a.
  Origin origin = Origin::kLive;        // the least real of the evidence
};

// Observations by (subject, fact), oldest first, and the unobserved ones by (host, fact). Borrowing: the observations must outlive it.
class ObservationIndex {
 public:
  explicit ObservationIndex(std::span<const Observation> observations);
  const Observation& at(size_t i) const { return all_[i]; }
  std::span<const size_t> Find(const Subject& subject, std::string_view fact) const;
  // Why the fact is not known for the subject: its own Unobserved, or that of its host, or that of the whole fact.
  std::optional<size_t> WhyNot(const Subject& subject, std::string_view fact) const;
  // All indexes of a fact, any subject.
  std::span<const size_t> OfFact(std::string_view fact) const;

 private:
  std::span<const Observation> all_;
  std::unordered_map<std::string, std::vector<size_t>> by_subject_, by_fact_, missing_;
};

// What the site expects of a subject, by name ("gpu_model", "link_rate"); nothing = the site does not say.
using Expectation = std::function<std::optional<Value>(const Subject&, std::string_view name)>;

// Judges one subject. Pure: the same arguments give the same verdict.
Verdict Judge(const Criterion& criterion, const Subject& subject, const ObservationIndex& index, const Expectation& expect,
              TimePoint now);

// The verdict of a set: FAIL over UNKNOWN over WARN over PASS; not_applicable ones do not count; nothing judged is UNKNOWN.
Level Combine(std::span<const Verdict> verdicts);

}  // namespace muster
