// A TCP port of the loopback that nobody uses at this moment.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace muster {

// Below the ports that Linux gives to connections (32768 and up, ip_local_port_range), above what
// daemons take. Of the former, a rank that asks again and again for a listener that is not there
// yet could be given the very port that it asks for, and would be connected with itself.
inline constexpr uint32_t kFirstMeetingPort = 20000, kMeetingPorts = 12000;

// One of the meeting ports. Another program may take it before it is used; who binds it then says
// so. No port is given twice to one process until all are. kUnavailable without sockets.
Result<int> FreeLoopbackPort();

}  // namespace muster
