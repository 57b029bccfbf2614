// The real clock, as the operating system gives it; only main and tests of the real machine use it.
#pragma once

#include "world/clock.h"

namespace muster {

class PosixClock final : public Clock {
 public:
  TimePoint Now() const override;
  Duration Monotonic() const override;  // CLOCK_MONOTONIC
  void SleepFor(Duration d) override;   // the whole span, signals or not
};

}  // namespace muster
