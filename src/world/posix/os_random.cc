#include "world/posix/os_random.h"

#include <cerrno>
#include <sys/random.h>

#include "base/check.h"

namespace muster {

uint64_t OsRandom::Next() {
  uint64_t value = 0;
  // getrandom(2) gives requests of at most 256 bytes whole once the pool is ready.
  ssize_t got = 0;
  do {
    got = getrandom(&value, sizeof value, 0);
  } while (got < 0 && errno == EINTR);
  CHECK(got == static_cast<ssize_t>(sizeof value), "the kernel gives random bytes");
  return value;
}

}  // namespace muster
