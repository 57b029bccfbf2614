// Members of a Volcano Job's JSON that may be absent or of another form. Private to volcano_*.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace muster::kubesched::volcano {

using Json = nlohmann::json;

inline std::string Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}
inline int Number(const Json& object, const char* key, int otherwise) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return otherwise;
  return static_cast<int>(std::clamp<int64_t>(found->get<int64_t>(), 0, 1'000'000));
}
inline const Json& Member(const Json& object, const char* key) {
  static const Json kNone = Json::object();
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : kNone;
}
inline const Json& List(const Json& object, const char* key) {
  static const Json kNone = Json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kNone;
}

struct Task {
  std::string name;
  int replicas = 1;
  const Json* spec = nullptr;
};

}  // namespace muster::kubesched::volcano
