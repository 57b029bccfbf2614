// A client with everything it needs over the real network: what a command that talks to a cluster
// makes once.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "kube/client.h"
#include "kube/curl_transport.h"
#include "world/world.h"

namespace muster::kube {

struct ConnectionOptions {
  int connections = 2;  // for short calls; watches have one more
  bool compress = false;
};

// `world` is borrowed. Nothing is sent yet.
class Connection {
 public:
  Connection(const World& world, const ClusterConfig& config,
             const ConnectionOptions& options = {});
  Client& client() { return client_; }

 private:
  Credentials credentials_;
  CurlTransport transport_;
  Client client_;
};

// The variables of this process that say where a cluster is (KUBECONFIG, HOME, KUBERNETES_*).
std::map<std::string, std::string> ClusterEnvironment();

}  // namespace muster::kube
