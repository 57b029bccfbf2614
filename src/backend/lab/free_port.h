// A TCP port of the loopback that nobody uses at this moment.
#pragma once

#include "base/result.h"

namespace muster::lab {

// As torchrun finds its own: binds to port 0, asks which it was, and lets go. Another program may
// take it before it is used; who binds it then says so. kUnavailable without sockets.
Result<int> FreeLoopbackPort();

}  // namespace muster::lab
