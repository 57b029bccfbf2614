#include "backend/kubernetes/field_owner.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster::kubernetes {

namespace {

using Json = nlohmann::json;

std::string TextOf(const Json& entry, const char* key) {
  const auto it = entry.find(key);
  return it != entry.end() && it->is_string() ? it->get<std::string>() : "";
}

bool Owns(const Json& entry, const std::vector<std::string>& path) {
  const auto fields = entry.find("fieldsV1");
  const Json* at = fields == entry.end() ? nullptr : &*fields;
  for (const std::string& name : path) {
    if (at == nullptr || !at->is_object()) return false;
    const auto it = at->find(name);
    at = it == at->end() ? nullptr : &*it;
  }
  return at != nullptr;
}

}  // namespace

std::string OwnerOf(std::string_view object, const std::vector<std::string>& path) {
  const Json json = Json::parse(object, nullptr, false);
  const Json::json_pointer where("/metadata/managedFields");
  if (!json.is_object() || !json.contains(where) || !json[where].is_array()) return "";
  std::string manager, time;
  for (const Json& entry : json[where]) {
    if (!entry.is_object() || !Owns(entry, path)) continue;
    // Times are RFC 3339 in UTC: they sort as text.
    const std::string at = TextOf(entry, "time");
    if (!manager.empty() && at < time) continue;
    manager = TextOf(entry, "manager");
    time = at;
  }
  if (manager.empty()) return "";
  return Shorten(Printable(manager), 100) + (time.empty() ? "" : " at " + Printable(time));
}

}  // namespace muster::kubernetes
