// Small JSON documents of an API server read without surprise: what is absent, or of another type,
// is nothing; and written as the server takes them. Only for the .cc files of whoever does that: it
// brings nlohmann-json along.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/time.h"

namespace muster::kube {

using Json = nlohmann::json;

// The member under these keys, one in the other; null where there is none.
inline const Json& At(const Json& object) { return object; }
template <typename... Keys>
const Json& At(const Json& object, std::string_view key, Keys... inner) {
  static const Json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : At(*found, inner...);
}
// The same; empty where it is no list, or no object.
template <typename... Keys>
const Json& ListAt(const Json& object, Keys... keys) {
  static const Json kNone = Json::array();
  const Json& found = At(object, keys...);
  return found.is_array() ? found : kNone;
}
template <typename... Keys>
const Json& ObjectAt(const Json& object, Keys... keys) {
  static const Json kNone = Json::object();
  const Json& found = At(object, keys...);
  return found.is_object() ? found : kNone;
}
template <typename... Keys>
std::string TextAt(const Json& object, Keys... keys) {
  const Json& found = At(object, keys...);
  return found.is_string() ? found.get<std::string>() : std::string();
}
inline int64_t IntAt(const Json& object, std::string_view key, int64_t otherwise) {
  const Json& found = At(object, key);
  return found.is_number_integer() ? found.get<int64_t>() : otherwise;
}
// Of pods, replicas, ranks: between 0 and a million, whatever is written there.
inline int CountAt(const Json& object, std::string_view key, int otherwise) {
  const Json& found = At(object, key);
  if (!found.is_number_integer()) return otherwise;
  return static_cast<int>(std::clamp<int64_t>(found.get<int64_t>(), 0, 1'000'000));
}

// On one line. Bytes that are no UTF-8 become U+FFFD: the server would refuse them with less of a
// reason.
inline std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Times of objects have whole seconds (only those of Leases have more).
inline std::string WholeSeconds(TimePoint time) {
  return FormatTime(std::chrono::floor<std::chrono::seconds>(time));
}

}  // namespace muster::kube
