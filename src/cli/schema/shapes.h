// The words that the JSON schemas of documents are written in.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace muster::cli {

using Json = nlohmann::ordered_json;

Json Object(std::initializer_list<std::pair<const char*, Json>> properties,
            std::vector<std::string> required);
Json ListOf(Json items);
Json LevelSchema();
extern const Json kText, kNumber, kInteger, kBool;

}  // namespace muster::cli
