// A clock that a test moves by hand. Sleeping moves it, so that code which waits is tested without
// waiting.
#pragma once

#include <mutex>

#include "world/clock.h"

namespace muster::testing {

// Safe for threads. Starts at 2026-11-20T00:00:00Z.
class FakeClock final : public Clock {
 public:
  FakeClock();
  TimePoint Now() const override;
  Duration Monotonic() const override;
  void SleepFor(Duration d) override { Advance(d); }

  void Advance(Duration d);  // both clocks
  void Jump(Duration d);     // the wall clock alone, also backwards: somebody set it
  Duration slept() const;    // all that Advance and SleepFor added

 private:
  mutable std::mutex mutex_;
  TimePoint now_;
  Duration monotonic_;
};

}  // namespace muster::testing
