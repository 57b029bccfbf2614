// What a target is led through: the runbook's steps, or those of the way back. Worked out from the
// plan and from where the target stands, the same each time.
#pragma once

#include <string>
#include <vector>

#include "engine/run_state.h"
#include "plan/plan.h"

namespace muster::engine {

struct ProgramStep {
  std::string id;
  Action action;
  std::vector<Check> before, verify;
  Duration timeout{};
  OnTimeout on_timeout = OnTimeout::kFail;
  int attempts = 1;
  bool approval = false;
  bool proof = false;  // its verify is what a return needs
  Rung rung = Rung::kNone;
  std::string skipped;
  bool effect() const { return TraitsOf(action.kind).effect; }
};
using Program = std::vector<ProgramStep>;

// Why a target is released although nothing failed.
inline constexpr std::string_view kNoLongerStands = "the trigger no longer stands";

Program ProgramOf(const Plan& plan, const PlannedTarget& target, const TargetState& state);

}  // namespace muster::engine
