// What the parts of the state machine of a step hold alike. Private to engine_*.cc.
#pragma once

#include "engine/engine.h"

namespace muster::engine {

inline constexpr int kMostLooks = 3;  // at something that stays unknown

inline bool Done(Outcome outcome) {
  return outcome == Outcome::kDone || outcome == Outcome::kAlready;
}

// What must not be done when nobody knows whether it was.
inline bool NeedsKnowing(const Action& action) {
  return action.Destructive() || !TraitsOf(action.kind).repeatable;
}

}  // namespace muster::engine
