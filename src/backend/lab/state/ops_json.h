// The lab's ops in lab.json. Private to lab/state.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "backend/lab/state/lab_state.h"

namespace muster::lab {

nlohmann::json OpsToJson(const LabState& state);
// What .at() and .get() throw is caught by the reader of lab.json.
Status OpsFromJson(const nlohmann::json& json, LabState& state);

}  // namespace muster::lab
