// The ports of this machine, together. Only main makes one (and tests that mean the real machine).
#pragma once

#include "world/posix/curl_http.h"
#include "world/posix/os_random.h"
#include "world/posix/posix_clock.h"
#include "world/posix/posix_files.h"
#include "world/posix/posix_processes.h"
#include "world/world.h"

namespace muster {

class PosixWorld {
 public:
  // Valid as long as this object.
  World ports() { return {clock_, files_, processes_, http_, random_}; }

 private:
  PosixClock clock_;
  PosixFiles files_;
  PosixProcesses processes_;
  CurlHttp http_;
  OsRandom random_;
};

}  // namespace muster
