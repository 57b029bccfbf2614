// Prometheus' and Alertmanager's answers from the truth alone, for exams with hundreds of faults
// and labs of 1,024 nodes.
#include <algorithm>
#include <mutex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backend/lab/state/truth.h"
#include "backend/lab/telemetry/monitor.h"
#include "base/digest.h"
#include "base/strings.h"
#include "probes/prometheus/api.h"
#include "probes/prometheus/probes.h"
#include "world/stream_whole.h"

namespace muster::lab {

namespace {

using Json = nlohmann::json;

struct Url {
  std::string_view path;
  std::map<std::string, std::string> query;
};

std::string UrlDecode(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      if (const auto byte = ParseHex(text.substr(i + 1, 2)); byte.ok()) {
        plain += static_cast<char>(*byte);
        i += 2;
        continue;
      }
    }
    plain += text[i] == '+' ? ' ' : text[i];
  }
  return plain;
}

Url ReadUrlText(std::string_view text) {
  Url url;
  const size_t mark = text.find('?');
  url.path = text.substr(0, mark);
  if (mark == std::string_view::npos) return url;
  for (const std::string_view part : Split(text.substr(mark + 1), '&')) {
    const size_t equals = std::min(part.find('='), part.size());
    url.query[std::string(part.substr(0, equals))] =
        UrlDecode(part.substr(std::min(equals + 1, part.size())));
  }
  return url;
}

HttpResponse Respond(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.headers["content-type"] = "application/json";
  response.body = std::move(body);
  return response;
}
HttpResponse Success(const Json& data) {
  return Respond(200, Json{{"status", "success"}, {"data", data}}.dump());
}
HttpResponse ApiError(int status, std::string_view type, std::string_view what) {
  return Respond(status, Json{{"status", "error"}, {"errorType", type}, {"error", what}}.dump());
}

bool Answers(const NodeTruth& truth) { return truth.reachable && truth.exporter_answers; }

// Where in its scrape interval a node is: fixed for each, between 0 and 1.
double Phase(std::string_view node) { return static_cast<double>(Crc32c(node) % 997) / 997; }

class ModelledMonitor final : public MonitorPort {
 public:
  ModelledMonitor(const LabState& state, Clock& clock) : state_(state), clock_(clock) {}

  Status Prepare() override { return {}; }

  Result<HttpResponse> Do(const HttpRequest& request) override {
    const std::lock_guard lock(mutex_);
    if (const auto rest = After(request.url, "http://prometheus")) {
      return FromPrometheus(ReadUrlText(*rest));
    }
    if (const auto rest = After(request.url, "http://alertmanager")) {
      return FromAlertmanager(ReadUrlText(*rest), request);
    }
    if (const auto rest = After(request.url, "http://monitor")) {
      return FromSwitch(ReadUrlText(*rest));
    }
    return Fail(Code::kNotFound, "the monitor does not serve " + Printable(request.url));
  }

  Result<HttpResponse> Stream(const HttpRequest& request, const OnBytes& on_bytes,
                              Duration& sent_at) override {
    return StreamWhole(*this, clock_, request, on_bytes, sent_at);
  }

 private:
  HttpResponse FromPrometheus(const Url& url) const {
    if (url.path == "/-/ready") return Respond(200, "Prometheus Server is Ready.\n");
    if (url.path == "/api/v1/query") return Query(url);
    if (url.path == "/api/v1/targets") return Targets();
    if (url.path == "/api/v1/rules") return Rules();
    if (url.path == "/api/v1/alerts") return Success({{"alerts", FiringAlerts()}});
    if (url.path == "/api/v1/alertmanagers") {
      return Success({{"activeAlertmanagers",
                       Json::array({{{"url", "http://alertmanager:9093/api/v2/alerts"}}})},
                      {"droppedAlertmanagers", Json::array()}});
    }
    return Respond(404, "404 page not found\n");
  }

