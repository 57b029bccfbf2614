// Alerts as Alertmanager's webhook hands them over, and which runbook each of them asks for, on
// what. Pure: the text comes in, what it means goes out.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/cluster.h"
#include "model/subject.h"
#include "plan/runbook.h"

namespace muster {

struct Alert {
  std::string name;         // the label alertname
  std::string fingerprint;  // Alertmanager's hash of the labels, 16 hex digits
  bool firing = true;
  TimePoint starts_at;
  std::map<std::string, std::string> labels;
};

inline constexpr size_t kMostAlertsAtOnce = 1000;

// The body of a webhook of version "4" (prometheus.io/docs/alerting/latest/configuration,
// webhook_config; template.Data in Alertmanager's sources). Keys that are not known are left alone:
// later releases add some. kInvalid names what is wrong with which alert; nothing of a body that is
// wrong anywhere is taken. At most kMostAlertsAtOnce.
Result<std::vector<Alert>> ParseAlerts(std::string_view body);

// What an alert asks for. Not empty `why_not`: nothing, and why.
struct AlertMatch {
  std::string runbook, why_not;
  Subject on;
  std::map<std::string, std::string> inputs;
  Duration stale_after{};
};

// The runbook whose trigger names the alert; the node from the first of the labels node, hostname,
// Hostname and instance (without its port) that names one of the cluster; the GPU
// from the label gpu. Inputs are labels of the name input_NAME, which a rule sets on purpose
// (Prometheus itself sets `job`); a value that is not plain (letters, digits and ._:/,@+-, not
// leading with -) is refused, because it ends in commands.
// Linear in the runbooks' alerts and the labels.
AlertMatch MatchAlert(const Alert& alert, std::span<const Runbook* const> books,
                      const Cluster& cluster);

}  // namespace muster
