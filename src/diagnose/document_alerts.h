// Alerts as documents: what Alertmanager posts to a webhook, its API's list, Prometheus' own.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "diagnose/section.h"

namespace muster::diagnose {

// An alert that fires is a complaint, in the words of its summary; a rule of the catalogue may know
// them. False when the document is no list of alerts.
// Source: Alertmanager, webhook_config and openapi.yaml; Prometheus HTTP API, /api/v1/alerts.
bool ReadAlerts(const Section& section, const nlohmann::json& root, FactStore& facts);

}  // namespace muster::diagnose
