// The configuration files of the lab's Prometheus and Alertmanager, as text. Pure.
#pragma once

#include <string>

#include "backend/lab/state/lab_state.h"

namespace muster::lab {

// Seconds between scrapes of a healthy node: 1 up to 64 nodes, else 5.
int LabScrapeSeconds(const LabState& state);
// One job, one target for each node under the address it would have ("node007:9400"); all of them
// are really paths of one exporter. With alert_route_broken alerts go to a port where nobody
// listens.
std::string PrometheusConfig(const LabState& state, int exporter_port, int alertmanager_port);
std::string AlertRules();
std::string AlertmanagerConfig();

}  // namespace muster::lab
