// Lookups by name over a lab's cluster, built once: which link a port is on, which LID a device
// has. Private to lab/state.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "backend/lab/state/lab_state.h"

namespace muster::lab {

struct LabIndex {
  std::unordered_map<std::string, size_t> link_of_port;  // "leaf00/5", "node003/mlx5_1/1"
  std::unordered_map<std::string, int> lid_of_device;    // "leaf00", "node003/mlx5_1"
  std::vector<Subject> link_subjects;                    // beside Cluster::links
};

std::shared_ptr<const LabIndex> BuildIndex(const Cluster& cluster);
// The state's own index, or a fresh one where a test made the state by hand.
std::shared_ptr<const LabIndex> IndexOf(const LabState& state);

}  // namespace muster::lab
