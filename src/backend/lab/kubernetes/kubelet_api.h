// What an API server asks of a kubelet, for nodes that are played: the log of a pod whose command
// really runs, and the kubelet's configuration. One HTTPS server on loopback for all of them.
#pragma once

#include <memory>
#include <string>

#include "backend/lab/kubernetes/played_node.h"
#include "kube/client.h"
#include "kube/config.h"
#include "world/world.h"

namespace muster::lab {

class KubeletApi {
 public:
  // GET /containerLogs/NAMESPACE/POD/CONTAINER?limitBytes=N&tailLines=N, and /configz, in which
  // every node is as `like`. The files are FOLDER/pods/UID.log; which uid a pod has is asked of the
  // API server. A certificate of its own is made in FOLDER/pki. The API server checks neither it
  // nor itself, so it is asked by anybody on this machine: what lies there are the logs of this
  // lab's pods.
  static Result<std::unique_ptr<KubeletApi>> Start(World& world, const kube::ClusterConfig& config,
                                                   const std::string& folder,
                                                   const PlayedNodeSpec& like);
  virtual ~KubeletApi() = default;
  virtual int port() const = 0;
  // Writes into the node's status where it is to be asked.
  virtual Status Announce(kube::Client& client, const std::string& node) = 0;
};

// What of a log the query asks for: the last `tail` lines (negative: all), then at most `limit`
// bytes from its beginning (0: all), as a kubelet does.
std::string LogPart(const std::string& text, int64_t tail, int64_t limit);

}  // namespace muster::lab
