#include "backend/lab/telemetry/monitor_config.h"

#include <fmt/format.h>

#include "backend/lab/state/truth.h"
#include "probes/prometheus/probes.h"

namespace muster::lab {

namespace {

constexpr size_t kSmallLab = 64;
constexpr int kDiscardPort = 9;  // RFC 863; nobody listens there

}  // namespace

int LabScrapeSeconds(const LabState& state) {
  return state.cluster.nodes.size() <= kSmallLab ? 1 : 5;
}

std::string PrometheusConfig(const LabState& state, int exporter_port, int alertmanager_port) {
  const int seconds = LabScrapeSeconds(state);
  const bool broken = state.FindAny("alert_route_broken") != nullptr;
  std::string text = fmt::format(
      "global: {{scrape_interval: {0}s, scrape_timeout: {0}s, evaluation_interval: 1s}}\n"
      "rule_files: [rules.yml]\n"
      "alerting: {{alertmanagers: [{{static_configs: [{{targets: ['127.0.0.1:{1}']}}]}}]}}\n"
      "scrape_configs:\n"
      "- job_name: muster\n"
      "  metrics_path: /muster/metrics\n"
      "  static_configs: [{{targets: ['127.0.0.1:{2}'], labels: {{instance: 'monitor:9464'}}}}]\n"
      "- job_name: dcgm-exporter\n"
      "  static_configs:\n",
      seconds, broken ? kDiscardPort : alertmanager_port, exporter_port);
  for (const Node& node : state.cluster.nodes) {
    std::string interval;
    if (const Fault* slow = state.Find("scrape_too_slow", NodeSubject(node.name))) {
      interval = fmt::format(", __scrape_interval__: '{:.0f}s'", Setting(*slow, "seconds"));
    }
    text += fmt::format(
        "  - {{targets: ['127.0.0.1:{}'], labels: {{__metrics_path__: '/{}/metrics', "
        "instance: '{}:9400'{}}}}}\n",
        exporter_port, node.name, node.name, interval);
  }
  return text;
}

std::string AlertRules() {
  return fmt::format(
      "groups:\n"
      "- name: muster-lab\n"
      "  interval: 1s\n"
      "  rules:\n"
      "  - alert: {}\n"
      "    expr: {} > 0\n"
      "    for: 0s\n"
      "    labels: {{severity: none}}\n"
      "    annotations: {{summary: Muster raised a synthetic condition}}\n",
      prometheus::kSyntheticAlert, prometheus::kSyntheticMetric);
}

std::string AlertmanagerConfig() {
  return "route: {receiver: none, group_by: [alertname], group_wait: 1s, group_interval: 1s}\n"
         "receivers: [{name: none}]\n";
}

}  // namespace muster::lab
