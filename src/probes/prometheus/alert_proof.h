// The alert proof: a synthetic condition is raised, and each hop is watched with a time limit:
// Prometheus fires, Alertmanager holds it, and after the condition is cleared it goes away. "The
// rule is loaded" proves none of this. What could not be watched is unobserved.
//
// The condition is `muster_synthetic_condition`, switched by POST http://monitor/synthetic?value=1
// (0 clears). The lab's monitor and `muster serve` answer it and export the metric. A site without
// either lets node-exporter's textfile collector export the metric and answers that URL with
// anything that writes the file. Without an answer, or without the rule, the alert is posted to
// Alertmanager directly: that proves the last hop alone and says so.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "probes/probe.h"

namespace muster::prometheus {

inline constexpr std::string_view kProofSite = "site";

struct AlertProofOptions {
  std::string site{kProofSite};  // id of the site subject that the observations are about
  // Prometheus' defaults are a scrape and an evaluation a minute; a send that failed is repeated
  // after a minute
  // (--rules.alert.resend-delay). The waits cover one of each.
  Duration fire_within = std::chrono::seconds(150);
  Duration deliver_within = std::chrono::seconds(75);
  Duration resolve_within = std::chrono::seconds(150);
  Duration poll_every = std::chrono::milliseconds(250);

  // For a monitor that scrapes and evaluates every second.
  static AlertProofOptions ForLab();
};

struct AlertHop {
  enum class Seen { kYes, kNo, kUnknown };
  Seen seen = Seen::kUnknown;
  std::optional<Duration>
      after;  // since the condition was raised (resolved: since it was cleared); only of kYes
  UnknownReason reason = UnknownReason::kNotObserved;  // of kUnknown
  std::string detail;
};

struct AlertProof {
  std::string site;
  bool through_rule =
      false;  // raised at the metric and fired by Prometheus; false = posted to Alertmanager
  AlertHop fired, delivered, resolved;
};

// Does it, and returns what every hop answered as one JSON document (probe "alert_proof"). The
// condition is cleared on every way out. Takes at most the sum of the waits. Raises nothing when an
// earlier synthetic alert does not go away.
Reading RunAlertProof(const HostPorts& monitor, const AlertProofOptions& options);
// What such a document shows; judged from the raw answers in it. kParse when it is damaged.
Result<AlertProof> ReadAlertProof(std::string_view transcript);
// alert.fired, alert.delivered, alert.latency (s, raised to seen at Alertmanager) and
// alert.resolved of the site.
Observations ParseAlertProof(const Reading& reading);

// Both. kInvalid for waits that are not positive; whatever else goes wrong is an unobserved fact.
Result<Observations> ProveAlert(const HostPorts& monitor, const AlertProofOptions& options = {});

}  // namespace muster::prometheus
