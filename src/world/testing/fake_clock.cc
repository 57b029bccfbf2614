#include "world/testing/fake_clock.h"

namespace muster::testing {

FakeClock::FakeClock()
    : now_(std::chrono::sys_days{std::chrono::year{2026} / 11 / 20}), monotonic_(0) {}

TimePoint FakeClock::Now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

Duration FakeClock::Monotonic() const {
  const std::lock_guard lock(mutex_);
  return monotonic_;
}

void FakeClock::Advance(Duration d) {
  if (d <= Duration::zero()) return;
  const std::lock_guard lock(mutex_);
  now_ += d;
  monotonic_ += d;
}

void FakeClock::Jump(Duration d) {
  const std::lock_guard lock(mutex_);
  now_ += d;
}

Duration FakeClock::slept() const { return Monotonic(); }

}  // namespace muster::testing
