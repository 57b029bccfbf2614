// One target, one thing at a time: the state machine of a step. What follows its order stands in
// engine_look.cc.
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "engine/step_words.h"

namespace muster::engine {

Engine::Acted Engine::Later(int index, std::string why) {
  live_[static_cast<size_t>(index)].not_before = now_ + options_.poll;
  wake_ = std::min(wake_, now_ + options_.poll);
  blocked_ = std::move(why);
  return Did2::kWaiting;
}

Engine::Acted Engine::AdvanceTarget(int index) {
  TargetState& state = state_.targets[static_cast<size_t>(index)];
  Live& live = live_[static_cast<size_t>(index)];
  const PlannedTarget& target = plan_.targets[static_cast<size_t>(index)];
  if (state.stage == TargetState::Stage::kEnded) {
    // Only now: the last restoration is confirmed. A node that stays out keeps its lock.
    if (!state.locked || state.held) return Did2::kWaiting;
    const Status released = ports_.locks.Release(options_.run, target.node);
    if (!released.ok()) return Fail(released.error());
    TRY_VOID(Write(For(EntryType::kUnlocked, index), Log::Need::kClosing));
    return Did2::kWorked;
  }
  if (!live.fenced) {
    // It has them; a new fence shuts out whatever worked on it before.
    TRY(const uint64_t fence,
        ports_.locks.Take(options_.run, target.node, {{"node/" + target.node, 1}}));
    Entry again = For(EntryType::kStarted, index);
    again.fence = fence;
    TRY_VOID(Write(std::move(again), Log::Need::kDurable));
    live.fenced = true;
    return Did2::kWorked;
  }
  if (now_ < live.not_before) {
    wake_ = std::min(wake_, live.not_before);
    return Did2::kWaiting;
  }
  if (state.stage == TargetState::Stage::kChecking) return Check(index);
  Program& program = ProgramFor(index);
  if (static_cast<size_t>(state.cursor) >= program.size()) return EndOfProgram(index);
  ProgramStep& step = program[static_cast<size_t>(state.cursor)];
  if (state.open) return Observe(index, step);
  if (state.last == Outcome::kUnknown && (state.last_destructive || NeedsKnowing(step.action)))
    return End_(index, End::kInDoubt,
                fmt::format("step {}: nobody can say whether it happened", step.id));
  if (Done(state.last)) {
    if (state.verify_failed) return Failed(index, &step, "it is not proven");
    return Verify(index, step);
  }
  if (state.verify_failed) return Failed(index, &step, "it is not proven");
  const bool retry = state.last == Outcome::kFailedSafe && state.attempts < step.attempts;
  if (state.last != Outcome::kNone && !retry)
    return Failed(index, &step, std::string(ToString(state.last)));
  return BeginStep(index, step);
}

Engine::Acted Engine::BeginStep(int index, ProgramStep& step) {
  TargetState& state = state_.targets[static_cast<size_t>(index)];
  if (state_.rollback_asked && state.way == Way::kNone)
    return WayBack(index, "a person asked for the way back");
  if (state_.paused) {
    blocked_ = "paused";
    return Did2::kBlocked;
  }
  if (!step.skipped.empty()) {
    Entry skipped = For(EntryType::kSkipped, index);
    skipped.step = step.id;
    skipped.detail = step.skipped;
    skipped.cursor = state.cursor + 1;
    TRY_VOID(Write(std::move(skipped), Log::Need::kLater));
    Moved(index);
    return Did2::kWorked;
  }
  if (!step.effect()) return WithoutEffect(index, step);
  if (step.action.kind == ActKind::kReturn) {
    if (state.way == Way::kSpec && state.round + 1 < plan_.runbook.rounds) {
      TRY_VOID(Write(For(EntryType::kRound, index), Log::Need::kDurable));
      live_[static_cast<size_t>(index)].program_made = false;
      Moved(index);
      return Did2::kWorked;
    }
    if (state.touched && !state.proven)
      return End_(index, End::kNeedsPerson, "nothing proves that the node is well: it stays out");
  }
  if (step.rung != Rung::kNone) {
    const RungBudget& budget = plan_.runbook.budget;
    const auto most = budget.most.find(step.rung);
    TRY(int used, ports_.history.Attempts(plan_.targets[static_cast<size_t>(index)].on, step.rung,
                                          now_ - budget.per));
    used += static_cast<int>(std::count(state.rungs.begin(), state.rungs.end(), step.rung));
    if (most != budget.most.end() && used >= most->second && state.last == Outcome::kNone)
      return Failed(index, &step,
                    fmt::format("{} of {} attempts of rung {} are used in {}", used, most->second,
                                ToString(step.rung), FormatDuration(budget.per)));
  }
  if (state.asked) {
    if (!state_.Approved(step.id, now_, state.asked_at)) {
      // Nobody answered, and the work has ended by itself: there is nothing to force any more.
      Order order;
      order.action = step.action;
      order.run = options_.run;
      const ProbeResult probe = ports_.actuator.Probe(order);
      if (probe.happened == Happened::kYes && step.action.kind == ActKind::kDrain)
        return Outcome_(index, step, Outcome::kAlready, probe.detail);
      blocked_ = fmt::format(
          "step {} of {}: the wait is over and {}; a person must say whether to force it (approve) "
          "or not (rollback)",
          step.id, plan_.targets[static_cast<size_t>(index)].on.id, probe.detail);
      return Did2::kBlocked;
    }
    step.action.params["force"] = "true";
  } else if (step.approval && !state_.Approved(step.id, now_)) {
    blocked_ = fmt::format("step {} of {} needs approval", step.id,
                           plan_.targets[static_cast<size_t>(index)].on.id);
    return Did2::kBlocked;
  }
  return Intend(index, step);
}

// Looking, keeping, telling: nothing in the cluster changes, so it may be done again after a crash.
Engine::Acted Engine::WithoutEffect(int index, const ProgramStep& step) {
  if (step.action.kind == ActKind::kObserve) return Verify(index, step);
  const Looked kept = ports_.looker.Keep(step.action, ValuesOf(index));
  Entry entry = For(EntryType::kOutcome, index);
  entry.step = step.id;
  entry.act = step.action.kind;
  entry.outcome = Outcome::kDone;
  entry.detail = kept.text;
  entry.evidence = kept.evidence;
  if (step.verify.empty()) entry.cursor = state_.targets[static_cast<size_t>(index)].cursor + 1;
  TRY_VOID(Write(std::move(entry), Log::Need::kLater));
  Moved(index);
  return Did2::kWorked;
}

Result<std::string> Engine::TakenBy(int index) {
  TRY(const Hold hold, ports_.actuator.ReadHold(plan_.targets[static_cast<size_t>(index)].node));
  if (hold.lease && hold.lease->run == options_.run) return std::string();
  if (hold.lease) return hold.lease->owner + " holds it now: " + hold.lease->reason;
  return std::string(hold.schedulable ? "somebody returned it to work"
                                      : "somebody took it: " + hold.note);
}

Result<std::string> Engine::Hindered(int index, const ProgramStep& step) {
  for (const muster::Check& check : step.before) {
    const Looked looked = Judge_(check, index);
    if (looked.level != Level::kPass)
      return fmt::format("before {}: {} ({})", step.id, ToString(looked.level), looked.text);
  }
  return std::string();
}

Engine::Acted Engine::Intend(int index, const ProgramStep& step) {
  TargetState& state = state_.targets[static_cast<size_t>(index)];
  Live& live = live_[static_cast<size_t>(index)];
  const bool destructive = step.action.Destructive();
  if (destructive && !state.touched && state.way == Way::kNone && !live.trigger_checked)
    return TriggerStands(index);
  for (const muster::Check& check : step.before) {
    if (Unanswered(check, index, {})) return Did2::kBlocked;
  }
  TRY(const std::string hindered, Hindered(index, step));
  if (!hindered.empty()) return Failed(index, &step, hindered);
  if (state.held && options_.sabotage != Sabotage::kNoOwnership) {
    const auto taken = TakenBy(index);
    if (!taken.ok()) {
      if (++live.unknown_looks >= kMostLooks)
        return Failed(index, &step,
                      "who holds the node cannot be read: " + taken.error().ToString());
      return Later(index, "who holds the node cannot be read");
    }
    if (!taken->empty()) return End_(index, End::kTakenOver, *taken);
  }
  Entry intent = For(EntryType::kIntent, index);
  const auto before = ports_.actuator.Before(step.action);
  if (!before.ok()) {
    if (++live.unknown_looks >= kMostLooks)
      return Failed(index, &step,
                    "the state before it cannot be read: " + before.error().ToString());
    return Later(index, "the state before it cannot be read");
  }
  intent.before = *before;
  intent.lease = state.lease;
  if (step.action.kind == ActKind::kCordon) {
    const auto hold = ports_.actuator.ReadHold(step.action.on.id);
    if (!hold.ok()) return Later(index, "the node's scheduler does not answer");
    const bool ours = hold->lease && hold->lease->run == options_.run;
    if (!hold->schedulable && !ours)
      return Failed(index, &step, "somebody else cordoned it meanwhile");
    intent.lease = ours ? *hold->lease
                        : Lease{"muster",
                                options_.run,
                                plan_.runbook.id + " " + plan_.runbook.title,
                                true,
                                hold->note,
                                now_,
                                now_ + options_.lease_for,
                                state.fence};
  }
  intent.step = step.id;
  intent.act = step.action.kind;
  intent.attempt = state.attempts + 1;
  intent.destructive = destructive;
  intent.effect = step.effect();
  intent.rung = step.rung;
  intent.fence = state.fence;
  // A rung that is climbed goes through the steps after it once more: another order each time.
  intent.token =
      fmt::format("{}/{}/{}.{}/{}{}/{}", options_.run,
                  plan_.targets[static_cast<size_t>(index)].on.id, state.round, state.rungs.size(),
                  state.way == Way::kNone ? "" : "back-", step.id, intent.attempt);
  if (options_.sabotage == Sabotage::kNoIntent) {
    state.open = intent;
    const DidResult did = ports_.actuator.Do(OrderOf(index, step));
    state.open.reset();
    live.sent = true;
    live.did = did.did;
  }
  const bool sent = live.sent;
  const Did did = live.did;
  TRY_VOID(Write(std::move(intent), Log::Need::kDurable));
  live.intended = true;
  live.sent = sent;
  live.did = did;
  live.sent_at = now_;
  live.unknown_looks = 0;
  return Did2::kWorked;
}

Order Engine::OrderOf(int index, const ProgramStep& step) const {
  const TargetState& state = state_.targets[static_cast<size_t>(index)];
  const Entry& open = *state.open;
  Order order;
  order.action = step.action;
  if (open.destructive && step.action.kind == ActKind::kDrain)
    order.action.params["force"] = "true";
  order.run = options_.run;
  order.step = step.id;
  order.token = open.token;
  order.attempt = open.attempt;
  order.fence = state.fence;
  order.lease = state.held || step.action.kind == ActKind::kCordon ? open.lease : Lease{};
  if (options_.sabotage == Sabotage::kNoLease) order.lease = {};
  order.before = open.before;
  order.intended_at = open.at;
  order.timeout = step.timeout;
  return order;
}

Engine::Acted Engine::Climb(int index, int cursor, std::string why) {
  Entry climb = For(EntryType::kSkipped, index);
  climb.step = ProgramFor(index)[static_cast<size_t>(cursor)].id;
  climb.detail = "next rung: " + why;
  climb.cursor = cursor;
  TRY_VOID(Write(std::move(climb), Log::Need::kDurable));
  Moved(index);
  return Did2::kWorked;
}

Engine::Acted Engine::Failed(int index, const ProgramStep* step, std::string why) {
  const TargetState& state = state_.targets[static_cast<size_t>(index)];
  why = fmt::format("step {}: {}", step->id, why);
  if (state.way != Way::kNone) return End_(index, End::kNeedsPerson, "the way back failed: " + why);
  if (!state_.rollback_asked && (step->rung != Rung::kNone || step->proof)) {
    const Program& program = ProgramFor(index);
    Rung top = step->rung;
    for (const Rung rung : state.rungs) top = std::max(top, rung);
    for (size_t i = 0; i < program.size(); ++i) {
      if (program[i].rung > top && program[i].skipped.empty())
        return Climb(index, static_cast<int>(i), why);
    }
  }
  return WayBack(index, why, step->rung != Rung::kNone);
}

Engine::Acted Engine::WayBack(int index, std::string why, bool still_faulty) {
  const TargetState& state = state_.targets[static_cast<size_t>(index)];
  if (!state.held && !state.touched)
    return End_(index, why == kNoLongerStands ? End::kStale : End::kReleased, why);
  Entry entry = For(EntryType::kRollback, index);
  // Untouched it is released, unless a ladder has come to its end: the fault is then known to
  // stand.
  entry.way = state.touched || still_faulty ? Way::kSpec : Way::kRelease;
  entry.detail = std::move(why);
  TRY_VOID(Write(std::move(entry), Log::Need::kDurable));
  live_[static_cast<size_t>(index)].program_made = false;
  Moved(index);
  return Did2::kWorked;
}

Engine::Acted Engine::EndOfProgram(int index) {
  const TargetState& state = state_.targets[static_cast<size_t>(index)];
  const RollbackSpec& rollback = plan_.runbook.rollback;
  if (state.way == Way::kNone) return End_(index, End::kDone, "");
  if (state.way == Way::kRelease)
    return End_(index, state.why == kNoLongerStands ? End::kStale : End::kReleased, "");
  if (!state.held && rollback.how != RollbackSpec::How::kStay && !plan_.runbook.Isolates() &&
      state.round + 1 < plan_.runbook.rounds) {
    TRY_VOID(Write(For(EntryType::kRound, index), Log::Need::kDurable));
    live_[static_cast<size_t>(index)].program_made = false;
    Moved(index);
    return Did2::kWorked;
  }
  const bool stays = state.held || rollback.how == RollbackSpec::How::kStay;
  return End_(index, stays ? End::kParked : End::kRolledBack, "");
}

}  // namespace muster::engine
