#include "world/posix/posix_clock.h"

#include <cerrno>
#include <ctime>

namespace muster {

namespace {

Duration Read(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec);
}

}  // namespace

TimePoint PosixClock::Now() const { return TimePoint(Read(CLOCK_REALTIME)); }
Duration PosixClock::Monotonic() const { return Read(CLOCK_MONOTONIC); }

void PosixClock::SleepFor(Duration d) {
  if (d <= Duration::zero()) return;
  timespec left{static_cast<time_t>(d.count() / 1'000'000'000), d.count() % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
  }
}

}  // namespace muster
