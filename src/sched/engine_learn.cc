// Run times that nobody declared, learned from earlier runs: jobs of one queue that ask the same
// are taken to run as long as the longest of their last runs. Only promises are reckoned from this;
// who may pass a promise is decided by declared run times alone.
#include <algorithm>

#include <fmt/format.h>

#include "sched/engine.h"

namespace muster::sched {

namespace {
constexpr size_t kRunsKept = 8;
}

int Engine::RunKindOf(const Gang& gang) {
  std::string key = fmt::format("{}", gang.queue);
  for (const GangGroup& group : gang.groups)
    key += fmt::format(";{},{}", group.shape_class, group.count);
  const auto [found, fresh] = run_kinds_.try_emplace(key, static_cast<int>(past_runs_.size()));
  if (fresh) past_runs_.emplace_back();
  return found->second;
}

// A run without a declared time has ended by itself.
void Engine::LearnRun(const Gang& gang) {
  if (gang.duration) return;
  auto& runs = past_runs_[static_cast<size_t>(RunKindOf(gang))];
  if (runs.size() == kRunsKept) runs.erase(runs.begin());
  runs.push_back(std::max<int64_t>(1, now_ - gang.bound_at));
}

void Engine::ExpectEnd(int job) {
  Gang& gang = gangs_[static_cast<size_t>(job)];
  if (gang.ends >= 0 || past_runs_.empty()) return;
  const auto& runs = past_runs_[static_cast<size_t>(RunKindOf(gang))];
  if (runs.empty()) return;
  const TimeMs end = gang.bound_at + *std::max_element(runs.begin(), runs.end());
  if (end <= now_) return;
  gang.expected = end;
  timers_.insert({end, TimerKind::kExpected, job, gang.generation});
}

void Engine::ForgetEnd(int job) {
  Gang& gang = gangs_[static_cast<size_t>(job)];
  if (gang.expected < 0) return;
  timers_.erase({gang.expected, TimerKind::kExpected, job, gang.generation});
  gang.expected = -1;
}

// It runs longer than all before it: nobody knows its end any more.
void Engine::OutlivesItsKind(int job) {
  ForgetEnd(job);
  disturbed_ = "a run time that was not known";
  dirty_ = true;
}

}  // namespace muster::sched
