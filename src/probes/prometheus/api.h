// The answers of Prometheus' HTTP API and of Alertmanager's, as plain data. Strict: an element
// without what the server always writes makes the whole answer unreadable, because a list that lost
// one entry looks like health.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster::prometheus {

using Labels = std::map<std::string, std::string, std::less<>>;
// name{a="b",c="d"}, at most `limit` bytes.
std::string FormatLabels(const Labels& labels, size_t limit = 160);

// What the server says beside the data. A warning can mean that the answer is partial (Thanos,
// Mimir, remote read).
struct Notes {
  std::vector<std::string> warnings, infos;
};

struct Point {
  double time_s = 0;  // Unix seconds, of the evaluation, not of the sample
  double value = 0;   // may be NaN or infinite: the API writes values as strings
};
struct Series {
  Labels labels;
  std::vector<Point> points;  // one of a vector, several of a matrix
};
// /api/v1/query and /api/v1/query_range. A scalar is one series without labels.
struct QueryAnswer {
  std::string result_type;  // "vector", "matrix", "scalar", "string"
  std::vector<Series> series;
  Notes notes;
};

// /api/v1/targets, the active ones.
struct Target {
  Labels labels;      // after relabelling
  Labels discovered;  // before: __meta_kubernetes_pod_node_name and the like
  std::string pool, url, health, last_error;
  std::optional<TimePoint> last_scrape;     // nothing before the first scrape
  std::optional<double> scrape_interval_s;  // nothing before Prometheus 2.28, which does not say it
};
struct TargetsAnswer {
  std::vector<Target> active;
  Notes notes;
};

// /api/v1/rules; recording rules have type "recording" and no state.
struct Rule {
  std::string name, type, state, health, last_error, group;
  double for_s = 0, interval_s = 0;
};
struct RulesAnswer {
  std::vector<Rule> rules;
  Notes notes;
};

// An alert, of Prometheus ("pending", "firing"), Alertmanager ("active", "suppressed",
// "unprocessed") or a webhook
// ("firing", "resolved").
struct Alert {
  Labels labels, annotations;
  std::string state;
  std::optional<TimePoint> starts_at, ends_at;  // ends_at: nothing while it fires
  std::string fingerprint, generator_url;
  std::string_view Name() const;  // the label alertname
  // Stays the same when a message is sent again: fingerprint and start.
  std::string Key() const;
};
struct AlertsAnswer {
  std::vector<Alert> alerts;
  Notes notes;
};

// Alertmanager's webhook message, version 4. Fields that Grafana and others add are ignored.
struct WebhookMessage {
  std::string receiver, status, group_key, external_url;
  Labels group_labels, common_labels, common_annotations;
  uint64_t truncated_alerts = 0;  // > 0: not all alerts are in the message; ask /api/v2/alerts
  std::vector<Alert> alerts;
};

// kParse: not such an answer (also when cut). A document with status "error" gives its errorType as
// code (kTimeout, kUnavailable, kInvalid for a bad query, else kInternal) and its text. Captures:
// Prometheus 2.42.0, Alertmanager 0.25.0.
Result<QueryAnswer> ParseQuery(std::string_view body);
Result<TargetsAnswer> ParseTargets(std::string_view body);
Result<RulesAnswer> ParseRules(std::string_view body);
Result<AlertsAnswer> ParseAlerts(std::string_view body);
// URLs under /api/v1/alertmanagers that Prometheus sends to; empty = it has nowhere to send.
Result<std::vector<std::string>> ParseAlertmanagers(std::string_view body);
// /api/v2/alerts of Alertmanager.
Result<AlertsAnswer> ParseAlertmanagerAlerts(std::string_view body);
Result<WebhookMessage> ParseWebhook(std::string_view body);

// "15s", "1m30s", "1d": Prometheus' own duration form, in seconds.
std::optional<double> ParsePromDuration(std::string_view text);
// RFC 3339 as Go writes it; nothing for "0001-01-01T00:00:00Z", Go's time that was never set.
// kParse otherwise, also for years that no server of ours can mean.
Result<std::optional<TimePoint>> ParseApiTime(std::string_view text);
// "NaN", "+Inf", "1.5e3" as the API writes sample values.
std::optional<double> ParseSampleValue(std::string_view text);
// For a query string: everything but RFC 3986's unreserved characters as %XX.
std::string UrlEncode(std::string_view text);

}  // namespace muster::prometheus
