#include "engine/run_state.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster::engine {

namespace {

constexpr int kMostTargets = 1'000'000;

Status Wrong(const Entry& entry, std::string_view what) {
  return Fail(Code::kCorrupt,
              fmt::format("record \"{}\" of step {}: {}", ToString(entry.type), entry.step, what));
}

// A new step at the cursor.
void MoveTo(TargetState& target, int cursor) {
  target.cursor = cursor;
  target.last = Outcome::kNone;
  target.verify_failed = false;
  target.attempts = 0;
  target.again = 0;
  target.asked = false;
}

bool HoldsOnly(ActKind act) {
  return act == ActKind::kCordon || act == ActKind::kDrain || act == ActKind::kReturn;
}

Status ApplyOutcome(TargetState& target, const Entry& entry) {
  const bool done = entry.outcome == Outcome::kDone || entry.outcome == Outcome::kAlready;
  if (done && entry.act == ActKind::kCordon) {
    target.held = true;
    if (!entry.lease.owner.empty()) target.lease = entry.lease;
    if (target.open) target.lease = target.open->lease;
  }
  if (done && entry.act == ActKind::kReturn) target.held = false;
  if (entry.outcome == Outcome::kDone && target.way == Way::kNone)
    target.done.push_back(static_cast<size_t>(target.cursor));
  if (target.open) target.changed_at = entry.at;
  target.last_destructive = target.open && target.open->destructive;
  target.open.reset();
  target.last = entry.outcome;
  if (entry.cursor >= 0) MoveTo(target, entry.cursor);
  return {};
}

Status ApplyToTarget(TargetState& target, const Entry& entry) {
  using T = EntryType;
  if (target.stage == TargetState::Stage::kEnded && entry.type != T::kUnlocked)
    return Wrong(entry, "its target has ended");
  switch (entry.type) {
    case T::kStarted:
      if (target.stage == TargetState::Stage::kQueued) {
        target.stage = TargetState::Stage::kChecking;
        target.started = entry.at;
      }
      target.locked = true;
      target.fence = entry.fence;
      return {};
    case T::kChecked:
      if (entry.cursor >= 0) {
        target.stage = TargetState::Stage::kStepping;
        MoveTo(target, entry.cursor);
      }
      return {};
    case T::kIntent:
      if (target.open) return Wrong(entry, "another intent is open");
      target.open = entry;
      target.changed_at = entry.at;
      target.again = 0;
      ++target.attempts;
      target.asked = false;
      target.verify_failed = false;
      if (entry.effect && !HoldsOnly(entry.act)) {
        target.touched = true;
        target.proven = false;
      }
      if (entry.rung != Rung::kNone) target.rungs.push_back(entry.rung);
      return {};
    case T::kAgain:
      if (!target.open) return Wrong(entry, "no intent is open");
      ++target.again;
      return {};
    case T::kOutcome:
      return ApplyOutcome(target, entry);
    case T::kVerified:
      target.verify_failed = entry.level != Level::kPass;
      if (entry.level == Level::kPass && entry.proof) target.proven = true;
      if (entry.cursor >= 0) MoveTo(target, entry.cursor);
      return {};
    case T::kSkipped:
      MoveTo(target, entry.cursor);
      return {};
    case T::kAsked:
      target.asked = true;
      target.asked_at = entry.at;
      target.open.reset();
      return {};
    case T::kRollback:
      target.way = entry.way;
      target.why = entry.detail;
      target.open.reset();
      MoveTo(target, 0);
      return {};
    case T::kRound:
      ++target.round;
      target.way = Way::kNone;
      target.done.clear();
      MoveTo(target, 0);
      return {};
    case T::kEnded:
      target.stage = TargetState::Stage::kEnded;
      target.end = entry.end;
      target.ended = entry.at;
      if (!entry.detail.empty()) target.why = entry.detail;
      if (entry.end == End::kTakenOver) target.held = false;
      return {};
    case T::kUnlocked:
      target.locked = false;
      return {};
    default:
      return Wrong(entry, "it has no target");
  }
}

}  // namespace

Status RunState::Apply(const Entry& entry) {
  using T = EntryType;
  if (closed && entry.type != T::kUnlocked) return Wrong(entry, "the run is closed");
  if (opened == (entry.type == T::kOpen))
    return Wrong(entry, opened ? "the run is open already" : "the run is not open");
  switch (entry.type) {
    case T::kOpen:
      if (entry.attempt > kMostTargets) return Wrong(entry, "no plan has so many targets");
      opened = true;
      opened_at = entry.at;
      plan_hash = entry.plan_hash;
      plan_text = entry.detail;
      by = entry.by;
      targets.resize(static_cast<size_t>(std::max(0, entry.attempt)));
      return {};
    case T::kAttached:
      epoch = std::max(epoch, entry.fence);
      return {};
    case T::kApproved:
      approvals.push_back({entry.step, entry.by, entry.at, entry.until});
      return {};
    case T::kAttested:
      if (entry.target < 0 || static_cast<size_t>(entry.target) >= targets.size())
        return Wrong(entry, "the plan has no such target");
      attestations.push_back({entry.target, entry.step, entry.by, entry.level == Level::kPass,
                              entry.at, entry.until, entry.evidence});
      return {};
    case T::kUnbound:
      unbound = true;
      return {};
    case T::kPaused:
      paused = true;
      return {};
    case T::kContinued:
      paused = false;
      return {};
    case T::kRollback:
      if (entry.target < 0) {
        rollback_asked = true;
        return {};
      }
      break;
    case T::kClosed:
      closed = true;
      closed_at = entry.at;
      return {};
    default:
      break;
  }
  if (entry.target < 0 || static_cast<size_t>(entry.target) >= targets.size())
    return Wrong(entry, "the plan has no such target");
  TRY_VOID(ApplyToTarget(targets[static_cast<size_t>(entry.target)], entry));
  if (entry.type == T::kEnded && CountsAsFailure(entry.end)) ++failures;
  return {};
}

bool RunState::Approved(std::string_view step, TimePoint now, TimePoint not_before) const {
  return std::any_of(approvals.begin(), approvals.end(), [&](const Approval& a) {
    if (now >= a.until || a.at < not_before) return false;
    // "*" was said of the plan; being asked later is another question.
    return a.step == step || (a.step == "*" && not_before == TimePoint{});
  });
}

const Attestation* RunState::Answer(int target, std::string_view check, TimePoint now,
                                    TimePoint not_before) const {
  for (auto it = attestations.rbegin(); it != attestations.rend(); ++it) {
    if (it->target == target && it->check == check && it->at > not_before && now < it->until)
      return &*it;
  }
  return nullptr;
}

bool CountsAsFailure(End end) {
  return end != End::kNone && end != End::kDone && end != End::kStale && end != End::kNotStarted;
}

End WorstEnd(const RunState& state) {
  static constexpr End kOrder[] = {
      End::kNeedsPerson, End::kInDoubt, End::kTakenOver,  End::kRolledBack, End::kParked,
      End::kReleased,    End::kSkipped, End::kNotStarted, End::kDone,       End::kStale};
  for (const End end : kOrder) {
    for (const TargetState& target : state.targets) {
      if (target.end == end) return end;
    }
  }
  return End::kNone;
}

}  // namespace muster::engine