  HttpResponse Query(const Url& url) const {
    const auto query = url.query.find("query");
    if (query == url.query.end()) return ApiError(400, "bad_data", "no query");
    const bool age = query->second == prometheus::kSeriesQuery;
    if (!age && query->second != "DCGM_FI_DEV_GPU_UTIL") {
      return ApiError(422, "execution", "the modelled Prometheus knows only Muster's own queries");
    }
    const TimePoint now = clock_.Now();
    const double now_s = Seconds(now.time_since_epoch());
    Json result = Json::array();
    for (const Node& node : state_.cluster.nodes) {
      const NodeTruth truth = NodeNow(state_, node, now);
      if (!Answers(truth)) continue;
      const double age_s = Phase(node.name) * truth.scrape_interval_seconds;
      for (const Gpu& gpu : node.gpus) {
        const GpuTruth so = GpuNow(state_, node, gpu.index, now);
        if (!so.present || so.lost) continue;
        Json labels = SeriesLabels(node, so, truth);
        if (!age) labels["__name__"] = "DCGM_FI_DEV_GPU_UTIL";
        const double value = age ? age_s : so.utilisation * 100;
        result.push_back({{"metric", std::move(labels)},
                          {"value", Json::array({now_s, fmt::format("{}", value)})}});
      }
    }
    return Success({{"resultType", "vector"}, {"result", std::move(result)}});
  }

  static Json SeriesLabels(const Node& node, const GpuTruth& gpu, const NodeTruth& truth) {
    return {{"gpu", fmt::to_string(gpu.index)},
            {"UUID", gpu.uuid},
            {"pci_bus_id", gpu.pci_bus_id},
            {"device", fmt::format("nvidia{}", gpu.index)},
            {"modelName", gpu.model},
            {"hostname", node.name},
            {"DCGM_FI_DRIVER_VERSION", truth.loaded_driver_version},
            {"instance", node.name + ":9400"},
            {"job", "dcgm-exporter"}};
  }

  HttpResponse Targets() const {
    const TimePoint now = clock_.Now();
    Json targets = Json::array();
    for (const Node& node : state_.cluster.nodes) {
      const NodeTruth truth = NodeNow(state_, node, now);
      const bool up = Answers(truth);
      const std::string address = node.name + ":9400", url = "http://" + address + "/metrics";
      const std::string interval = fmt::format("{:.0f}s", truth.scrape_interval_seconds);
      const std::string error = !truth.reachable
                                    ? fmt::format("Get \"{}\": context deadline exceeded", url)
                                : up ? ""
                                     : "server returned HTTP status 503 Service Unavailable";
      const TimePoint scraped = now - FromSeconds(Phase(node.name) * truth.scrape_interval_seconds);
      targets.push_back({{"discoveredLabels",
                          {{"__address__", address},
                           {"__metrics_path__", "/metrics"},
                           {"__scheme__", "http"},
                           {"__scrape_interval__", interval},
                           {"job", "dcgm-exporter"}}},
                         {"labels", {{"instance", address}, {"job", "dcgm-exporter"}}},
                         {"scrapePool", "dcgm-exporter"},
                         {"scrapeUrl", url},
                         {"globalUrl", url},
                         {"lastError", error},
                         {"lastScrape", FormatTime(scraped)},
                         {"lastScrapeDuration", 0.002},
                         {"health", up ? "up" : "down"},
                         {"scrapeInterval", interval},
                         {"scrapeTimeout", "10s"}});
    }
    return Success({{"activeTargets", std::move(targets)}, {"droppedTargets", Json::array()}});
  }

  HttpResponse Rules() const {
    const Json rule = {{"name", std::string(prometheus::kSyntheticAlert)},
                       {"query", std::string(prometheus::kSyntheticMetric) + " > 0"},
                       {"state", raised_ ? "firing" : "inactive"},
                       {"duration", 0},
                       {"labels", {{"severity", "none"}}},
                       {"annotations", Json::object()},
                       {"alerts", FiringAlerts()},
                       {"health", "ok"},
                       {"type", "alerting"}};
    return Success({{"groups", Json::array({{{"name", "muster-lab"},
                                             {"file", "rules.yml"},
                                             {"interval", 15},
                                             {"rules", Json::array({rule})}}})}});
  }

  Json FiringAlerts() const {
    Json alerts = Json::array();
    if (raised_) {
      alerts.push_back({{"labels", RuleLabels()},
                        {"annotations", Json::object()},
                        {"state", "firing"},
                        {"activeAt", FormatTime(raised_at_)},
                        {"value", "1e+00"}});
    }
    return alerts;
  }

  static Json RuleLabels() {
    return {{"alertname", std::string(prometheus::kSyntheticAlert)},
            {"instance", "monitor:9464"},
            {"job", "muster"},
            {"severity", "none"}};
  }

