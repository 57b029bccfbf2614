// Which probes answer for which gate, and on which host each runs. One visible table: a new source
// is one line here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/site.h"
#include "probes/probe.h"

namespace muster {

// kCluster: where a cluster's API answers, under the site's own name.
enum class ProbePlace { kFacility, kFabric, kMonitor, kEachNode, kCluster };

struct ProbeUse {
  int gate = 0;
  std::string_view probe;  // Probe::id
  ProbePlace place = ProbePlace::kEachNode;
  bool twice = false;      // counters: read at both ends of the site's window
  std::string_view needs;  // a site feature without which it is not run; "" = always
};

std::span<const ProbeUse> ProbeUses();
// Every probe of the binary, in table order.
std::vector<const Probe*> AllProbes();
const Probe* FindProbe(std::string_view id);

// One read that a gate wants.
struct PlannedRead {
  const Probe* probe = nullptr;
  std::string host;
  bool twice = false;
};
// The reads of a gate for these nodes of a site, in a fixed order.
std::vector<PlannedRead> PlanReads(const Site& site, int gate, std::span<const std::string> nodes);

}  // namespace muster
