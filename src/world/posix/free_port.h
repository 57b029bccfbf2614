// A TCP port of the loopback that nobody uses at this moment.
#pragma once

#include "base/result.h"

namespace muster {

// One below the ports that Linux gives to connections (32768 and up, ip_local_port_range): of
// those, a rank that asks again and again for a listener that is not there yet could be given the
// very port that it asks for, and would be connected with itself. Another program may take it
// before it is used; who binds it then says so. No port is given twice to one process until 12,000
// are. kUnavailable without sockets.
Result<int> FreeLoopbackPort();

}  // namespace muster
