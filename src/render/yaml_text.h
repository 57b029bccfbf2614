// JSON values as the YAML that people keep in files: plain words without quotes, lists of words on
// one line, scripts as blocks.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace muster::render {

std::string ToYamlText(const nlohmann::ordered_json& json);

}  // namespace muster::render
