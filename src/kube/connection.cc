#include "kube/connection.h"

#include <cstdlib>

namespace muster::kube {

namespace {

CurlOptions OptionsFor(const ClusterConfig& config, const ConnectionOptions& options) {
  CurlOptions curl;
  curl.server = config.server;
  curl.tls = config.tls;
  curl.proxy = config.proxy_url;
  curl.connections = options.connections;
  curl.compress = options.compress;
  curl.user_agent = "muster/" MUSTER_VERSION;
  return curl;
}

}  // namespace

Connection::Connection(const World& world, const ClusterConfig& config,
                       const ConnectionOptions& options)
    : credentials_(config, world.clock, world.files, world.processes),
      transport_(OptionsFor(config, options)),
      client_(config, transport_, credentials_, world.clock, world.random) {}

std::map<std::string, std::string> ClusterEnvironment() {
  std::map<std::string, std::string> environment;
  for (const char* name :
       {"KUBECONFIG", "HOME", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"}) {
    if (const char* value = std::getenv(name); value != nullptr) environment[name] = value;
  }
  return environment;
}

}  // namespace muster::kube
