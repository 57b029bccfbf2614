// The lab's dcgm-exporter: what the exporter of one node would answer at this moment, and a small
// server with every node's page, so that a real Prometheus can scrape a cluster that is not there.
#pragma once

#include <string>
#include <vector>

#include "backend/lab/state/lab_state.h"
#include "base/result.h"
#include "world/world.h"

namespace muster::lab {

// The page as dcgm-exporter 4.6.0-4.8.3 writes it with its default list of fields (25 metrics, one
// label row; the host in the label `hostname`). A GPU that DCGM cannot read has no rows.
// kUnavailable when the exporter or the node does not answer. Source: NVIDIA/dcgm-exporter
// etc/default-counters.csv at 4.6.0-4.8.3, internal/pkg/rendermetrics.
Result<std::string> ExporterPage(const LabState& state, const Node& node, TimePoint now);

// `lab-exporter --lab DIR --port-file F`: serves GET /<node>/metrics (503 when that exporter is
// silent), GET /muster/metrics with muster_synthetic_condition, and POST or PUT
// /synthetic?value=0|1, on a free port of 127.0.0.1, which it writes to F once it listens. The
// lab's state file is read again whenever it changed. Runs until it is ended; returns an exit code.
int ExporterMain(const std::vector<std::string>& args, World& world);

}  // namespace muster::lab
