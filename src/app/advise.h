// From a failure or a workload, in a person's own words, to the control that answers it (P9): data
// in catalogue/advice.yaml, matched by words, the control that acts earliest first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

struct Advice {
  std::string id, situation, control, why, does_not, validate, next, source;
  std::vector<std::string> words;
  int acts = 0;        // 1 earliest to 7: when the control takes effect
  size_t matches = 0;  // of the asked words
};

// "2 admission"
std::string_view ActsWhen(int acts);

// kInvalid with file, line and column for a mistake of the data.
Result<std::vector<Advice>> ParseAdvice(std::string_view text, const std::string& name);
Result<std::vector<Advice>> EmbeddedAdvice();

// The entries that fit best, the earliest control first; all of them, in that order, when nothing
// is asked; none when no word is known.
std::vector<Advice> Advise(const std::vector<Advice>& all, std::string_view asked);

}  // namespace muster
