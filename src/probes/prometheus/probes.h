// Gate 5's questions to Prometheus and Alertmanager: is there one series for every GPU, how old is
// it, how often is its exporter scraped, does an alert arrive. Asked through two logical bases that
// the backend maps to the site's endpoints.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "probes/probe.h"

namespace muster {

// prometheus.series, prometheus.targets, prometheus.alerts, alertmanager.alerts. All read only, on
// the host "monitor".
std::span<const Probe> PrometheusProbes();

namespace prometheus {

inline constexpr std::string_view kPrometheus = "http://prometheus";
inline constexpr std::string_view kAlertmanager = "http://alertmanager";
// The alert that the proof raises, and the metric behind it
// (packaging/prometheus/muster.rules.yml).
inline constexpr std::string_view kSyntheticAlert = "MusterSyntheticAlert";
inline constexpr std::string_view kSyntheticMetric = "muster_synthetic_condition";

// Age in seconds of the newest sample of each utilisation series that has a value. One query for
// both names of the metric. timestamp() gives the time of the sample only when it is asked of a
// bare selector, else that of the evaluation (an age of 0 for everything): hence the form.
// `< 2147483632` leaves out DCGM's "no data" values, which no percentage and no ratio reaches.
inline constexpr std::string_view kSeriesQuery =
    "(time() - timestamp(DCGM_FI_DEV_GPU_UTIL)) and (DCGM_FI_DEV_GPU_UTIL < 2147483632) or "
    "(time() - timestamp(DCGM_FI_DEV_GPU_UTIL_RATIO)) and (DCGM_FI_DEV_GPU_UTIL_RATIO < "
    "2147483632)";

Reading CollectSeries(const HostPorts& monitor);
Reading CollectTargets(const HostPorts& monitor);
Reading CollectAlerts(const HostPorts& monitor);
Reading CollectAlertmanager(const HostPorts& monitor);

// telemetry.series and telemetry.sample_age per GPU. Series that differ only in the workload (pod,
// container, job) or in the MIG instance are one; the same GPU scraped twice counts twice.
Observations ParseSeriesReading(const Reading& reading);
// telemetry.target_up and telemetry.scrape_interval per node; of several targets on a node the
// worst.
Observations ParseTargetsReading(const Reading& reading);
// alert.fired and alert.delivered: true when the synthetic alert is there; silent otherwise,
// because nobody may have raised it.
Observations ParseAlertsReading(const Reading& reading);
Observations ParseAlertmanagerReading(const Reading& reading);

}  // namespace prometheus
}  // namespace muster
