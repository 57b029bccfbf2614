// From facts to ranked causes: which causes the facts are signs of, which of them follow from
// another, and what stands first. The first in time and the most specific wins; a consequence never
// stands before its cause. Pure.
#pragma once

#include <string>
#include <vector>

#include "diagnose/knowledge.h"
#include "diagnose/reader.h"

namespace muster::diagnose {

struct EvidenceLine {
  Place at;
  std::string text;
  size_t count = 1;
};

struct Finding {
  const Cause* cause = nullptr;
  std::string title, on;               // filled in from the facts
  double confidence = 0;               // 0..1
  std::vector<EvidenceLine> evidence;  // at most kMostEvidence, in the order of the input
  std::vector<NearLine> beside;        // near these, and no rule knows them: at most kMostBeside
  std::vector<std::string> against;
  std::string next;          // with the names filled in
  std::string explained_by;  // id of the cause it follows from; "" = it stands for itself
  std::optional<TimePoint> first;
  size_t order = 0;
};
inline constexpr size_t kMostEvidence = 6, kMostBeside = 2;
inline constexpr size_t kMostFindings = 64;

enum class Outcome {
  kNothing,  // what was given is whole as far as can be seen, and nothing in it is wrong
  kFinding,
  kNotEnough  // nothing found, and what was given does not prove that nothing is wrong
};

struct Diagnosis {
  Outcome outcome = Outcome::kNotEnough;
  std::string summary;             // what happened, in one line
  std::vector<Finding> findings;   // causes first, then what they explain; questions too
  std::vector<std::string> bring;  // what else would let it be judged
};

// O(causes x facts of their signs + findings^3), with findings at most kMostFindings.
Diagnosis Judge(const Knowledge& knowledge, const Evidence& evidence);

}  // namespace muster::diagnose
