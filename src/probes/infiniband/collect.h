// Collectors that need more than one command; their readings are transcripts (text.h).
#pragma once

#include "probes/probe.h"

namespace muster::infiniband {

// `sminfo`, `saquery -s`, then `sminfo LID` for each port that can be a subnet manager.
Reading CollectSminfo(const HostPorts& ports);
// `ibnetdiscover -p`, then `perfquery -l LID PORTS` for each switch and `perfquery LID PORT` for
// each adapter port that has a link. A port whose error counter has reached its maximum is asked
// again with -x, whose counters are 64 bits wide where the hardware has them. The fault of the
// reading is that of the first command; a port that does not answer only lacks its counters.
Reading CollectPerfquery(const HostPorts& ports);

}  // namespace muster::infiniband
