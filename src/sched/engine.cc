#include "sched/engine.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::sched {

Status Engine::Take(const Event& event, std::vector<Decision>& out) {
  out_ = &out;
  const auto wrong = [&](const std::string& what) {
    return Fail(Code::kInvalid,
                event.line > 0 ? fmt::format("line {}: {}", event.line, what) : what);
  };
  if (ended_) return wrong("something follows the end");
  if (event.t < now_) return wrong(fmt::format("t goes back from {} to {}", now_, event.t));
  if (event.t > now_) AdvanceTo(event.t);
  auto applied = std::visit([&](const auto& body) { return Apply(body); }, event.body);
  if (!applied.ok()) return wrong(applied.error().message);
  return {};
}

void Engine::Settle(std::vector<Decision>& out) {
  out_ = &out;
  Decide();
  Answer();
}

void Engine::Run(TimeMs until, std::vector<Decision>& out) {
  Settle(out);
  while (!ended_ && !timers_.empty() && (until < 0 || timers_.begin()->t <= until)) {
    now_ = std::max(now_, timers_.begin()->t);
    queues_.SetNow(now_);
    FireTimers();
    Settle(out);
  }
  if (!ended_ && until > now_) now_ = until, queues_.SetNow(now_);
}

void Engine::AdvanceTo(TimeMs t) {
  Decide();
  Answer();
  while (!timers_.empty() && timers_.begin()->t < t) {
    now_ = std::max(now_, timers_.begin()->t);
    queues_.SetNow(now_);
    FireTimers();
    Decide();
  }
  now_ = t;
  queues_.SetNow(now_);
  FireTimers();
}

void Engine::FireTimers() {
  while (!timers_.empty() && timers_.begin()->t <= now_) {
    const Timer timer = *timers_.begin();
    timers_.erase(timers_.begin());
    if (timer.kind == TimerKind::kGrow) {
      dirty_ = true;
      continue;
    }
    Gang& gang = gangs_[static_cast<size_t>(timer.job)];
    if (timer.kind == TimerKind::kEnd && gang.generation == timer.generation) {
      const bool limit = !gang.left || gang.run_began + *gang.left > timer.t;
      FinishJob(timer.job, limit ? "LIMIT" : "DONE");
    } else if (timer.kind == TimerKind::kExpected && gang.generation == timer.generation) {
      OutlivesItsKind(timer.job);
    } else if (timer.kind == TimerKind::kMaxWait && gang.state == JobState::kPending &&
               gang.first_started < 0) {
      // From now on it is another kind: overdue. What was promised to it stands.
      auto kept = reservations_.extract(timer.job);
      DropPending(timer.job);
      gang.overdue = true;
      AddPending(timer.job);
      if (!kept.empty()) reservations_.insert(std::move(kept));
    } else if (timer.kind == TimerKind::kReservation && reservations_.contains(timer.job)) {
      pending_.fresh.push_back(pending_.kind_of[static_cast<size_t>(timer.job)]);
      dirty_ = true;
    }
  }
}

std::vector<std::string> Engine::PendingNames() const {
  std::vector<std::string> names;
  for (const Gang& gang : gangs_) {
    if (gang.state == JobState::kPending) names.push_back(gang.name);
  }
  return names;
}

const Gang* Engine::FindJob(std::string_view name) const {
  const auto found = job_ids_.find(std::string(name));
  return found == job_ids_.end() ? nullptr : &gangs_[static_cast<size_t>(found->second)];
}

}  // namespace muster::sched
