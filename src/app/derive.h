// What follows from observations without looking again: links too many and links missing, the
// components a gate stood on, the figures a baseline holds. Pure. (Ratios against a computed
// ceiling are made where the collective is measured: measure/collective/derive.h.)
#pragma once

#include <map>
#include <string>
#include <vector>

#include "evidence/observation.h"
#include "model/site.h"

namespace muster {

// Observations derived from a gate's own; each says in its excerpt what it was derived from, and
// has the least real origin of all its parents. Links are compared for the whole fabric, whatever
// `nodes` are: a fabric is discovered as a whole.
Observations Derive(const Site& site, int gate, const std::vector<std::string>& nodes,
                    const Observations& seen);

// driver, kernel, cuda, firmware, fabric_manager, nccl, topology, ...: what would make the gate
// stale when it changes (`staled_by` of catalogue/gates.yaml). Names without a value were not
// observed.
std::map<std::string, std::string> ComponentsOf(const Observations& seen);

// busbw, MFU, step time, TTFT, TPOT, goodput, pair rate: numbers worth comparing with an earlier
// acceptance.
std::map<std::string, Quantity> FiguresOf(const Observations& seen);

}  // namespace muster
