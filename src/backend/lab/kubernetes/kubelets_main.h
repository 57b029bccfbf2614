// The hidden verb `lab-kubelets FOLDER`: the node player as a process of its own, beside the
// control plane that `muster lab kubernetes up` brought up in that folder.
#pragma once

#include <string>
#include <vector>

#include "backend/lab/kubernetes/played_node.h"
#include "world/world.h"

namespace muster::lab {

struct KubeletsSpec {
  int nodes = 4, gpus = 8;
  std::string topology_policy = "none";
  bool run_commands = false;
  Duration dns_delay = std::chrono::milliseconds(500);  // until a name is published
};
// FOLDER/nodes, one line.
std::string FormatKubeletsSpec(const KubeletsSpec& spec);
Result<KubeletsSpec> ParseKubeletsSpec(std::string_view text);
// node000, node001, ...: eight to a leaf, four leaves to a spine, as labels muster.dev/leaf and
// muster.dev/spine.
std::vector<PlayedNodeSpec> NodesOf(const KubeletsSpec& spec);

// Until it is ended.
int KubeletsMain(const std::vector<std::string>& args, World& world);

}  // namespace muster::lab
