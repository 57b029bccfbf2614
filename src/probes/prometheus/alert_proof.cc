#include "probes/prometheus/alert_proof.h"

#include <functional>

#include "probes/prometheus/json.h"
#include "probes/prometheus/probes.h"

namespace muster::prometheus {

namespace {

constexpr std::string_view kProbe = "alert_proof";
constexpr std::string_view kDirectLabel = "muster_path";
constexpr size_t kKeptBody = 64u << 10;
constexpr Duration kDirectWithin = std::chrono::seconds(5);

// Nothing when the answer cannot be read.
using Look = std::function<std::optional<bool>(std::string_view body)>;

bool IsSynthetic(const Alert& alert) { return alert.Name() == kSyntheticAlert; }
bool IsDirect(const Alert& alert) { return alert.labels.contains(kDirectLabel); }

std::optional<bool> RuleLoaded(std::string_view body) {
  const Result<RulesAnswer> answer = ParseRules(body);
  if (!answer.ok()) return std::nullopt;
  for (const Rule& rule : answer->rules) {
    if (rule.name == kSyntheticAlert && rule.type == "alerting") return true;
  }
  return false;
}

std::optional<bool> Firing(std::string_view body) {
  const Result<AlertsAnswer> answer = ParseAlerts(body);
  if (!answer.ok()) return std::nullopt;
  for (const Alert& alert : answer->alerts) {
    if (IsSynthetic(alert) && alert.state == "firing") return true;
  }
  return false;
}

std::optional<bool> Held(std::string_view body, bool direct) {
  const Result<AlertsAnswer> answer = ParseAlertmanagerAlerts(body);
  if (!answer.ok()) return std::nullopt;
  for (const Alert& alert : answer->alerts) {
    if (IsSynthetic(alert) && IsDirect(alert) == direct) return true;
  }
  return false;
}
std::optional<bool> HeldFromRule(std::string_view body) { return Held(body, false); }
std::optional<bool> HeldDirectly(std::string_view body) { return Held(body, true); }

std::optional<bool> Not(std::optional<bool> seen) {
  if (seen) return !*seen;
  return std::nullopt;
}
std::optional<bool> GoneFromRule(std::string_view body) { return Not(HeldFromRule(body)); }
std::optional<bool> GoneDirectly(std::string_view body) { return Not(HeldDirectly(body)); }
std::optional<bool> NotFiring(std::string_view body) { return Not(Firing(body)); }

// A busy Prometheus lists thousands of alerts; of those only ours are evidence here.
std::string Reduced(std::string_view body) {
  if (body.size() <= kKeptBody) return std::string(body);
  Json document = Json::parse(body, nullptr, false);
  Json* list = &document;
  if (document.is_object() && document.contains("data") && document["data"].contains("alerts")) {
    list = &document["data"]["alerts"];
  }
  if (document.is_discarded() || !list->is_array()) return std::string(body.substr(0, kKeptBody));
  Json kept = Json::array();
  for (const Json& alert : *list) {
    const Json* labels = Member(alert, "labels");
    const Json* name = labels == nullptr ? nullptr : Member(*labels, "alertname");
    // One without a name must stay: the reader has to refuse it as it would have refused the whole.
    if (name == nullptr || *name == std::string(kSyntheticAlert)) kept.push_back(alert);
  }
  *list = std::move(kept);
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class ProofRun {
 public:
  ProofRun(const HostPorts& monitor, const AlertProofOptions& options)
      : monitor_(monitor), options_(options), clock_(monitor.world.clock) {
    transcript_ = {{"kind", "AlertProof"}, {"version", 1},
                   {"site", options.site}, {"alert", std::string(kSyntheticAlert)},
                   {"path", "direct"},     {"steps", Json::array()}};
  }

  Reading Run() {
    const Duration begun = clock_.Monotonic();
    Prove();
    Reading reading;
    reading.probe = std::string(kProbe);
    reading.host = monitor_.host;
    reading.command =
        "raise " + std::string(kSyntheticMetric) + ", watch Prometheus and Alertmanager, clear";
    reading.text = transcript_.dump(1, ' ', false, Json::error_handler_t::replace);
    reading.at = clock_.Now();
    reading.took = clock_.Monotonic() - begun;
    reading.origin = monitor_.origin;
    return reading;
  }

 private:
  void Prove() {
    const bool can_switch = Switch("clear_before", 0);
    const bool rule = Once("rules", [this] { return Rules(); }, RuleLoaded);
    if (can_switch && rule) {
      transcript_["path"] = "rule";
      ProveThroughRule();
    } else {
      ProveDirectly("delivered", options_.deliver_within);
      EndDirect(true);
    }
  }

  void ProveThroughRule() {
    const bool idle =
        Wait("idle_prometheus", CollectAlerts, NotFiring, options_.resolve_within) &&
        Wait("idle_alertmanager", CollectAlertmanager, GoneFromRule, options_.resolve_within);
    if (!idle) return;
    raised_at_ = clock_.Monotonic();
    if (!Switch("raise", 1)) {
      Switch("clear", 0);
      return;
    }
    const bool fired = Wait("fired", CollectAlerts, Firing, options_.fire_within);
    const bool delivered =
        fired && Wait("delivered", CollectAlertmanager, HeldFromRule, options_.deliver_within);
    if (!delivered) {
      // Which side is it? An alert posted by hand tells a dead Alertmanager from a broken route.
      ProveDirectly("direct", std::min(kDirectWithin, options_.deliver_within));
      EndDirect(false);
    }
    raised_at_ = clock_.Monotonic();
    Switch("clear", 0);
    if (delivered) {
      Wait("resolved", CollectAlertmanager, GoneFromRule, options_.resolve_within);
    }
  }

  bool ProveDirectly(std::string_view step, Duration within) {
    raised_at_ = clock_.Monotonic();
    const Json alert = {
        {"labels", DirectLabels()},
        {"annotations", {{"summary", "Muster's synthetic alert, posted directly"}}}};
    if (!Post("post", alert)) return false;
    return Wait(step, CollectAlertmanager, HeldDirectly, within);
  }

  void EndDirect(bool watch) {
    raised_at_ = clock_.Monotonic();
    // An hour ago: our clock may be ahead of Alertmanager's, which would keep the alert until its
    // own clock gets there.
    const Json alert = {{"labels", DirectLabels()},
                        {"endsAt", FormatTime(clock_.Now() - std::chrono::hours(1))}};
    const bool sent = Post("end", alert);
    if (sent && watch) {
      Wait("resolved", CollectAlertmanager, GoneDirectly, options_.resolve_within);
    }
  }

  static Json DirectLabels() {
    return {{"alertname", std::string(kSyntheticAlert)},
            {std::string(kDirectLabel), "direct"},
            {"severity", "none"}};
  }

  Reading Rules() {
    HttpRequest request;
    request.url = fmt::format("{}/api/v1/rules?type=alert", kPrometheus);
    return ReadUrl(monitor_, kProbe, request);
  }

  bool Switch(std::string_view step, int value) {
    HttpRequest request;
    request.method = "POST";
    request.url = fmt::format("http://monitor/synthetic?value={}", value);
    const Reading reading = ReadUrl(monitor_, kProbe, request);
    Write(step, reading, "");
    return !reading.fault;
  }

  bool Post(std::string_view step, const Json& alert) {
    HttpRequest request;
    request.method = "POST";
    request.url = fmt::format("{}/api/v2/alerts", kAlertmanager);
    request.headers["Content-Type"] = "application/json";
    request.body = Json::array({alert}).dump();
    const Reading reading = ReadUrl(monitor_, kProbe, request);
    Write(step, reading, "");
    return !reading.fault;
  }

  bool Once(std::string_view step, const std::function<Reading()>& read, const Look& look) {
    const Reading reading = read();
    const bool yes = !reading.fault && look(reading.text).value_or(false);
    // The full list of rules may be megabytes; the answer is all that is needed.
    Write(step, reading, yes ? "yes" : "no", false);
    return yes;
  }

  bool Wait(std::string_view step, Reading (*read)(const HostPorts&), const Look& look,
            Duration within) {
    const Duration begun = clock_.Monotonic();
    for (;;) {
      const Reading reading = read(monitor_);
      const bool yes = !reading.fault && look(reading.text).value_or(false);
      if (yes || clock_.Monotonic() - begun >= within) {
        Write(step, reading, yes ? "yes" : "no");
        return yes;
      }
      clock_.SleepFor(options_.poll_every);
    }
  }

  void Write(std::string_view step, const Reading& reading, std::string_view seen,
             bool keep_body = true) {
    Json entry = {{"step", step},
                  {"command", reading.command},
                  {"after_s", Seconds(clock_.Monotonic() - raised_at_)}};
    if (!seen.empty()) entry["seen"] = seen;
    if (keep_body) entry["body"] = Reduced(reading.text);
    if (reading.fault) {
      entry["fault"] = {{"reason", ToString(reading.fault->reason)},
                        {"detail", reading.fault->detail}};
    }
    transcript_["steps"].push_back(std::move(entry));
  }

  const HostPorts& monitor_;
  const AlertProofOptions& options_;
  Clock& clock_;
  Duration raised_at_ = clock_.Monotonic();
  Json transcript_;
};

UnknownReason ReasonNamed(std::string_view name) {
  for (const UnknownReason reason :
       {UnknownReason::kNotObserved, UnknownReason::kStale, UnknownReason::kUnparsable,
        UnknownReason::kTooFewSamples, UnknownReason::kNotPermitted, UnknownReason::kToolFault,
        UnknownReason::kUnreachable}) {
    if (ToString(reason) == name) return reason;
  }
  return UnknownReason::kToolFault;
}

const Json* FindStep(const Json& steps, std::string_view name) {
  for (const Json& step : steps) {
    const Json* own = Member(step, "step");
    if (own != nullptr && own->is_string() && own->get_ref<const std::string&>() == name) {
      return &step;
    }
  }
  return nullptr;
}

AlertHop Unknown(UnknownReason reason, std::string detail) {
  return {AlertHop::Seen::kUnknown, std::nullopt, reason, std::move(detail)};
}

// Judges a hop by the raw answer that the step kept.
AlertHop ReadHop(const Json& steps, std::string_view name, const Look& look,
                 std::string_view otherwise) {
  const Json* step = FindStep(steps, name);
  if (step == nullptr) return Unknown(UnknownReason::kNotObserved, std::string(otherwise));
  if (const Json* fault = Member(*step, "fault"); fault != nullptr) {
    return Unknown(ReasonNamed(Text(*fault, "reason", "fault").value_or("")),
                   Text(*fault, "detail", "fault").value_or("no answer"));
  }
  const Result<std::string> body = Text(*step, "body", name);
  const Json* after = Member(*step, "after_s");
  if (!body.ok() || after == nullptr || !after->is_number() || after->get<double>() < 0 ||
      after->get<double>() > 1e6) {
    return Unknown(UnknownReason::kUnparsable, fmt::format("the step {} is damaged", name));
  }
  const std::optional<bool> seen = look(*body);
  if (!seen) {
    return Unknown(UnknownReason::kUnparsable,
                   fmt::format("the answer at step {} is not readable", name));
  }
  AlertHop hop;
  hop.seen = *seen ? AlertHop::Seen::kYes : AlertHop::Seen::kNo;
  const Duration waited = FromSeconds(after->get<double>());
  if (*seen) hop.after = waited;
  hop.detail =
      fmt::format("{} {} {}", name, *seen ? "after" : "not seen within", FormatDuration(waited));
  return hop;
}

std::string WhyNotRaised(const Json& steps) {
  for (const std::string_view name : {"clear_before", "raise"}) {
    const Json* step = FindStep(steps, name);
    const Json* fault = step == nullptr ? nullptr : Member(*step, "fault");
    if (fault != nullptr) {
      return "the condition could not be raised: " +
             Text(*fault, "detail", "fault").value_or("no answer");
    }
  }
  return "an earlier synthetic alert does not go away";
}

void AddHop(ObservationBuilder& out, const Subject& site, std::string_view fact,
            const AlertHop& hop) {
  if (hop.seen == AlertHop::Seen::kUnknown) {
    out.AddUnobserved(site, fact, hop.reason, hop.detail);
  } else {
    out.Add(site, fact, hop.seen == AlertHop::Seen::kYes, Unit::kNone, hop.detail);
  }
}

}  // namespace

AlertProofOptions AlertProofOptions::ForLab() {
  AlertProofOptions options;
  options.fire_within = std::chrono::seconds(20);
  options.deliver_within = std::chrono::seconds(5);
  options.resolve_within = std::chrono::seconds(20);
  options.poll_every = std::chrono::milliseconds(100);
  return options;
}

Reading RunAlertProof(const HostPorts& monitor, const AlertProofOptions& options) {
  return ProofRun(monitor, options).Run();
}

Result<AlertProof> ReadAlertProof(std::string_view transcript) {
  TRY(const Json document, ReadJson(transcript));
  TRY(const std::string kind, Text(document, "kind", "transcript"));
  if (kind != "AlertProof") return Unexpected("transcript.kind", "AlertProof");
  TRY(const std::string path, Text(document, "path", "transcript"));
  if (path != "rule" && path != "direct") return Unexpected("transcript.path", "rule or direct");
  TRY(const Json* steps, List(document, "steps", "transcript"));
  AlertProof proof;
  TRY(proof.site, Text(document, "site", "transcript"));
  proof.through_rule = path == "rule";
  if (!proof.through_rule) {
    const Json* switched = FindStep(*steps, "clear_before");
    const bool could_switch = switched != nullptr && Member(*switched, "fault") == nullptr;
    const std::string why =
        could_switch ? fmt::format("no rule {} is loaded", kSyntheticAlert) : WhyNotRaised(*steps);
    proof.fired = Unknown(UnknownReason::kNotObserved, why);
    const std::string not_posted = "Alertmanager did not take the alert";
    proof.delivered = ReadHop(*steps, "delivered", HeldDirectly, not_posted);
    proof.delivered.detail += "; posted directly, the road from Prometheus was not taken";
    proof.resolved = ReadHop(*steps, "resolved", GoneDirectly, not_posted);
    return proof;
  }
  proof.fired = ReadHop(*steps, "fired", Firing, WhyNotRaised(*steps));
  proof.delivered = ReadHop(*steps, "delivered", HeldFromRule,
                            "Prometheus did not fire, so there was nothing to deliver");
  proof.resolved = ReadHop(*steps, "resolved", GoneFromRule, "nothing was delivered");
  if (proof.delivered.seen == AlertHop::Seen::kNo) {
    const AlertHop direct = ReadHop(*steps, "direct", HeldDirectly, "not tried");
    proof.delivered.detail += direct.seen == AlertHop::Seen::kYes
                                  ? "; one posted directly arrived: the route is broken"
                                  : "; one posted directly did not arrive either";
  }
  return proof;
}

Observations ParseAlertProof(const Reading& reading) {
  if (reading.fault) return {};
  ObservationBuilder out(reading);
  const Result<AlertProof> proof = ReadAlertProof(reading.text);
  if (!proof.ok()) {
    for (const std::string_view fact :
         {"alert.fired", "alert.delivered", "alert.latency", "alert.resolved"}) {
      out.AddUnobserved(NodeSubject(reading.host), fact, UnknownReason::kUnparsable,
                        proof.error().ToString());
    }
    return out.Take();
  }
  const Subject site = SiteSubject(proof->site);
  AddHop(out, site, "alert.fired", proof->fired);
  AddHop(out, site, "alert.delivered", proof->delivered);
  AddHop(out, site, "alert.resolved", proof->resolved);
  if (proof->delivered.after) {
    out.Add(site, "alert.latency", Seconds(*proof->delivered.after), Unit::kSeconds,
            proof->delivered.detail);
  } else {
    out.AddUnobserved(site, "alert.latency", UnknownReason::kNotObserved,
                      "the alert was not seen at Alertmanager");
  }
  return out.Take();
}

Result<Observations> ProveAlert(const HostPorts& monitor, const AlertProofOptions& options) {
  for (const Duration wait :
       {options.fire_within, options.deliver_within, options.resolve_within, options.poll_every}) {
    if (wait <= Duration::zero()) return Fail(Code::kInvalid, "the alert proof needs waits over 0");
  }
  return ParseAlertProof(RunAlertProof(monitor, options));
}

}  // namespace muster::prometheus
