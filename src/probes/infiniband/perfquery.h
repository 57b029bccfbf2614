// perfquery: the counters of one port, each with its value, also the zeros (ibqueryerrors leaves
// those out, so its silence cannot be told from a port nobody asked). No tool of infiniband-diags
// prints them for the whole fabric, so the reading is a transcript: `ibnetdiscover -p`, then
// `perfquery -l LID PORTS` per switch and `perfquery LID PORT` per adapter port.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/observation.h"
#include "probes/infiniband/port_counters.h"
#include "probes/probe.h"

namespace muster::infiniband {

struct PortCountersRecord {
  int lid = 0;
  int port = 0;           // 255: all ports of a switch added up
  bool extended = false;  // from -x
  CounterSet counters;
};

// Captures exist of infiniband-diags 44.0; the names of versions before 1.6 are read too. A record
// whose PortSelect is not the port of its heading is left out.
std::vector<PortCountersRecord> ParsePerfquery(std::string_view text);

// port.* of every port that answered, and Unobserved for one that was asked and did not. Ports are
// named by the `ibnetdiscover -p` of the transcript; without it they are called "lid2/5".
Observations ParsePerfqueryReading(const Reading& reading);

}  // namespace muster::infiniband
