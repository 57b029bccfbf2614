#include "backend/kubernetes/kueue/conditions.h"

#include <algorithm>

namespace muster::kueue {

using kube::Json;
using kube::TextAt;

const Json& ConditionOf(const Json& conditions, std::string_view type) {
  static const Json kNone;
  const auto found = std::find_if(conditions.begin(), conditions.end(), [&](const Json& condition) {
    return TextAt(condition, "type") == type;
  });
  return found == conditions.end() ? kNone : *found;
}

bool IsTrue(const Json& conditions, std::string_view type) {
  return TextAt(ConditionOf(conditions, type), "status") == "True";
}

std::optional<TimePoint> SinceOf(const Json& condition) {
  const auto since = ParseTime(TextAt(condition, "lastTransitionTime"));
  return since.ok() ? std::optional<TimePoint>(*since) : std::nullopt;
}

void SetCondition(Json& conditions, int64_t generation, const char* type, bool status,
                  const std::string& reason, const std::string& message, const std::string& now) {
  Json condition = {{"type", type},
                    {"status", status ? "True" : "False"},
                    {"reason", reason},
                    {"message", message},
                    {"lastTransitionTime", now},
                    {"observedGeneration", generation}};
  for (Json& other : conditions) {
    if (TextAt(other, "type") != type) continue;
    if (TextAt(other, "status") == TextAt(condition, "status") &&
        other.contains("lastTransitionTime"))
      condition["lastTransitionTime"] = other["lastTransitionTime"];
    other = std::move(condition);
    return;
  }
  conditions.push_back(std::move(condition));
}

void RemoveCondition(Json& conditions, std::string_view type) {
  for (auto at = conditions.begin(); at != conditions.end();)
    at = TextAt(*at, "type") == type ? conditions.erase(at) : std::next(at);
}

}  // namespace muster::kueue
