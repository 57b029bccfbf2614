// The schemas of what looks without judging a gate: bill of materials, advice, preflight, pool, KV
// sheet.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace muster::cli {

// Kind and schema, without apiVersion and kind, which `muster schema` adds.
std::vector<std::pair<std::string, nlohmann::ordered_json>> LookKinds();

}  // namespace muster::cli
