// The schemas of what repairs: runbooks, their plans, runs, journals and tickets, nodes that are
// held, alerts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace muster::cli {

// Kind and schema, without apiVersion and kind, which `muster schema` adds.
std::vector<std::pair<std::string, nlohmann::ordered_json>> RunbookKinds();

}  // namespace muster::cli
