// From what a cluster script or an inventory says of a node to the machine that its kubelet sees.
// What such a description leaves out (core numbering, reservations per zone) is filled in here, in
// one place, and said.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sched/numa/topology_manager.h"

namespace muster::numa {

struct ZoneFacts {
  Resources amounts;                                // cpu, memory
  std::map<std::string, std::vector<int>> devices;  // ids by resource
};
struct NodeFacts {
  std::string name;
  Resources capacity;            // a resource whose name has a '/' is a count of devices 0, 1, ...
  std::vector<ZoneFacts> zones;  // empty = one zone, and devices without topology
  // As the kubelet's configuration spells them.
  std::string policy = "none", scope = "container", cpu_manager = "none", memory_manager = "none";
  Resources reserved;  // system-reserved + kube-reserved
};
// Assumed: one thread a core, one socket a zone, reserved memory in zone 0, a plugin that prefers
// low ids. None of these changes how many devices or CPUs a zone has. kInvalid names what is wrong.
Result<MachineSpec> DescribeMachine(const NodeFacts& node);
// Whether the answer can differ from plain counting, so that Admit has to be asked.
bool NeedsAdmission(const MachineSpec& spec);

}  // namespace muster::numa
