// A node's dcgm-exporter as the node would see it on its own port 9400, where it is a pod: found by
// its labels, read through the API server's proxy. What is no question to the node itself, and a
// node without such a pod, is left to whoever else reaches the node.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "kube/client.h"
#include "world/http.h"

namespace muster::kubernetes {

// Borrowed, all of them; `otherwise` answers what is not answered here.
std::unique_ptr<Http> MakeExporterHttp(kube::Client& client, std::mutex& client_mutex,
                                       std::string node, Http& otherwise);

}  // namespace muster::kubernetes
