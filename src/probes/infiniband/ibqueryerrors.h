// ibqueryerrors: only the ports whose counters are beyond a threshold. What it does not list is not
// observed: silence may be a healthy port or one that did not answer. "port ALL" repeats the sum of
// a switch and is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/observation.h"
#include "probes/infiniband/port_counters.h"
#include "probes/probe.h"

namespace muster::infiniband {

struct PortErrors {
  std::string device;  // "leaf00", "node005/mlx5_0"
  int port = 0;
  CounterSet counters;
  std::string excerpt;
};
struct QueryErrors {
  std::vector<PortErrors> ports;
  std::optional<int> nodes_checked, ports_checked, ports_bad;  // of the summary
  std::optional<int> query_failures;                           // printed where not zero
};

// Captures exist of infiniband-diags 44.0, with and without --details.
QueryErrors ParseIbqueryerrors(std::string_view text);
Observations ParseIbqueryerrorsReading(const Reading& reading);

}  // namespace muster::infiniband
