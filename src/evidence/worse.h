// FAIL over UNKNOWN over WARN over PASS: the one order of verdicts, for everything that sums up.
#pragma once

#include "evidence/verdict.h"

namespace muster {

// The worse of two levels. What is not applicable weighs nothing.
inline Level Worse(Level a, Level b) {
  if (a == Level::kNotApplicable) return b;
  if (b == Level::kNotApplicable) return a;
  return a < b ? b : a;
}

}  // namespace muster
