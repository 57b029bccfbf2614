// Reading JSON with the path in the complaint ("data.result[3].value: expected a pair"); nlohmann
// stays behind it. Only for the .cc files of this folder: it brings the library's header along.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "base/strings.h"
#include "probes/prometheus/api.h"

namespace muster::prometheus {

using Json = nlohmann::json;

inline tl::unexpected<Error> Unexpected(std::string_view where, std::string_view expected) {
  return Fail(Code::kParse, fmt::format("{}: expected {}", where, expected));
}

// Never throws; kParse for anything that is not one whole document.
inline Result<Json> ReadJson(std::string_view text) {
  Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) return Fail(Code::kParse, "not a whole JSON document");
  return document;
}

inline const Json* Member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

inline Result<std::string> Text(const Json& object, std::string_view key, std::string_view where) {
  const Json* member = Member(object, key);
  if (member == nullptr || !member->is_string()) {
    return Unexpected(fmt::format("{}.{}", where, key), "text");
  }
  return member->get<std::string>();
}

// Absent and null give "", another type is an error.
inline Result<std::string> OptionalText(const Json& object, std::string_view key,
                                        std::string_view where) {
  const Json* member = Member(object, key);
  if (member == nullptr || member->is_null()) return std::string();
  return Text(object, key, where);
}

inline Result<const Json*> List(const Json& object, std::string_view key, std::string_view where) {
  const Json* member = Member(object, key);
  if (member == nullptr || !member->is_array()) {
    return Unexpected(fmt::format("{}.{}", where, key), "a list");
  }
  return member;
}

inline Result<Labels> TextMap(const Json& object, std::string_view key, std::string_view where) {
  const Json* member = Member(object, key);
  if (member == nullptr || !member->is_object()) {
    return Unexpected(fmt::format("{}.{}", where, key), "an object of texts");
  }
  Labels labels;
  for (const auto& [name, value] : member->items()) {
    if (!value.is_string()) return Unexpected(fmt::format("{}.{}.{}", where, key, name), "text");
    labels.emplace(name, value.get<std::string>());
  }
  return labels;
}

}  // namespace muster::prometheus
