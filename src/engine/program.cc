#include "engine/program.h"

#include <algorithm>

namespace muster::engine {

namespace {

constexpr Duration kReturnWait = std::chrono::minutes(2);

ProgramStep FromSpec(const StepSpec& spec, const PlannedStep& planned) {
  ProgramStep step;
  step.id = spec.id;
  step.action = planned.action;
  step.before = spec.before;
  step.verify = spec.verify;
  step.timeout = spec.timeout;
  step.on_timeout = spec.on_timeout;
  step.attempts = spec.attempts;
  step.approval = spec.approval;
  step.rung = spec.rung;
  step.skipped = planned.skipped;
  return step;
}

ProgramStep Return(const PlannedTarget& target) {
  ProgramStep step;
  step.id = "return";
  step.action = {ActKind::kReturn, NodeSubject(target.node), {}};
  step.timeout = kReturnWait;
  step.attempts = 3;
  return step;
}

void AddUndo(Program& program, const Plan& plan, const PlannedTarget& target,
             const TargetState& state) {
  for (auto it = state.done.rbegin(); it != state.done.rend(); ++it) {
    const PlannedStep& planned = target.steps[*it];
    if (!planned.undo) continue;
    const StepSpec& spec = plan.runbook.steps[planned.spec];
    ProgramStep step;
    step.id = "undo-" + spec.id;
    step.action = *planned.undo;
    step.timeout = spec.timeout;
    step.attempts = spec.attempts;
    program.push_back(std::move(step));
  }
}

void AddSpec(Program& program, const Plan& plan, const PlannedTarget& target,
             const TargetState& state) {
  const RollbackSpec& rollback = plan.runbook.rollback;
  if (rollback.how == RollbackSpec::How::kAct && target.rollback) {
    program.push_back(FromSpec(rollback.step, *target.rollback));
    program.back().proof = true;
  }
  if (rollback.how == RollbackSpec::How::kUndo) {
    AddUndo(program, plan, target, state);
    ProgramStep proof;
    proof.id = "undone";
    proof.action = {ActKind::kObserve, target.on, {}};
    proof.verify = rollback.verify;
    proof.proof = true;
    program.push_back(std::move(proof));
  }
  // What was stopped is started again, also on a node that stays out.
  if (rollback.how == RollbackSpec::How::kStay) AddUndo(program, plan, target, state);
}

}  // namespace

Program ProgramOf(const Plan& plan, const PlannedTarget& target, const TargetState& state) {
  Program program;
  if (state.way == Way::kNone) {
    for (const PlannedStep& planned : target.steps)
      program.push_back(FromSpec(plan.runbook.steps[planned.spec], planned));
    if (program.size() >= 2 && program.back().action.kind == ActKind::kReturn)
      program[program.size() - 2].proof = true;
    return program;
  }
  if (state.way == Way::kSpec) AddSpec(program, plan, target, state);
  const bool back = state.way == Way::kRelease || plan.runbook.rollback.then_return;
  if (state.held && back) program.push_back(Return(target));
  return program;
}

}  // namespace muster::engine
