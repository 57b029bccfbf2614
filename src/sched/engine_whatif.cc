// Questions about what would be: a copy of the engine takes the change, both run on in virtual
// time, and the starts are compared. The one place that copies; no decision is ever made this way.
#include <algorithm>

#include "sched/engine.h"

namespace muster::sched {

Engine Engine::Fork() const {
  Engine fork = *this;
  fork.asks_.clear();
  fork.ended_ = false;
  fork.explains_ = false;
  fork.out_ = nullptr;
  return fork;
}

// A change that cannot be applied is a mistake of the script, said before anything is answered.
Status Engine::Apply(const AskWhatIf& ask) {
  Engine fork = Fork();
  std::vector<Decision> ignored;
  for (const Event& change : ask.change) {
    Event now = change;
    now.t = now_, now.line = 0;
    TRY_VOID(fork.Take(now, ignored));
  }
  asks_.push_back({now_, ask});
  return {};
}

// When each of the jobs starts next, from now on: -1 = not with what is known. A running job has
// started already.
std::vector<TimeMs> Engine::StartsOf(const std::vector<std::string>& jobs) {
  std::vector<TimeMs> starts(jobs.size(), -1);
  std::vector<Decision> ignored;
  Settle(ignored);
  while (true) {
    bool open = false;
    for (size_t i = 0; i < jobs.size(); ++i) {
      const Gang* gang = FindJob(jobs[i]);
      if (starts[i] < 0 && gang != nullptr && gang->state == JobState::kRunning)
        starts[i] = gang->bound_at;
      open = open || (starts[i] < 0 && gang != nullptr && gang->state == JobState::kPending);
    }
    if (!open || timers_.empty()) return starts;
    ignored.clear();
    Run(timers_.begin()->t, ignored);
  }
}

void Engine::AnswerWhatIf(const AskWhatIf& ask) {
  Engine as_is = Fork();
  const auto was = as_is.StartsOf(ask.about);
  Engine changed = Fork();
  std::vector<Decision> ignored;
  for (const Event& change : ask.change) {
    Event now = change;
    now.t = now_, now.line = 0;
    if (!changed.Take(now, ignored).ok()) return;  // decisions of this t made it impossible
  }
  const auto starts = changed.StartsOf(ask.about);
  for (size_t i = 0; i < ask.about.size(); ++i) {
    AnswerDecision answer;
    answer.ask = "whatif", answer.about = ask.about[i];
    answer.start = starts[i], answer.was = was[i];
    Emit(std::move(answer));
  }
}

}  // namespace muster::sched
