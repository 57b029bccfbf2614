// The time port. Only main makes the real one; tests move a fake one by hand.
#pragma once

#include "base/time.h"

namespace muster {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;       // wall clock, may jump
  virtual Duration Monotonic() const = 0;  // never goes back; for spans and deadlines
  virtual void SleepFor(Duration d) = 0;
};

}  // namespace muster
