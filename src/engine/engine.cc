#include "engine/engine.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::engine {

Engine::Engine(const Plan& plan, EnginePorts ports, EngineOptions options, RunState state)
    : plan_(plan),
      ports_(ports),
      options_(std::move(options)),
      state_(std::move(state)),
      live_(plan.targets.size()),
      values_(plan.targets.size()) {
  for (size_t i = 0; i < state_.targets.size(); ++i) {
    const TargetState& target = state_.targets[i];
    if (target.stage == TargetState::Stage::kQueued) continue;
    if (target.stage != TargetState::Stage::kEnded || target.locked)
      active_.push_back(static_cast<int>(i));
    next_ = std::max(next_, i + 1);
  }
}

Status Engine::Write(Entry entry, Log::Need need) {
  TRY_VOID(ports_.log.Write(entry, need));
  return state_.Apply(entry);
}

Entry Engine::For(EntryType type, int target) const {
  Entry entry;
  entry.type = type;
  entry.at = now_;
  entry.target = target;
  return entry;
}

Status Engine::Begin(TimePoint now) {
  now_ = std::chrono::floor<std::chrono::milliseconds>(now);
  if (!state_.opened) {
    Entry open = For(EntryType::kOpen, -1);
    open.by = options_.by;
    open.plan_hash = plan_.hash;
    open.detail = WritePlan(plan_);
    open.attempt = static_cast<int>(plan_.targets.size());
    TRY_VOID(Write(std::move(open), Log::Need::kDurable));
  }
  if (state_.plan_hash != plan_.hash)
    return Fail(Code::kRefused,
                fmt::format("the run was opened for plan {}, this is {}",
                            state_.plan_hash.substr(0, 16), plan_.hash.substr(0, 16)));
  Entry attached = For(EntryType::kAttached, -1);
  attached.by = options_.by;
  attached.fence = state_.epoch + 1;
  return Write(std::move(attached), Log::Need::kLater);
}

Status Engine::TakeRequests() {
  for (const Requests::Request& request : ports_.requests.Take()) {
    using K = Requests::Request::Kind;
    Entry entry = For(request.kind == K::kApprove    ? EntryType::kApproved
                      : request.kind == K::kPause    ? EntryType::kPaused
                      : request.kind == K::kContinue ? EntryType::kContinued
                      : request.kind == K::kAttest   ? EntryType::kAttested
                      : request.kind == K::kUnbind   ? EntryType::kUnbound
                                                     : EntryType::kRollback,
                      -1);
    entry.by = request.by;
    entry.step = request.step;
    entry.detail = request.reason;
    if (request.kind == K::kApprove) {
      // A word that was given for another plan is none.
      if (request.plan_hash != plan_.hash) continue;
      entry.plan_hash = request.plan_hash;
      entry.until = now_ + options_.approval_for;
    }
    if (request.kind == K::kAttest) {
      for (size_t i = 0; i < plan_.targets.size(); ++i) {
        if (plan_.targets[i].on.id == request.on) entry.target = static_cast<int>(i);
      }
      if (entry.target < 0) continue;
      entry.level = request.yes ? Level::kPass : Level::kFail;
      entry.evidence = request.evidence;
      entry.until = now_ + options_.approval_for;
    }
    TRY_VOID(Write(std::move(entry), Log::Need::kDurable));
  }
  return {};
}

void Engine::Moved(int target) {
  Live& live = live_[static_cast<size_t>(target)];
  const size_t checked = live.checked;
  Program program = std::move(live.program);
  const bool made = live.program_made, fenced = live.fenced;
  live = Live{};
  live.checked = checked;
  live.program = std::move(program);
  live.program_made = made;
  live.fenced = fenced;
}

Program& Engine::ProgramFor(int target) {
  Live& live = live_[static_cast<size_t>(target)];
  if (!live.program_made) {
    live.program = ProgramOf(plan_, plan_.targets[static_cast<size_t>(target)],
                             state_.targets[static_cast<size_t>(target)]);
    live.program_made = true;
  }
  return live.program;
}

const TemplateValues& Engine::ValuesOf(int target) {
  TemplateValues& values = values_[static_cast<size_t>(target)];
  if (values.empty()) {
    const PlannedTarget& planned = plan_.targets[static_cast<size_t>(target)];
    values = ValuesFor(planned.on, planned.identity, plan_.inputs);
    values["run"] = options_.run;
  }
  return values;
}

Result<Progress> Engine::Advance(TimePoint now) {
  now_ = std::chrono::floor<std::chrono::milliseconds>(now);
  wake_ = TimePoint::max();
  blocked_.clear();
  if (state_.closed) return Progress{Progress::Kind::kClosed, {}, {}};
  TRY_VOID(TakeRequests());
  for (size_t i = 0; i < active_.size(); ++i) {
    const size_t turn = (turn_ + i) % active_.size();
    const int target = active_[turn];
    TRY(const Did2 did, AdvanceTarget(target));
    const TargetState& state = state_.targets[static_cast<size_t>(target)];
    if (state.stage == TargetState::Stage::kEnded && (!state.locked || state.held))
      active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(turn));
    if (did != Did2::kWorked) {
      if (state.stage == TargetState::Stage::kEnded) break;
      continue;
    }
    turn_ = turn + 1;
    ++steps_;
    return Progress{};
  }
  TRY(const Did2 started, TryStart());
  if (started == Did2::kWorked) {
    ++steps_;
    return Progress{};
  }
  const bool ended = active_.empty() && next_ >= plan_.targets.size();
  if (ended) {
    TRY_VOID(CloseRun());
    return Progress{};
  }
  if (wake_ != TimePoint::max()) return Progress{Progress::Kind::kWait, wake_, blocked_};
  if (blocked_.empty()) return Progress{};  // a target ended in this pass: look again
  return Progress{Progress::Kind::kBlocked, {}, blocked_};
}

Engine::Acted Engine::CloseRun() {
  Entry closed = For(EntryType::kClosed, -1);
  closed.end = WorstEnd(state_);
  closed.detail = std::string(ToString(closed.end));
  TRY_VOID(Write(std::move(closed), Log::Need::kClosing));
  return Did2::kWorked;
}

int ExitCodeOf(const RunState& state) {
  if (!state.closed) return 6;
  switch (WorstEnd(state)) {
    case End::kNeedsPerson:
      return 8;
    case End::kInDoubt:
      return 4;
    case End::kTakenOver:
    case End::kNotStarted:
      return 6;
    case End::kRolledBack:
    case End::kParked:
      return 7;
    case End::kReleased:
    case End::kSkipped:
      return 3;
    case End::kDone:
    case End::kStale:
    case End::kNone:
      break;
  }
  return 0;
}

}  // namespace muster::engine
