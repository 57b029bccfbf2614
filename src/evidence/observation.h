// An Observation is one thing that was seen: subject, fact, value with unit, when, from where, and
// the raw text behind it. What could NOT be seen is an Observation too, with the reason; so silence
// never looks like health.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/time.h"
#include "base/unit.h"
#include "model/subject.h"

namespace muster {

// Where an observation comes from, kept to the end: a rehearsed result never turns into a live one.
enum class Origin { kLive, kReplayed, kRehearsed };
std::string_view ToString(Origin origin);
Result<Origin> ParseOrigin(std::string_view text);

// Why something is not known. Every UNKNOWN verdict carries one of these.
enum class UnknownReason {
  kNotObserved,    // nothing reported it: missing key, empty vector, skipped sub-test
  kStale,          // seen, but too long ago
  kUnparsable,     // the text was not what the tool prints, or was truncated
  kTooFewSamples,  // a rate needs two samples, a percentile needs many
  kNotPermitted,   // the tool said no
  kToolFault,      // the tool hung, crashed or is not there
  kUnreachable,    // the host did not answer
};
std::string_view ToString(UnknownReason reason);  // "not observed", "stale", ...
Result<UnknownReason> ParseUnknownReason(std::string_view text);

struct Unobserved {
  UnknownReason reason = UnknownReason::kNotObserved;
  std::string detail;
  bool operator==(const Unobserved&) const = default;
};

using Value = std::variant<bool, int64_t, double, std::string>;
// For a person: "yes", "7", "371.2 GB/s", the text itself (made printable, at most 80 bytes).
std::string FormatValue(const Value& value, Unit unit);

// The command, query or file that was read: shared by all observations that came out of it.
struct Source {
  std::string probe;  // "infiniband.iblinkinfo"
  std::string host;
  std::string command;  // as a person would type it, or "GET url", or "read path"
  int exit_code = 0;
  std::string raw_sha256;  // of what it printed; the bundle keeps the text under this name
  std::string tool_version;
  bool operator==(const Source&) const = default;
};

struct Observation {
  Subject subject;
  std::string fact;  // a name in catalogue/facts.yaml
  std::variant<Value, Unobserved> seen;
  Unit unit = Unit::kNone;
  TimePoint observed_at;
  std::shared_ptr<const Source> source;
  std::string excerpt;  // the line that says it, at most 200 bytes
  Origin origin = Origin::kLive;

  const Value* value() const { return std::get_if<Value>(&seen); }
  const Unobserved* unobserved() const { return std::get_if<Unobserved>(&seen); }
};
using Observations = std::vector<Observation>;

}  // namespace muster
