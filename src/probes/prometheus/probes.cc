#include "probes/prometheus/probes.h"

#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/prometheus/alert_proof.h"
#include "probes/prometheus/api.h"
#include "probes/prometheus/subjects.h"

namespace muster {

namespace prometheus {

namespace {

Reading Get(const HostPorts& monitor, std::string_view probe, std::string url) {
  HttpRequest request;
  request.url = std::move(url);
  request.headers["Accept"] = "application/json";
  return ReadUrl(monitor, probe, request);
}

UnknownReason ReasonOf(const Error& error) {
  return error.code == Code::kParse ? UnknownReason::kUnparsable : UnknownReason::kToolFault;
}

class Facts {
 public:
  explicit Facts(const Reading& reading) : out_(reading), monitor_(NodeSubject(reading.host)) {}

  // About the whole answer: said of the monitor, so that it explains every subject without an
  // observation of its own.
  void Missing(std::initializer_list<std::string_view> facts, UnknownReason reason,
               std::string_view detail) {
    for (const std::string_view fact : facts) out_.AddUnobserved(monitor_, fact, reason, detail);
  }
  void Unread(std::initializer_list<std::string_view> facts, const Error& error) {
    Missing(facts, ReasonOf(error), error.ToString());
  }
  // What is there was seen; what is not there may be missing from a partial answer.
  void Warned(std::initializer_list<std::string_view> facts, const Notes& notes) {
    if (notes.warnings.empty()) return;
    Missing(facts, UnknownReason::kNotObserved,
            "the answer may be partial: " + Join(notes.warnings, "; "));
  }
  ObservationBuilder& out() { return out_; }

