#include "probes/prometheus/api.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "probes/prometheus/json.h"

namespace muster::prometheus {

namespace {

Result<std::optional<TimePoint>> ReadTime(const Json& object, std::string_view key,
                                          std::string_view where) {
  TRY(const std::string text, Text(object, key, where));
  return ParseApiTime(text).Context(fmt::format("{}.{}", where, key));
}

Result<double> Number(const Json& object, std::string_view key, std::string_view where) {
  const Json* member = Member(object, key);
  if (member == nullptr || !member->is_number()) {
    return Unexpected(fmt::format("{}.{}", where, key), "a number");
  }
  return member->get<double>();
}

Result<std::vector<std::string>> TextList(const Json& document, std::string_view key) {
  std::vector<std::string> texts;
  const Json* member = Member(document, key);
  if (member == nullptr || member->is_null()) return texts;
  if (!member->is_array()) return Unexpected(key, "a list of texts");
  for (const Json& text : *member) {
    if (!text.is_string()) return Unexpected(key, "a list of texts");
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

Error ApiError(const Json& document) {
  const auto text = [&](std::string_view key) {
    return OptionalText(document, key, "answer").value_or("");
  };
  const std::string type = text("errorType");
  Error error;
  error.code = type == "timeout" || type == "canceled"     ? Code::kTimeout
               : type == "unavailable"                     ? Code::kUnavailable
               : type == "bad_data" || type == "execution" ? Code::kInvalid
               : type == "not_found"                       ? Code::kNotFound
                                                           : Code::kInternal;
  error.message = fmt::format("Prometheus says {}: {}", type.empty() ? "error" : type,
                              Shorten(Printable(text("error")), 200));
  return error;
}

// The envelope of every /api/v1 answer.
struct Envelope {
  Json document;
  Notes notes;
  const Json& data() const { return document["data"]; }
};
Result<Envelope> Open(std::string_view body) {
  TRY(Json document, ReadJson(body));
  TRY(const std::string status, Text(document, "status", "answer"));
  if (status == "error") return Fail(ApiError(document));
  if (status != "success") return Unexpected("answer.status", "success or error");
  if (Member(document, "data") == nullptr) return Unexpected("answer.data", "something");
  Envelope envelope;
  TRY(envelope.notes.warnings, TextList(document, "warnings"));
  TRY(envelope.notes.infos, TextList(document, "infos"));
  envelope.document = std::move(document);
  return envelope;
}

Result<Point> ReadPoint(const Json& pair, std::string_view where) {
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_string()) {
    return Unexpected(where, "a pair of time and text");
  }
  const std::optional<double> value = ParseSampleValue(pair[1].get_ref<const std::string&>());
  if (!value) return Unexpected(where, "a number written as text");
  return Point{pair[0].get<double>(), *value};
}

Result<Series> ReadSeries(const Json& element, bool matrix, std::string_view where) {
  Series series;
  TRY(series.labels, TextMap(element, "metric", where));
  if (!matrix) {
    const Json* value = Member(element, "value");
    // A native histogram has "histogram" in its place; no fact of ours is one.
    if (value == nullptr) return Unexpected(fmt::format("{}.value", where), "a pair");
    TRY(const Point point, ReadPoint(*value, fmt::format("{}.value", where)));
    series.points.push_back(point);
    return series;
  }
  TRY(const Json* values, List(element, "values", where));
  for (const Json& value : *values) {
    TRY(const Point point, ReadPoint(value, fmt::format("{}.values", where)));
    series.points.push_back(point);
  }
  return series;
}

Result<Target> ReadTarget(const Json& element, std::string_view where) {
  Target target;
  TRY(target.labels, TextMap(element, "labels", where));
  TRY(target.discovered, TextMap(element, "discoveredLabels", where));
  TRY(target.url, Text(element, "scrapeUrl", where));
  TRY(target.health, Text(element, "health", where));
  TRY(target.pool, OptionalText(element, "scrapePool", where));
  TRY(target.last_error, OptionalText(element, "lastError", where));
  TRY(target.last_scrape, ReadTime(element, "lastScrape", where));
  TRY(const std::string interval, OptionalText(element, "scrapeInterval", where));
  if (!interval.empty()) {
    target.scrape_interval_s = ParsePromDuration(interval);
    if (!target.scrape_interval_s) {
      return Unexpected(fmt::format("{}.scrapeInterval", where), "a duration such as 15s");
    }
  }
  return target;
}

Status AddRules(const Json& group, size_t index, std::vector<Rule>& rules) {
  const std::string where = fmt::format("data.groups[{}]", index);
  TRY(const std::string name, Text(group, "name", where));
  TRY(const double interval, Number(group, "interval", where));
  TRY(const Json* list, List(group, "rules", where));
  for (const Json& element : *list) {
    Rule& rule = rules.emplace_back();
    rule.group = name;
    rule.interval_s = interval;
    TRY(rule.name, Text(element, "name", where));
    TRY(rule.type, Text(element, "type", where));
    TRY(rule.health, Text(element, "health", where));
    TRY(rule.last_error, OptionalText(element, "lastError", where));
    if (rule.type != "alerting") continue;
    TRY(rule.state, Text(element, "state", where));
    TRY(rule.for_s, Number(element, "duration", where));
  }
  return {};
}

Result<Alert> ReadAlert(const Json& element, std::string_view where) {
  Alert alert;
  TRY(alert.labels, TextMap(element, "labels", where));
  TRY(alert.annotations, TextMap(element, "annotations", where));
  TRY(alert.fingerprint, OptionalText(element, "fingerprint", where));
  TRY(alert.generator_url, OptionalText(element, "generatorURL", where));
  return alert;
}

Result<Alert> ReadPrometheusAlert(const Json& element, std::string_view where) {
  TRY(Alert alert, ReadAlert(element, where));
  TRY(alert.state, Text(element, "state", where));
  TRY(alert.starts_at, ReadTime(element, "activeAt", where));
  return alert;
}

Result<Alert> ReadAlertmanagerAlert(const Json& element, std::string_view where) {
  TRY(Alert alert, ReadAlert(element, where));
  const Json* status = Member(element, "status");
  if (status == nullptr) return Unexpected(fmt::format("{}.status", where), "an object");
  TRY(alert.state, Text(*status, "state", fmt::format("{}.status", where)));
  TRY(alert.starts_at, ReadTime(element, "startsAt", where));
  TRY(alert.ends_at, ReadTime(element, "endsAt", where));
  return alert;
}

Result<Alert> ReadWebhookAlert(const Json& element, std::string_view where) {
  TRY(Alert alert, ReadAlert(element, where));
  TRY(alert.state, Text(element, "status", where));
  TRY(alert.starts_at, ReadTime(element, "startsAt", where));
  TRY(alert.ends_at, ReadTime(element, "endsAt", where));
  return alert;
}

template <typename Reader>
Result<std::vector<Alert>> ReadAlerts(const Json& list, std::string_view where, Reader read) {
  std::vector<Alert> alerts;
  alerts.reserve(list.size());
  for (const Json& element : list) {
    TRY(Alert alert, read(element, fmt::format("{}[{}]", where, alerts.size())));
    alerts.push_back(std::move(alert));
  }
  return alerts;
}

}  // namespace

std::string FormatLabels(const Labels& labels, size_t limit) {
  std::string text;
  if (const auto name = labels.find("__name__"); name != labels.end()) text = name->second;
  text += '{';
  bool first = true;
  for (const auto& [name, value] : labels) {
    if (name == "__name__") continue;
    if (!first) text += ',';
    first = false;
    text += fmt::format("{}=\"{}\"", name, value);
  }
  text += '}';
  return Shorten(Printable(text), limit);
}

std::string_view Alert::Name() const {
  const auto name = labels.find("alertname");
  return name == labels.end() ? std::string_view() : std::string_view(name->second);
}

std::string Alert::Key() const {
  return fmt::format("{}@{}", fingerprint, starts_at ? FormatTime(*starts_at) : "");
}

Result<QueryAnswer> ParseQuery(std::string_view body) {
  TRY(const Envelope envelope, Open(body));
  QueryAnswer answer;
  answer.notes = envelope.notes;
  TRY(answer.result_type, Text(envelope.data(), "resultType", "data"));
  TRY(const Json* result, List(envelope.data(), "result", "data"));
  if (answer.result_type == "scalar") {
    TRY(const Point point, ReadPoint(*result, "data.result"));
    answer.series.push_back({{}, {point}});
    return answer;
  }
  if (answer.result_type == "string") return answer;
  const bool matrix = answer.result_type == "matrix";
  if (!matrix && answer.result_type != "vector") {
    return Unexpected("data.resultType", "vector, matrix, scalar or string");
  }
  answer.series.reserve(result->size());
  for (const Json& element : *result) {
    TRY(Series series,
        ReadSeries(element, matrix, fmt::format("data.result[{}]", answer.series.size())));
    answer.series.push_back(std::move(series));
  }
  return answer;
}

Result<TargetsAnswer> ParseTargets(std::string_view body) {
  TRY(const Envelope envelope, Open(body));
  TargetsAnswer answer;
  answer.notes = envelope.notes;
  TRY(const Json* active, List(envelope.data(), "activeTargets", "data"));
  answer.active.reserve(active->size());
  for (const Json& element : *active) {
    TRY(Target target,
        ReadTarget(element, fmt::format("data.activeTargets[{}]", answer.active.size())));
    answer.active.push_back(std::move(target));
  }
  return answer;
}

Result<RulesAnswer> ParseRules(std::string_view body) {
  TRY(const Envelope envelope, Open(body));
  RulesAnswer answer;
  answer.notes = envelope.notes;
  TRY(const Json* groups, List(envelope.data(), "groups", "data"));
  for (size_t i = 0; i < groups->size(); ++i) TRY_VOID(AddRules((*groups)[i], i, answer.rules));
  return answer;
}

Result<AlertsAnswer> ParseAlerts(std::string_view body) {
  TRY(const Envelope envelope, Open(body));
  AlertsAnswer answer;
  answer.notes = envelope.notes;
  TRY(const Json* list, List(envelope.data(), "alerts", "data"));
  TRY(answer.alerts, ReadAlerts(*list, "data.alerts", ReadPrometheusAlert));
  return answer;
}

Result<std::vector<std::string>> ParseAlertmanagers(std::string_view body) {
  TRY(const Envelope envelope, Open(body));
  TRY(const Json* list, List(envelope.data(), "activeAlertmanagers", "data"));
  std::vector<std::string> urls;
  for (const Json& element : *list) {
    TRY(std::string url, Text(element, "url", "data.activeAlertmanagers"));
    urls.push_back(std::move(url));
  }
  return urls;
}

Result<AlertsAnswer> ParseAlertmanagerAlerts(std::string_view body) {
  TRY(const Json document, ReadJson(body));
  if (!document.is_array()) return Unexpected("answer", "a list of alerts");
  AlertsAnswer answer;
  TRY(answer.alerts, ReadAlerts(document, "answer", ReadAlertmanagerAlert));
  return answer;
}

Result<WebhookMessage> ParseWebhook(std::string_view body) {
  TRY(const Json document, ReadJson(body));
  TRY(const std::string version, Text(document, "version", "message"));
  if (version != "4") return Unexpected("message.version", "\"4\"");
  WebhookMessage message;
  TRY(message.receiver, Text(document, "receiver", "message"));
  TRY(message.status, Text(document, "status", "message"));
  TRY(message.group_key, Text(document, "groupKey", "message"));
  TRY(message.external_url, OptionalText(document, "externalURL", "message"));
  TRY(message.group_labels, TextMap(document, "groupLabels", "message"));
  TRY(message.common_labels, TextMap(document, "commonLabels", "message"));
  TRY(message.common_annotations, TextMap(document, "commonAnnotations", "message"));
  if (const Json* truncated = Member(document, "truncatedAlerts"); truncated != nullptr) {
    if (!truncated->is_number_unsigned()) return Unexpected("message.truncatedAlerts", "a count");
    message.truncated_alerts = truncated->get<uint64_t>();
  }
  TRY(const Json* alerts, List(document, "alerts", "message"));
  TRY(message.alerts, ReadAlerts(*alerts, "message.alerts", ReadWebhookAlert));
  return message;
}

std::optional<double> ParsePromDuration(std::string_view text) {
  if (text == "0") return 0.0;
  if (text.empty()) return std::nullopt;
  double seconds = 0;
  while (!text.empty()) {
    const size_t digits = text.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string_view::npos || digits > 9) return std::nullopt;
    const Result<int64_t> count = ParseInt(text.substr(0, digits));
    if (!count) return std::nullopt;
    text.remove_prefix(digits);
    const size_t letters = std::min(text.find_first_of("0123456789"), text.size());
    const std::string_view unit = text.substr(0, letters);
    text.remove_prefix(letters);
    const double scale = unit == "ms"  ? 0.001
                         : unit == "s" ? 1
                         : unit == "m" ? 60
                         : unit == "h" ? 3600
                         : unit == "d" ? 86'400
                         : unit == "w" ? 604'800
                         : unit == "y" ? 31'536'000
                                       : 0;
    if (scale == 0) return std::nullopt;
    seconds += static_cast<double>(*count) * scale;
  }
  return seconds;
}

Result<std::optional<TimePoint>> ParseApiTime(std::string_view text) {
  if (StartsWith(text, "0001-01-01")) return std::optional<TimePoint>();
  // Nanoseconds in 64 bits reach from 1677 to 2262.
  const Result<int64_t> year = ParseInt(text.substr(0, 4));
  if (!year || *year < 1700 || *year > 2200)
    return Unexpected(Shorten(Printable(text), 40), "a time");
  const Result<TimePoint> time = ParseTime(text);
  if (!time.ok()) return Unexpected(Shorten(Printable(text), 40), "a time");
  return std::optional<TimePoint>(*time);
}

std::optional<double> ParseSampleValue(std::string_view text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "+Inf" || text == "Inf") return std::numeric_limits<double>::infinity();
  if (text == "-Inf") return -std::numeric_limits<double>::infinity();
  const Result<double> value = ParseDouble(text);
  if (!value) return std::nullopt;
  return *value;
}

std::string UrlEncode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace muster::prometheus
