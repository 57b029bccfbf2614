// Gate 8's proof: the endpoint is asked whether it is ready, and then loaded at the contract's
// rate.
#include <fmt/format.h>

#include "app/proofs.h"
#include "measure/inference/inference.h"
#include "probes/openai/probes.h"

namespace muster {

namespace {

const Subject kEndpoint{SubjectKind::kEndpoint, "openai"};

// Readings of the endpoint are about its address; the site knows it by one name.
Observations Named(Observations seen) {
  for (Observation& o : seen) o.subject = kEndpoint;
  return seen;
}

void AddUnobserved(const ProofContext& context, Evidence& evidence, const std::string& why) {
  Reading reading;
  reading.probe = "measure.inference";
  reading.host = "openai";
  reading.command = "open the endpoint";
  reading.at = context.world.clock.Now();
  reading.origin = context.hosts.origin();
  ObservationBuilder builder(reading);
  for (const char* fact :
       {"serve.healthy", "serve.model_listed", "serve.ttft_p99", "serve.tpot_p99", "serve.goodput",
        "serve.errors", "serve.requests", "serve.client_cpu"}) {
    builder.AddUnobserved(kEndpoint, fact, UnknownReason::kUnreachable, why);
  }
  evidence.derived = builder.Take();
  evidence.readings.push_back(std::move(reading));
}

}  // namespace

Evidence ProveInference(const ProofContext& context) {
  Evidence evidence;
  const auto served = context.endpoints.Open(context.run_folder + "/checkpoint");
  if (!served.ok()) {
    AddUnobserved(context, evidence, served.error().ToString());
    return evidence;
  }
  const HostPorts endpoint{(*served)->url(), context.world, context.hosts.origin()};
  Reading health = openai::CollectHealth(endpoint);
  Observations seen = Named(openai::ParseHealth(health));
  const bool healthy =
      !seen.empty() && seen.front().value() != nullptr && std::get<bool>(*seen.front().value());
  evidence.derived.insert(evidence.derived.end(), seen.begin(), seen.end());
  evidence.readings.push_back(std::move(health));
  Reading models = openai::CollectModels(endpoint);
  seen = Named(openai::ParseModels(models, (*served)->model()));
  evidence.derived.insert(evidence.derived.end(), seen.begin(), seen.end());
  evidence.readings.push_back(std::move(models));
  if (!healthy) return evidence;  // a load on an endpoint that is down would only repeat that

  const InferenceTarget& target = context.site.inference;
  inference::LoadPlan plan;
  plan.url = (*served)->url();
  plan.model = (*served)->model();
  plan.requests = target.requests;
  plan.requests_per_s = target.requests_per_s;
  context.progress.Note(
      fmt::format("{} chat requests at {:g}/s", plan.requests, plan.requests_per_s));
  const auto load = inference::RunLoad(context.world, plan, [&](int done) {
    context.progress.ReadingDone(fmt::format("{} of {} answered", done, plan.requests));
  });

  Reading reading;
  reading.probe = "measure.inference";
  reading.host = "openai";
  reading.command = fmt::format("load of {} requests at {:g}/s on {}", plan.requests,
                                plan.requests_per_s, plan.url);
  reading.at = context.world.clock.Now();
  reading.origin = context.hosts.origin();
  if (load.ok()) {
    reading.text = inference::LoadTable(*load);
    reading.took = load->took;
    seen = inference::ObserveLoad(*load, {target.ttft_p99, target.tpot_p99}, kEndpoint, reading);
    evidence.derived.insert(evidence.derived.end(), seen.begin(), seen.end());
  } else {
    reading.fault = Unobserved{UnknownReason::kToolFault, load.error().ToString()};
  }
  evidence.readings.push_back(std::move(reading));
  return evidence;
}

}  // namespace muster
