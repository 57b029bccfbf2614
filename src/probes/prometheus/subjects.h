// Which node and which GPU a series or a target is about, told from its labels. Exporters,
// relabelling and Kubernetes spell it in many ways; a series that names nobody is said so, not
// given to somebody.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "probes/prometheus/api.h"

namespace muster::prometheus {

// The node's short name. In order: hostname, Hostname (dcgm-exporter renamed it after 4.5.3-4.8.2,
// issue 655), the same with "exported_" (Prometheus without honor_labels), then node,
// kubernetes_node, nodename, then the host of `instance`. A domain is cut off, an address is kept
// whole. Passed over: empty, loopback, and a hostname that is only the exporter's own pod name.
std::optional<std::string> NodeOf(const Labels& labels);
// The same of a scrape target, whose Kubernetes discovery labels know the node for certain.
std::optional<std::string> NodeOfTarget(const Target& target);
// From `gpu` ("3") or `device` ("nvidia3"), also with "exported_".
std::optional<int> GpuOf(const Labels& labels);
// Whether the target is an exporter of GPU metrics: port 9400 (dcgm-exporter's default), or a job
// or pool named after one.
bool IsGpuExporter(const Target& target);

// "node-07.example.com" -> "node-07", "10.0.0.7" and "fe80::1" as they are.
std::string ShortHost(std::string_view host);
// "node-07:9400" -> "node-07", "[fe80::1]:9400" -> "fe80::1".
std::string HostOfInstance(std::string_view instance);

}  // namespace muster::prometheus
