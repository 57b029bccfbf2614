// Processor time of the calling thread. There is no port for it: it measures this process's own
// work, like the work itself.
#pragma once

#include "base/time.h"

namespace muster::lab {

Duration ThreadCpuTime();

}  // namespace muster::lab
