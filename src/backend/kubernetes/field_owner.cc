#include "backend/kubernetes/field_owner.h"

#include <algorithm>

#include "base/strings.h"
#include "kube/json.h"

namespace muster::kubernetes {

namespace {

using kube::Json;

bool Owns(const Json& entry, const std::vector<std::string>& path) {
  const Json* at = &kube::ObjectAt(entry, "fieldsV1");
  for (const std::string& name : path) {
    const auto it = at->find(name);
    if (it == at->end()) return false;
    at = &*it;
  }
  return true;
}

}  // namespace

std::string OwnerOf(std::string_view object, const std::vector<std::string>& path) {
  const Json json = Json::parse(object, nullptr, false);
  std::string manager, time;
  for (const Json& entry : kube::ListAt(json, "metadata", "managedFields")) {
    if (!Owns(entry, path)) continue;
    // Times are RFC 3339 in UTC: they sort as text.
    const std::string at = kube::TextAt(entry, "time");
    if (!manager.empty() && at < time) continue;
    manager = kube::TextAt(entry, "manager");
    time = at;
  }
  if (manager.empty()) return "";
  return Shorten(Printable(manager), 100) + (time.empty() ? "" : " at " + Printable(time));
}

}  // namespace muster::kubernetes
