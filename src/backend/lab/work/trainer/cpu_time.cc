#include "backend/lab/work/trainer/cpu_time.h"

#include <ctime>

namespace muster::lab {

Duration ThreadCpuTime() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

}  // namespace muster::lab
