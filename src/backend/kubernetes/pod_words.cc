#include "backend/kubernetes/pod_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "kube/json.h"

namespace muster::kubernetes {

using kube::Json;

std::string WordOf(const Json& pod) {
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const Json& one : kube::ListAt(pod, "status", list)) {
      for (const char* state : {"waiting", "terminated"}) {
        const std::string reason = kube::TextAt(one, "state", state, "reason");
        if (reason.empty() || reason == "Completed") continue;
        const std::string message = kube::TextAt(one, "state", state, "message");
        return message.empty() ? reason : reason + ": " + message;
      }
    }
  }
  return "";
}

std::string StoppedBefore(const Json& pod) {
  for (const Json& one : kube::ListAt(pod, "status", "initContainerStatuses")) {
    const Json& ended = kube::At(one, "state", "terminated");
    const int64_t code = kube::IntAt(ended, "exitCode", 0);
    if (code == 0) continue;
    const std::string message = kube::TextAt(ended, "message");
    return fmt::format("its container {} ended with exit code {}{}{}", kube::TextAt(one, "name"),
                       code, message.empty() ? "" : ": ", message);
  }
  return "";
}

bool HasRun(const Json& pod) {
  const Json& statuses = kube::ListAt(pod, "status", "containerStatuses");
  return std::any_of(statuses.begin(), statuses.end(), [](const Json& one) {
    return !kube::At(one, "state", "running").is_null() ||
           !kube::At(one, "state", "terminated").is_null();
  });
}

}  // namespace muster::kubernetes