 private:
  ObservationBuilder out_;
  Subject monitor_;
};

// Labels that tell who uses the GPU, or which slice of it, not which GPU it is nor who scraped it.
bool IsWorkloadLabel(std::string_view name) {
  name = After(name, "exported_").value_or(name);
  for (const std::string_view known : {"pod", "namespace", "container", "pod_uid", "hpc_job",
                                       "GPU_I_ID", "GPU_I_PROFILE", "vgpu", "__name__"}) {
    if (name == known) return true;
  }
  return StartsWith(name, "dra_");
}

std::string ScrapeIdentity(const Labels& labels) {
  std::string identity;
  for (const auto& [name, value] : labels) {
    if (!IsWorkloadLabel(name)) identity += fmt::format("{}\x01{}\x02", name, value);
  }
  return identity;
}

struct GpuSeries {
  std::set<std::string> identities;
  double age_s = INFINITY;
  std::string excerpt;
};

std::string WithNotes(std::string text, const Notes& notes) {
  for (const std::string& warning : notes.warnings) text += " warning: " + warning;
  return text;
}

struct NodeTargets {
  bool down = false, unknown = false, no_interval = false;
  double interval_s = 0;
  std::string excerpt;
};

void AddTarget(const Target& target, NodeTargets& node) {
  const bool up = target.health == "up", down = target.health == "down";
  if (node.excerpt.empty() || (down && !node.down)) {
    node.excerpt = fmt::format("{} {} {}", target.url, target.health, target.last_error);
  }
  node.down = node.down || down;
  node.unknown = node.unknown || (!up && !down);
  node.no_interval = node.no_interval || !target.scrape_interval_s;
  node.interval_s = std::max(node.interval_s, target.scrape_interval_s.value_or(0));
}

bool HasAlert(const AlertsAnswer& answer, std::string_view state) {
  for (const Alert& alert : answer.alerts) {
    if (alert.Name() == kSyntheticAlert && (state.empty() || alert.state == state)) return true;
  }
  return false;
}

}  // namespace

Reading CollectSeries(const HostPorts& monitor) {
  return Get(monitor, "prometheus.series",
             fmt::format("{}/api/v1/query?query={}", kPrometheus, UrlEncode(kSeriesQuery)));
}
Reading CollectTargets(const HostPorts& monitor) {
  return Get(monitor, "prometheus.targets",
             fmt::format("{}/api/v1/targets?state=active", kPrometheus));
}
Reading CollectAlerts(const HostPorts& monitor) {
  return Get(monitor, "prometheus.alerts", fmt::format("{}/api/v1/alerts", kPrometheus));
}
Reading CollectAlertmanager(const HostPorts& monitor) {
  return Get(monitor, "alertmanager.alerts",
             fmt::format("{}/api/v2/alerts?filter={}", kAlertmanager,
                         UrlEncode(fmt::format("alertname=\"{}\"", kSyntheticAlert))));
}

Observations ParseSeriesReading(const Reading& reading) {
  constexpr std::string_view kSeries = "telemetry.series", kAge = "telemetry.sample_age";
  Facts facts(reading);
  if (reading.fault) return {};
  const Result<QueryAnswer> answer = ParseQuery(reading.text);
  if (!answer.ok()) {
    facts.Unread({kSeries, kAge}, answer.error());
    return facts.out().Take();
  }
  std::map<Subject, GpuSeries> gpus;
  size_t strangers = 0;
  std::string stranger;
  for (const Series& series : answer->series) {
    const auto node = NodeOf(series.labels);
    const auto gpu = GpuOf(series.labels);
    if (!node || !gpu || series.points.size() != 1) {
      if (++strangers == 1) stranger = FormatLabels(series.labels, 120);
      continue;
    }
    GpuSeries& seen = gpus[GpuSubject(*node, *gpu)];
    seen.identities.insert(ScrapeIdentity(series.labels));
    const double age = series.points[0].value;
    if (std::isfinite(age) && age >= 0 && age < seen.age_s) seen.age_s = age;
    if (seen.excerpt.empty()) seen.excerpt = FormatLabels(series.labels, 150);
  }
  for (const auto& [gpu, seen] : gpus) {
    const auto count = static_cast<int64_t>(seen.identities.size());
    facts.out().Add(gpu, kSeries, count, Unit::kCount, WithNotes(seen.excerpt, answer->notes));
    if (std::isfinite(seen.age_s)) {
      facts.out().Add(gpu, kAge, seen.age_s, Unit::kSeconds,
                      fmt::format("{} age {}", seen.excerpt, seen.age_s));
    } else {
      facts.out().AddUnobserved(gpu, kAge, UnknownReason::kUnparsable, "the age is not a number");
    }
  }
  if (strangers > 0) {
    facts.Missing({kSeries, kAge}, UnknownReason::kNotObserved,
                  fmt::format("{} series name no node or no GPU, as {}", strangers, stranger));
  }
  if (answer->series.empty()) {
    facts.Missing({kSeries, kAge}, UnknownReason::kNotObserved,
                  "Prometheus has no series of DCGM_FI_DEV_GPU_UTIL");
  }
  facts.Warned({kSeries, kAge}, answer->notes);
  return facts.out().Take();
}

Observations ParseTargetsReading(const Reading& reading) {
  constexpr std::string_view kUp = "telemetry.target_up", kInterval = "telemetry.scrape_interval";
  Facts facts(reading);
  if (reading.fault) return {};
  const Result<TargetsAnswer> answer = ParseTargets(reading.text);
  if (!answer.ok()) {
    facts.Unread({kUp, kInterval}, answer.error());
    return facts.out().Take();
  }
  std::map<std::string, NodeTargets> nodes;
  for (const Target& target : answer->active) {
    if (!IsGpuExporter(target)) continue;
    if (const auto node = NodeOfTarget(target)) AddTarget(target, nodes[*node]);
  }
  for (const auto& [name, node] : nodes) {
    const Subject subject = NodeSubject(name);
    if (node.unknown && !node.down) {
      facts.out().AddUnobserved(subject, kUp, UnknownReason::kNotObserved,
                                "not scraped yet: " + node.excerpt);
    } else {
      facts.out().Add(subject, kUp, !node.down, Unit::kNone, node.excerpt);
    }
    if (node.no_interval || node.interval_s <= 0) {
      facts.out().AddUnobserved(subject, kInterval, UnknownReason::kNotObserved,
                                "this Prometheus does not say how often it scrapes");
    } else {
      facts.out().Add(subject, kInterval, node.interval_s, Unit::kSeconds,
                      fmt::format("{} every {} s", node.excerpt, node.interval_s));
    }
  }
  if (nodes.empty()) {
    facts.Missing(
        {kUp, kInterval}, UnknownReason::kNotObserved,
        fmt::format("none of {} targets is an exporter of GPU metrics", answer->active.size()));
  }
  facts.Warned({kUp, kInterval}, answer->notes);
  return facts.out().Take();
}

Observations ParseAlertsReading(const Reading& reading) {
  Facts facts(reading);
  if (reading.fault) return {};
  const Result<AlertsAnswer> answer = ParseAlerts(reading.text);
  if (!answer.ok()) {
    facts.Unread({"alert.fired"}, answer.error());
  } else if (HasAlert(*answer, "firing")) {
    facts.out().Add(SiteSubject(kProofSite), "alert.fired", true, Unit::kNone,
                    fmt::format("{} is firing", kSyntheticAlert));
  }
  return facts.out().Take();
}

Observations ParseAlertmanagerReading(const Reading& reading) {
  Facts facts(reading);
  if (reading.fault) return {};
  const Result<AlertsAnswer> answer = ParseAlertmanagerAlerts(reading.text);
  if (!answer.ok()) {
    facts.Unread({"alert.delivered"}, answer.error());
  } else if (HasAlert(*answer, {})) {
    facts.out().Add(SiteSubject(kProofSite), "alert.delivered", true, Unit::kNone,
                    fmt::format("Alertmanager holds {}", kSyntheticAlert));
  }
  return facts.out().Take();
}

}  // namespace prometheus

std::span<const Probe> PrometheusProbes() {
  using namespace prometheus;
  static const Probe kProbes[] = {
      {"prometheus.series",
       "json",
       {"telemetry.series", "telemetry.sample_age"},
       CollectSeries,
       ParseSeriesReading},
      {"prometheus.targets",
       "json",
       {"telemetry.target_up", "telemetry.scrape_interval"},
       CollectTargets,
       ParseTargetsReading},
      {"prometheus.alerts", "json", {"alert.fired"}, CollectAlerts, ParseAlertsReading},
      {"alertmanager.alerts",
       "json",
       {"alert.delivered"},
       CollectAlertmanager,
       ParseAlertmanagerReading},
  };
  return kProbes;
}

}  // namespace muster
