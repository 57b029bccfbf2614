#include "backend/kubernetes/pod_words.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace muster::kubernetes {

namespace {

using nlohmann::json;

const json* At(const json& object, std::initializer_list<const char*> keys) {
  const json* at = &object;
  for (const char* key : keys) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(key);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}
std::string TextOf(const json* at) {
  return at != nullptr && at->is_string() ? at->get<std::string>() : std::string();
}

}  // namespace

std::string WordOf(const json& pod) {
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    const json* statuses = At(pod, {"status", list});
    if (statuses == nullptr || !statuses->is_array()) continue;
    for (const json& one : *statuses) {
      for (const char* state : {"waiting", "terminated"}) {
        const std::string reason = TextOf(At(one, {"state", state, "reason"}));
        if (reason.empty() || reason == "Completed") continue;
        const std::string message = TextOf(At(one, {"state", state, "message"}));
        return message.empty() ? reason : reason + ": " + message;
      }
    }
  }
  return "";
}

bool HasRun(const json& pod) {
  const json* statuses = At(pod, {"status", "containerStatuses"});
  if (statuses == nullptr || !statuses->is_array()) return false;
  return std::any_of(statuses->begin(), statuses->end(), [](const json& one) {
    return At(one, {"state", "running"}) != nullptr || At(one, {"state", "terminated"}) != nullptr;
  });
}

}  // namespace muster::kubernetes
