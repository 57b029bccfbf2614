#include "backend/kubernetes/held_taint.h"

#include <algorithm>

#include "backend/kubernetes/kubernetes_actuator.h"
#include "kube/json.h"

namespace muster::kubernetes {

namespace {

using kube::Json;

// A label's value: letters, digits, "-", "_", "."; at most 63, ending in a letter or digit.
std::string AsTaintValue(std::string run) {
  run.resize(std::min<size_t>(run.size(), 63));
  for (char& c : run) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '-' && c != '_' && c != '.') c = '-';
  }
  const std::string ends = "-_.";
  while (!run.empty() && ends.find(run.back()) != std::string::npos) run.pop_back();
  while (!run.empty() && ends.find(run.front()) != std::string::npos) run.erase(0, 1);
  return run;
}

}  // namespace

std::optional<std::string> TaintsWith(const std::string& node_json, const std::string& run,
                                      bool held) {
  const Json node = Json::parse(node_json, nullptr, false);
  const Json& was = kube::ListAt(node, "spec", "taints");
  Json taints = Json::array();
  for (const Json& taint : was) {
    if (kube::TextAt(taint, "key") != kHeldTaint) taints.push_back(taint);
  }
  if (held)
    taints.push_back(
        {{"key", kHeldTaint}, {"value", AsTaintValue(run)}, {"effect", "PreferNoSchedule"}});
  if (taints == was) return std::nullopt;
  return taints.dump();
}

}  // namespace muster::kubernetes
