// One target whose step is under way: the order is sent, then looked for, then proven.
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "engine/step_words.h"

namespace muster::engine {

namespace {

constexpr Duration kDrainAgain = std::chrono::seconds(10);
constexpr int kMostAgain = 2;  // an order that was proven not to have happened

}  // namespace

// An intent is open: send it, or look whether it happened.
Engine::Acted Engine::Observe(int index, const ProgramStep& step) {
  TargetState& state = state_.targets[static_cast<size_t>(index)];
  Live& live = live_[static_cast<size_t>(index)];
  const bool resumed = !live.intended;
  if (resumed && live.resumed_at == TimePoint{}) live.resumed_at = now_;
  const bool blind = resumed && options_.sabotage == Sabotage::kNoProbe;
  if (!live.sent && (live.intended || blind)) {
    const DidResult did = ports_.actuator.Do(OrderOf(index, step));
    live.intended = live.sent = true;
    live.sent_at = now_;
    live.did = did.did;
    live.said = did.detail;
    return Did2::kWorked;
  }
  if (live.sent && live.did == Did::kRefused)
    return Outcome_(index, step, Outcome::kFailedSafe, "refused: " + live.said);
  (void)state;
  return Probe(index, step);
}

Engine::Acted Engine::Probe(int index, const ProgramStep& step) {
  TargetState& state = state_.targets[static_cast<size_t>(index)];
  Live& live = live_[static_cast<size_t>(index)];
  const TimePoint intended = state.open->at;
  // What the intent says: a drain that was forced is so for the next engine, too.
  const bool weighty = state.open->destructive || NeedsKnowing(step.action);
  const Duration grace = weighty ? options_.grace : Duration::zero();
  // Not happened is believed only when a request cannot be under way any more.
  const TimePoint deadline =
      std::max(intended + step.timeout, live.intended ? live.sent_at + std::max(step.timeout, grace)
                                                      : live.resumed_at + grace);
  const ProbeResult probe = ports_.actuator.Probe(OrderOf(index, step));
  const auto wait = [&](TimePoint until) -> Acted {
    live.not_before = std::min(until, now_ + options_.poll);
    wake_ = std::min(wake_, live.not_before);
    return Did2::kWaiting;
  };
  switch (probe.happened) {
    case Happened::kYes:
      return Outcome_(index, step, Outcome::kDone, probe.detail);
    case Happened::kUnknown:
      if (now_ < deadline) return wait(deadline);
      return Outcome_(index, step, Outcome::kUnknown, probe.detail);
    case Happened::kNo:
      break;
  }
  if (live.sent) {
    const bool said_no = live.did == Did::kFailed && now_ >= live.sent_at + grace;
    if (now_ < deadline && !said_no) {
      // What kept work there may have gone meanwhile: a checkpoint became durable, a disruption
      // budget has room. A drain that ends nothing by force may be asked for again and again.
      if (step.action.kind == ActKind::kDrain && !state.open->destructive &&
          live.did == Did::kAccepted &&
          now_ >= std::max(live.sent_at, live.asked_again) + kDrainAgain) {
        live.said = ports_.actuator.Do(OrderOf(index, step)).detail;
        live.asked_again = now_;
      }
      blocked_ = fmt::format("step {} of {} waits: {}", step.id,
                             plan_.targets[static_cast<size_t>(index)].on.id, probe.detail);
      return wait(live.did == Did::kFailed ? live.sent_at + grace : deadline);
    }
    if (step.on_timeout == OnTimeout::kAsk && !said_no && !state.open->destructive) {
      Entry asked = For(EntryType::kAsked, index);
      asked.step = step.id;
      asked.detail = probe.detail;
      TRY_VOID(Write(std::move(asked), Log::Need::kDurable));
      Moved(index);
      return Did2::kWorked;
    }
    return Outcome_(index, step, Outcome::kFailedSafe,
                    live.said.empty() ? probe.detail : live.said + "; " + probe.detail);
  }
  // After an interruption. The request may still be on its way for a while.
  if (now_ < std::max(intended, live.resumed_at) + grace)
    return wait(std::max(intended, live.resumed_at) + grace);
  if (state.again >= kMostAgain)
    return Outcome_(index, step, Outcome::kFailedSafe, "it did not happen, given again or not");
  TRY(const std::string hindered, Hindered(index, step));
  if (!hindered.empty()) return Outcome_(index, step, Outcome::kFailedSafe, hindered);
  if (state.held && options_.sabotage != Sabotage::kNoOwnership) {
    const auto taken = TakenBy(index);
    if (!taken.ok()) return Later(index, "who holds the node cannot be read");
    if (!taken->empty()) return End_(index, End::kTakenOver, *taken);
  }
  Entry again = For(EntryType::kAgain, index);
  again.step = step.id;
  again.detail = probe.detail;
  TRY_VOID(Write(std::move(again), Log::Need::kDurable));
  live.intended = true;
  return Did2::kWorked;
}

Engine::Acted Engine::Outcome_(int index, const ProgramStep& step, Outcome outcome,
                               std::string detail) {
  TargetState& state = state_.targets[static_cast<size_t>(index)];
  Entry entry = For(EntryType::kOutcome, index);
  entry.step = step.id;
  entry.act = step.action.kind;
  entry.outcome = outcome;
  entry.attempt = state.open ? state.open->attempt : 0;
  entry.detail = std::move(detail);
  if (state.open) entry.lease = state.open->lease;
  if (Done(outcome) && step.verify.empty()) entry.cursor = state.cursor + 1;
  const bool weighty = (state.open && state.open->destructive) || NeedsKnowing(step.action);
  TRY_VOID(Write(std::move(entry), weighty ? Log::Need::kClosing : Log::Need::kLater));
  Moved(index);
  return Did2::kWorked;
}

Engine::Acted Engine::Verify(int index, const ProgramStep& step) {
  TargetState& state = state_.targets[static_cast<size_t>(index)];
  Live& live = live_[static_cast<size_t>(index)];
  if (state_.paused && state.last == Outcome::kNone && step.action.kind == ActKind::kObserve) {
    blocked_ = "paused";
    return Did2::kBlocked;
  }
  if (live.verified >= step.verify.size())
    return Verdict_(index, step, Level::kPass, "every proof passes", live.said);
  const muster::Check& check = step.verify[live.verified];
  if (Unanswered(check, index, state.changed_at)) return Did2::kBlocked;
  const Looked looked = Judge_(check, index, state.changed_at);
  if (looked.level == Level::kFail)
    return Verdict_(index, step, Level::kFail, check.ToString() + ": " + looked.text,
                    looked.evidence);
  if (looked.level != Level::kPass) {
    if (++live.unknown_looks >= kMostLooks)
      return Verdict_(index, step, Level::kUnknown, check.ToString() + ": " + looked.text,
                      looked.evidence);
    return Later(index, "not yet known: " + looked.text);
  }
  if (check.for_at_least > Duration::zero() && !options_.skip_soak) {
    if (live.holding_since == TimePoint{}) live.holding_since = now_;
    const TimePoint until = live.holding_since + check.for_at_least;
    if (now_ < until) {
      live.not_before = std::min(until, now_ + options_.poll * 6);
      wake_ = std::min(wake_, live.not_before);
      return Did2::kWaiting;
    }
  }
  live.holding_since = {};
  live.unknown_looks = 0;
  live.said = looked.evidence;
  ++live.verified;
  return Did2::kWorked;
}

Engine::Acted Engine::Verdict_(int index, const ProgramStep& step, Level level, std::string detail,
                               std::string evidence) {
  TargetState& state = state_.targets[static_cast<size_t>(index)];
  Entry entry = For(EntryType::kVerified, index);
  entry.step = step.id;
  entry.level = level;
  entry.proof = step.proof;
  entry.detail = std::move(detail);
  entry.evidence = std::move(evidence);
  if (level == Level::kPass) {
    const Program& program = ProgramFor(index);
    size_t next = static_cast<size_t>(state.cursor) + 1;
    // One rung that holds is enough: the higher ones are not climbed.
    while (step.rung != Rung::kNone && next < program.size() && program[next].rung != Rung::kNone)
      ++next;
    entry.cursor = static_cast<int>(next);
  }
  TRY_VOID(Write(std::move(entry), Log::Need::kClosing));
  Moved(index);
  return Did2::kWorked;
}

}  // namespace muster::engine
