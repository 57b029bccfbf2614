// Which target is taken up next, and what must be so before.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "engine/engine.h"

namespace muster::engine {

namespace {

bool SharesAJob(const PlannedTarget& a, const PlannedTarget& b) {
  return std::any_of(a.jobs.begin(), a.jobs.end(), [&](const RunningJob& job) {
    return std::any_of(b.jobs.begin(), b.jobs.end(),
                       [&](const RunningJob& other) { return other.id == job.id; });
  });
}

}  // namespace

// In order, one wave after the other; what is isolated and not returned goes on counting.
bool Engine::LimitsAllow(int index, std::string& why) const {
  const PlannedTarget& target = plan_.targets[static_cast<size_t>(index)];
  const Blast& blast = plan_.runbook.blast;
  int at_once = 0, rack = 0, leaf = 0, job = 0;
  for (size_t i = 0; i < state_.targets.size(); ++i) {
    const TargetState& other = state_.targets[i];
    const bool running = other.stage == TargetState::Stage::kChecking ||
                         other.stage == TargetState::Stage::kStepping;
    if (!running && !other.held) continue;
    const PlannedTarget& planned = plan_.targets[i];
    if (running && planned.wave != target.wave) {
      why = fmt::format("wave {} is not over", planned.wave + 1);
      return false;
    }
    ++at_once;
    if (!target.rack.empty() && planned.rack == target.rack) ++rack;
    if (!target.leaf.empty() && planned.leaf == target.leaf) ++leaf;
    if (SharesAJob(planned, target)) ++job;
  }
  why = at_once >= plan_.at_once ? "as many are under way as may be at once"
        : rack >= blast.per_rack ? "another node of its rack is under way or held"
        : leaf >= blast.per_leaf ? "another node of its leaf is under way or held"
        : job >= blast.per_job   ? "another node of its job is under way or held"
                                 : "";
  return why.empty();
}

Engine::Acted Engine::TryStart() {
  if (next_ >= plan_.targets.size()) return Did2::kWaiting;
  const int index = static_cast<int>(next_);
  if (state_.failures >= plan_.runbook.blast.failures || state_.rollback_asked) {
    ++next_;
    return End_(index, End::kNotStarted,
                state_.rollback_asked ? "a person asked for the way back"
                                      : fmt::format("{} failed before it", state_.failures));
  }
  if (state_.paused) {
    blocked_ = "paused";
    return Did2::kBlocked;
  }
  if (options_.closed && !state_.unbound) {
    if (std::string closed = options_.closed(now_); !closed.empty()) {
      blocked_ = std::move(closed);
      return Did2::kBlocked;
    }
  }
  std::string why;
  if (!LimitsAllow(index, why)) {
    // Somebody under way makes room; held ones of ended targets never do.
    if (!active_.empty()) return Did2::kWaiting;
    ++next_;
    return End_(index, End::kNotStarted, why);
  }
  // The soak after a wave: what went well must stay well a while.
  const PlannedTarget& target = plan_.targets[next_];
  if (next_ > 0 && target.wave != plan_.targets[next_ - 1].wave && !options_.skip_soak) {
    TimePoint last{};
    for (size_t i = 0; i < next_; ++i) last = std::max(last, state_.targets[i].ended);
    if (now_ < last + plan_.runbook.blast.soak) {
      wake_ = std::min(wake_, last + plan_.runbook.blast.soak);
      return Did2::kWaiting;
    }
  }
  return Start(index);
}

Engine::Acted Engine::Start(int index) {
  const PlannedTarget& target = plan_.targets[static_cast<size_t>(index)];
  const auto later = [&](std::string why) {
    wake_ = std::min(wake_, now_ + options_.poll);
    blocked_ = std::move(why);
    return Did2::kWaiting;
  };
  // One table of locks over all runs counts who is under way or isolated; those that nobody of ours
  // holds come from the cluster itself.
  int foreign = 0;
  if (plan_.runbook.Isolates()) {
    const auto fleet = ports_.actuator.ReadFleet();
    if (!fleet.ok()) return later("the fleet cannot be read: " + fleet.error().ToString());
    foreign = static_cast<int>(fleet->silent.size());
    for (const Actuator::HeldNode& held : fleet->nodes) {
      if (!held.hold.schedulable && !held.hold.lease && held.node != target.node) ++foreign;
    }
  }
  std::vector<Locks::Want> wants = WantsOf(index);
  if (plan_.runbook.Isolates()) wants.push_back({"fleet", plan_.most_out_of_service - foreign});
  const auto fence = ports_.locks.Take(options_.run, target.node, wants);
  if (!fence.ok()) {
    if (fence.error().code != Code::kConflict) return Fail(fence.error());
    if (lock_waited_since_ == TimePoint{}) lock_waited_since_ = now_;
    if (now_ < lock_waited_since_ + options_.lock_wait) return later(fence.error().message);
    lock_waited_since_ = {};
    ++next_;
    return End_(index, End::kNotStarted, fence.error().message);
  }
  lock_waited_since_ = {};
  Entry started = For(EntryType::kStarted, index);
  started.fence = *fence;
  TRY_VOID(Write(std::move(started), Log::Need::kDurable));
  live_[static_cast<size_t>(index)].fenced = true;
  active_.push_back(index);
  ++next_;
  return Did2::kWorked;
}

std::vector<Locks::Want> Engine::WantsOf(int index) const {
  const PlannedTarget& target = plan_.targets[static_cast<size_t>(index)];
  std::vector<Locks::Want> wants = {{"node/" + target.node, 1}};
  if (!plan_.runbook.Isolates()) return wants;
  if (!target.rack.empty()) wants.push_back({"rack/" + target.rack, plan_.runbook.blast.per_rack});
  if (!target.leaf.empty()) wants.push_back({"leaf/" + target.leaf, plan_.runbook.blast.per_leaf});
  return wants;
}

Engine::Acted Engine::End_(int index, End end, std::string why) {
  Entry ended = For(EntryType::kEnded, index);
  ended.end = end;
  ended.detail = std::move(why);
  TRY_VOID(Write(std::move(ended), Log::Need::kClosing));
  return Did2::kWorked;
}

// The prechecks, one a call; then the trigger; then the steps.
Engine::Acted Engine::Check(int index) {
  Live& live = live_[static_cast<size_t>(index)];
  const auto& checks = plan_.runbook.prechecks;
  if (state_.rollback_asked)
    return End_(index, End::kNotStarted, "a person asked for the way back");
  if (live.checked < checks.size()) {
    const muster::Check& check = checks[live.checked];
    if (Unanswered(check, index, {})) return Did2::kBlocked;
    const Looked looked = Judge_(check, index);
    ++live.checked;
    Entry entry = For(EntryType::kChecked, index);
    entry.step = check.id;
    entry.level = looked.level;
    entry.detail = looked.text;
    entry.evidence = looked.evidence;
    TRY_VOID(Write(std::move(entry), Log::Need::kLater));
    if (looked.level != Level::kPass)
      return End_(
          index, End::kSkipped,
          fmt::format("precheck {}: {}: {}", check.id, ToString(looked.level), looked.text));
    return Did2::kWorked;
  }
  if (!live.trigger_checked) return TriggerStands(index);
  Entry entry = For(EntryType::kChecked, index);
  entry.step = "prechecks";
  entry.level = Level::kPass;
  entry.cursor = 0;
  TRY_VOID(Write(std::move(entry), Log::Need::kLater));
  Moved(index);
  return Did2::kWorked;
}

// One that FAILs: the fault is there. All pass: nothing is left to do. Else nobody knows, and
// nothing is done.
Engine::Acted Engine::TriggerStands(int index) {
  Live& live = live_[static_cast<size_t>(index)];
  const TargetState& state = state_.targets[static_cast<size_t>(index)];
  live.trigger_checked = true;
  if (plan_.runbook.trigger.stands_while.empty()) return Did2::kWorked;
  bool unknown = false;
  std::string text;
  for (const muster::Check& check : plan_.runbook.trigger.stands_while) {
    muster::Check raw = check;
    raw.wants_pass = true;
    const Looked looked = Judge_(raw, index);
    text = looked.text;
    if (looked.level == Level::kFail) return Did2::kWorked;
    unknown = unknown || looked.level != Level::kPass;
  }
  if (state.held || state.touched) {
    // It went away while we waited: what was cordoned is released, nothing else was done.
    return WayBack(index, unknown ? "whether the trigger still stands is unknown: " + text
                                  : std::string(kNoLongerStands));
  }
  return End_(index, unknown ? End::kSkipped : End::kStale,
              unknown ? "whether the trigger still stands is unknown: " + text
                      : std::string(kNoLongerStands));
}

bool Engine::Unanswered(const muster::Check& check, int index, TimePoint not_before) {
  if (check.form != muster::Check::Form::kAttest ||
      state_.Answer(index, check.id, now_, not_before) != nullptr)
    return false;
  blocked_ = fmt::format("check {} of {} asks a person: {}", check.id,
                         plan_.targets[static_cast<size_t>(index)].on.id, check.attest);
  return true;
}

Looked Engine::Judge_(const muster::Check& check, int index, TimePoint not_before) {
  const PlannedTarget& target = plan_.targets[static_cast<size_t>(index)];
  Looked looked;
  if (check.builtin == "jobs_none") {
    const auto jobs = ports_.actuator.JobsOn(target.node);
    if (!jobs.ok()) return {Level::kUnknown, jobs.error().ToString(), ""};
    looked.level = jobs->empty() ? Level::kPass : Level::kFail;
    looked.text = jobs->empty()
                      ? "no job runs there"
                      : fmt::format("{} jobs run there, first {}", jobs->size(), jobs->front().id);
  } else if (check.builtin == "not_foreign") {
    const auto hold = ports_.actuator.ReadHold(target.node);
    if (!hold.ok()) return {Level::kUnknown, hold.error().ToString(), ""};
    const bool ours = hold->lease && hold->lease->run == options_.run;
    looked.level = hold->schedulable || ours ? Level::kPass : Level::kFail;
    looked.text = looked.level == Level::kPass ? "nobody else holds it"
                  : hold->lease                ? "held by " + hold->lease->owner
                                               : "cordoned by somebody else: " + hold->note;
  } else if (check.form == muster::Check::Form::kAttest) {
    const Attestation* answer = state_.Answer(index, check.id, now_, not_before);
    if (answer == nullptr) return {Level::kUnknown, "a person has not said: " + check.attest, ""};
    looked.level = answer->yes ? Level::kPass : Level::kFail;
    looked.text =
        fmt::format("{} says {}: {}", answer->by, answer->yes ? "yes" : "no", check.attest);
    looked.evidence = answer->evidence;
  } else {
    looked = ports_.looker.Look(check, target.on, ValuesOf(index));
  }
  if (!check.wants_pass) {
    if (looked.level == Level::kFail) {
      looked.level = Level::kPass;
    } else if (looked.level == Level::kPass) {
      looked.level = Level::kFail;
    }
  }
  if (looked.level == Level::kWarn) looked.level = Level::kPass;
  if (looked.level == Level::kNotApplicable) looked.level = Level::kUnknown;
  return looked;
}

}  // namespace muster::engine
