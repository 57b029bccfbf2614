// A lint report as SARIF 2.1.0, the form that code hosts show beside the changed line.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/lint.h"

namespace muster::cli {
nlohmann::ordered_json ToSarif(const LintReport& report, const LintRules& rules);
}  // namespace muster::cli
