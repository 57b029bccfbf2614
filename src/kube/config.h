// Where the API server is and as whom to speak to it: from kubeconfig files, as kubectl reads them,
// or from what a pod finds in its file system. Nothing is asked of the server here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/transport.h"
#include "world/files.h"

namespace muster::kube {

// One way to prove who we are. The first that is set counts, as in kubectl: token file, token,
// exec, client certificate alone.
struct AuthConfig {
  std::string token;
  std::string token_file;  // read again while we run: bound service account tokens rotate
  struct Exec {
    std::string api_version;  // client.authentication.k8s.io/v1 or v1beta1
    std::vector<std::string> argv;
    std::map<std::string, std::string> env;
    std::string install_hint;
    bool provide_cluster_info = false;
    bool operator==(const Exec&) const = default;
  };
  std::optional<Exec> exec;
  std::string impersonate;  // a user name
};

struct ClusterConfig {
  std::string server;     // "https://127.0.0.1:6443", no slash at the end
  std::string proxy_url;  // "http://proxy:3128", "socks5://..."; empty: as the environment says
  TlsIdentity tls;
  AuthConfig auth;
  std::string ns = "default";
  std::string context;  // empty in a pod
  std::string
      source;  // for messages: "context lab of /root/.kube/config", "the pod's service account"
};

// Reads and merges the files (the first that says something counts) and takes `context`, or the
// current one. kInvalid with file, line and column for text that is no kubeconfig; kNotFound with
// the contexts that there are.
Result<ClusterConfig> ReadKubeconfig(Files& files, const std::vector<std::string>& paths,
                                     const std::string& context = {});

// What kubectl would do with this environment: KUBECONFIG, else the pod's service account when
// KUBERNETES_SERVICE_HOST is set and $HOME/.kube/config is absent, else $HOME/.kube/config.
// `kubeconfig` and `context` are the user's own words and come first when not empty.
Result<ClusterConfig> FindCluster(Files& files,
                                  const std::map<std::string, std::string>& environment,
                                  const std::string& kubeconfig = {},
                                  const std::string& context = {});

// The service account of the pod that we run in.
Result<ClusterConfig> InCluster(Files& files,
                                const std::map<std::string, std::string>& environment);

}  // namespace muster::kube
