// The first half of finding suspects: each verdict that does not pass is laid at the door of one
// subject, the smallest whole that is bad as a whole. suspects.cc then tells causes from symptoms.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "evidence/places.h"
#include "evidence/suspects.h"

namespace muster {

// FAIL first, then UNKNOWN, then WARN.
int Urgency(Level level);

// What is wrong with one subject. Borrows from the verdicts.
struct SuspectGroup {
  Subject subject;
  Level level = Level::kWarn;
  int rank = 1000;
  bool collapsed = false;  // its parts were found bad, not it
  size_t parts = 0, parts_bad = 0;
  const Verdict* lead = nullptr;
  std::set<std::string> codes;
  std::vector<std::string> explained;
  size_t verdicts = 0;
};

// The rules of FindSuspects() up to "a subject that a better one explains".
// O(verdicts x log(verdicts)).
std::map<Subject, SuspectGroup> GroupVerdicts(std::span<const Verdict> verdicts,
                                              const SuspectRules& rules, const PortLinks& links);

}  // namespace muster
