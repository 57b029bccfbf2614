// Reading JSON fields that may be missing or of another type, without exceptions. Private to
// probes/facility.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace muster::facility {

using Json = nlohmann::json;

// Discarded when the text is damaged, or nested deeper than any document we read (printing one
// recurses).
inline Json ParseJson(std::string_view text) {
  constexpr int kMaxDepth = 64;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted && text[i] == '\\') ++i;
    if (quoted) continue;
    if (text[i] == '[' || text[i] == '{') ++depth;
    if (text[i] == ']' || text[i] == '}') --depth;
    if (depth > kMaxDepth) return Json(Json::value_t::discarded);
  }
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

inline const Json* Member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}
inline std::optional<std::string> Text(const Json& object, const char* key) {
  const Json* member = Member(object, key);
  if (member == nullptr || !member->is_string()) return std::nullopt;
  return member->get<std::string>();
}
inline std::optional<bool> Bool(const Json& object, const char* key) {
  const Json* member = Member(object, key);
  if (member == nullptr || !member->is_boolean()) return std::nullopt;
  return member->get<bool>();
}
// The elements of an array member; nothing when it is missing or no array.
inline const Json* Array(const Json& object, const char* key) {
  const Json* member = Member(object, key);
  return member != nullptr && member->is_array() ? member : nullptr;
}
// Bytes that are not UTF-8 must not end the program.
inline std::string Dump(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace muster::facility
