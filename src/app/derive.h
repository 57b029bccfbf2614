// What follows from observations without looking again: ratios against a computed ceiling,
// unexpected links, the components a gate stood on, the figures a baseline holds. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "evidence/observation.h"
#include "model/site.h"

namespace muster {

// Observations derived from a gate's own; each names its parents in its excerpt and keeps the least
// real origin.
Observations Derive(const Site& site, int gate, const std::vector<std::string>& nodes,
                    const Observations& seen);

// driver, firmware, nccl, topology, cuda, fabric_manager: what would make the gate stale when it
// changes.
std::map<std::string, std::string> ComponentsOf(const Observations& seen);

// busbw, MFU, step time, TTFT, TPOT, goodput, pair rate: numbers worth comparing with an earlier
// acceptance.
std::map<std::string, Quantity> FiguresOf(const Observations& seen);

}  // namespace muster
