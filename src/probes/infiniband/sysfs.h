// /sys/class/infiniband: state, rate and counters of this host's adapters as the kernel tells them,
// without any tool. The reading is written as `grep -r . /sys/class/infiniband` would print it,
// "path:value" a line.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/observation.h"
#include "probes/infiniband/ibstat.h"
#include "probes/infiniband/port_counters.h"
#include "probes/probe.h"

namespace muster::infiniband {

struct SysfsPort {
  PortStatus status;
  CounterSet counters;
};
// By device and port, in the order of their names. A path that stands twice makes its value
// unknown.
std::map<std::pair<std::string, int>, SysfsPort> ParseSysfs(std::string_view text);

// Reads the files through the host's file port: the paths it needs, not the whole tree.
Reading CollectSysfs(const HostPorts& ports);
// hca.* and, about "host/device/port", port.*. Many mlx5 kernels fill these files from 64-bit
// counters, classic ones from saturating ones; a value at a classic maximum may be either and is
// not observed.
Observations ParseSysfsReading(const Reading& reading);

}  // namespace muster::infiniband