  static Json HeldAlert(const Json& labels, const Json& annotations, TimePoint since,
                        TimePoint until) {
    return {{"labels", labels},
            {"annotations", annotations},
            {"startsAt", FormatTime(since)},
            {"endsAt", FormatTime(until)},
            {"updatedAt", FormatTime(since)},
            {"fingerprint", Sha256Hex(labels.dump()).substr(0, 16)},
            {"generatorURL", ""},
            {"receivers", Json::array({{{"name", "none"}}})},
            {"status",
             {{"state", "active"}, {"inhibitedBy", Json::array()}, {"silencedBy", Json::array()}}}};
  }

  HttpResponse FromAlertmanager(const Url& url, const HttpRequest& request) {
    if (url.path == "/-/ready") return Respond(200, "OK");
    if (url.path != "/api/v2/alerts") return Respond(404, "404 page not found\n");
    const TimePoint now = clock_.Now();
    if (request.method == "POST") return TakeAlerts(request.body, now);
    const auto filter = url.query.find("filter");
    Json held = Json::array();
    if (raised_ && state_.FindAny("alert_route_broken") == nullptr) {
      held.push_back(
          HeldAlert(RuleLabels(), Json::object(), raised_at_, now + std::chrono::minutes(4)));
    }
    for (const auto& [labels, alert] : posted_) held.push_back(alert);
    if (filter != url.query.end()) KeepMatching(filter->second, held);
    return Respond(200, held.dump());
  }

  // Only the form that Muster asks with: alertname="Name".
  static void KeepMatching(std::string_view filter, Json& held) {
    const auto rest = After(filter, "alertname=\"");
    if (!rest || !EndsWith(*rest, "\"")) return;
    const std::string name(rest->substr(0, rest->size() - 1));
    Json kept = Json::array();
    for (const Json& alert : held) {
      if (alert["labels"].value("alertname", "") == name) kept.push_back(alert);
    }
    held = std::move(kept);
  }

  static bool IsTextMap(const Json& object) {
    return object.is_object() &&
           std::all_of(object.begin(), object.end(), [](const Json& v) { return v.is_string(); });
  }

  static Result<std::optional<TimePoint>> EndsAt(const Json& alert) {
    if (!alert.contains("endsAt")) return std::optional<TimePoint>();
    if (!alert["endsAt"].is_string()) return Fail(Code::kParse, "endsAt is no text");
    return prometheus::ParseApiTime(alert["endsAt"].get<std::string>());
  }

  HttpResponse TakeAlerts(std::string_view body, TimePoint now) {
    const Json list = Json::parse(body, nullptr, false);
    if (!list.is_array()) return Respond(400, "\"not a list of alerts\"\n");
    for (const Json& alert : list) {
      if (!alert.is_object() || !alert.contains("labels") || !IsTextMap(alert["labels"])) {
        return Respond(400, "\"an alert without labels\"\n");
      }
      if (!EndsAt(alert).ok()) return Respond(400, "\"endsAt is not a time\"\n");
    }
    for (const Json& alert : list) {
      const Json& labels = alert["labels"];
      const Json annotations = alert.value("annotations", Json::object());
      TimePoint until = now + std::chrono::minutes(5);  // resolve_timeout
      until = EndsAt(alert)->value_or(until);
      if (until <= now) {
        posted_.erase(labels.dump());
      } else {
        posted_[labels.dump()] = HeldAlert(labels, annotations, now, until);
      }
    }
    return Respond(200, "");
  }

  HttpResponse FromSwitch(const Url& url) {
    const auto value = url.query.find("value");
    const bool good = value != url.query.end() && (value->second == "0" || value->second == "1");
    if (url.path != "/synthetic") return Respond(404, "not found\n");
    if (!good) return Respond(400, "value must be 0 or 1\n");
    raised_ = value->second == "1";
    raised_at_ = clock_.Now();
    return Respond(200, value->second + "\n");
  }

  const LabState& state_;
  Clock& clock_;
  std::mutex mutex_;
  bool raised_ = false;
  TimePoint raised_at_;
  std::map<std::string, Json> posted_;  // by labels
};

}  // namespace

std::unique_ptr<MonitorPort> MakeModelledMonitor(const LabState& state, Clock& clock) {
  return std::make_unique<ModelledMonitor>(state, clock);
}

}  // namespace muster::lab
