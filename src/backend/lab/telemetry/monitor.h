// The lab's host "monitor" as an HTTP port. The real one starts Debian's prometheus and
// prometheus-alertmanager over the lab's exporter pages; the modelled one gives the same answers
// from the truth, without a process. Both know the logical bases of the probes:
// http://prometheus/..., http://alertmanager/... and http://monitor/synthetic?value=0|1.
#pragma once

#include <memory>
#include <string>

#include "backend/lab/state/lab_state.h"
#include "world/world.h"

namespace muster::lab {

class MonitorPort : public Http {
 public:
  // Starts what has to be started and returns at once; Do() would start it too, and wait until
  // every node was scraped. Prometheus hands out targets 5 s after its start at the earliest (its
  // discovery throttle), so who calls this some gates earlier waits less.
  virtual Status Prepare() = 0;
};

// On first use: exporter (`muster_binary lab-exporter`), Alertmanager and Prometheus on free
// loopback ports, with their files in a folder of their own in the lab's, which goes with this
// object. They end with it, and with the death of this process. Scraped every second (from 65 nodes
// on every 5), a node under scrape_too_slow as seldom as the fault says. Faults at nodes act at
// once, through the state file; scrape_too_slow and alert_route_broken are read from `state` at the
// start. `state` and the ports are borrowed. Without the Debian packages every request answers
// kNotFound and names them. Safe for threads.
std::unique_ptr<MonitorPort> MakeMonitor(const LabState& state, World& world,
                                         std::string muster_binary);

// Same answers, same formats, no processes and no waiting: a raised condition is fired and
// delivered at once. Scrape intervals are the truth's (15 s unless a fault says otherwise). `state`
// is borrowed and read at every request. Safe for threads.
std::unique_ptr<MonitorPort> MakeModelledMonitor(const LabState& state, Clock& clock);

}  // namespace muster::lab
