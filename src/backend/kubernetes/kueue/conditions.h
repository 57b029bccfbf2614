// The conditions of a Workload's status, as JSON: read, and one of ours put among them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "kube/json.h"

namespace muster::kueue {

// Null when there is none of the type.
const kube::Json& ConditionOf(const kube::Json& conditions, std::string_view type);
bool IsTrue(const kube::Json& conditions, std::string_view type);
// Since when a condition is as it is.
std::optional<TimePoint> SinceOf(const kube::Json& condition);
// In the place of the one of its type; the time goes on only with the status.
void SetCondition(kube::Json& conditions, int64_t generation, const char* type, bool status,
                  const std::string& reason, const std::string& message, const std::string& now);
void RemoveCondition(kube::Json& conditions, std::string_view type);

}  // namespace muster::kueue
