// The node's own exporter page, read where it is made: tells an exporter that is silent from a
// Prometheus that does not ask.
#pragma once

#include <span>

#include "probes/probe.h"

namespace muster {

// dcgm_exporter.page: GET http://localhost:9400/metrics on the node (dcgm-exporter's default port).
std::span<const Probe> DcgmExporterProbes();

namespace dcgm_exporter {

Reading CollectPage(const HostPorts& ports);
// exporter.gpus and exporter.blank_fields of the node. A page with a bad line or without its end
// gives no figures.
Observations ParsePage(const Reading& reading);

}  // namespace dcgm_exporter
}  // namespace muster
