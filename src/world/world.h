// The ports of one machine in one hand. main makes the real one; a lab host, an SSH host and a
// capture folder are others.
#pragma once

#include "world/clock.h"
#include "world/files.h"
#include "world/http.h"
#include "world/processes.h"
#include "world/random.h"

namespace muster {

// Borrowed: whoever made the ports outlives it.
struct World {
  Clock& clock;
  Files& files;
  Processes& processes;
  Http& http;
  Random& random;
};

}  // namespace muster
