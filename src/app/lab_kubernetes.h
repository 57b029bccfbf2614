// A real Kubernetes API server on this machine with played nodes, for a person to try things on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "world/world.h"

namespace muster {

struct LabKubernetesOptions {
  std::string folder = "muster-lab/kubernetes";
  std::string binaries;  // empty: $MUSTER_KUBERNETES_BIN, else what tests/kubernetes/build.sh made
  std::string self_binary;
  int nodes = 4, gpus = 8;
  std::string topology_policy = "none";
  bool run_commands = false;
  Duration dns_delay = std::chrono::milliseconds(500);  // of names of headless Services
};
struct LabKubernetes {
  std::string kubeconfig, server, version;
  int nodes = 0;
  std::vector<std::string> started, running;  // components: by this call, and before it
};
// Brings up what of it does not run; called again after it was killed, it finishes. kNotFound
// without the binaries, with the command that builds them. kTimeout when a part is not ready in two
// minutes; what was started then still runs, and Down ends it.
Result<LabKubernetes> LabKubernetesUp(World& world, const LabKubernetesOptions& options,
                                      const std::function<void(const std::string&)>& note);
// Ends what Up started in that folder, and nothing else; with `wipe`, removes the folder too.
// Returns the components that ran. kNotFound when the folder holds no such lab.
Result<std::vector<std::string>> LabKubernetesDown(World& world, const std::string& folder,
                                                   bool wipe);

}  // namespace muster
