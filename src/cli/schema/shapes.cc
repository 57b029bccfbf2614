#include "cli/schema/shapes.h"

#include <nlohmann/json.hpp>

namespace muster::cli {

Json Object(std::initializer_list<std::pair<const char*, Json>> properties,
            std::vector<std::string> required) {
  Json json = {{"type", "object"}, {"properties", Json::object()}, {"required", required}};
  for (const auto& [name, schema] : properties) json["properties"][name] = schema;
  return json;
}

Json ListOf(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }

Json LevelSchema() { return {{"enum", {"pass", "warn", "unknown", "fail", "not_applicable"}}}; }

const Json kText = {{"type", "string"}};
const Json kNumber = {{"type", "number"}};
const Json kInteger = {{"type", "integer"}};
const Json kBool = {{"type", "boolean"}};

}  // namespace muster::cli
