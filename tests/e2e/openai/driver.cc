// Observes an endpoint as gate 8 does: driver URL MODEL [REQUESTS RATE] asks whether it is ready,
// and with a rate puts that load on it. Prints one line a fact: "fact value | excerpt", or "fact
// unknown reason".
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "measure/inference/inference.h"
#include "probes/openai/probes.h"
#include "world/posix/posix_world.h"

namespace {

void Print(const muster::Observations& observations) {
  for (const muster::Observation& o : observations) {
    if (o.value() != nullptr) {
      fmt::print("{} {} | {}\n", o.fact, muster::FormatValue(*o.value(), o.unit), o.excerpt);
    } else {
      fmt::print("{} unknown {}\n", o.fact, o.unobserved()->detail);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace muster;
  if (argc != 3 && argc != 5) {
    std::fputs("usage: driver URL MODEL [REQUESTS RATE]\n", stderr);
    return 2;
  }
  PosixWorld machine;
  World world = machine.ports();
  const HostPorts endpoint{argv[1], world, Origin::kLive};
  Print(openai::ParseHealth(openai::CollectHealth(endpoint)));
  Print(openai::ParseModels(openai::CollectModels(endpoint), argv[2]));
  if (argc == 3) return 0;
  inference::LoadPlan plan;
  plan.url = argv[1];
  plan.model = argv[2];
  plan.requests = std::atoi(argv[3]);
  plan.requests_per_s = std::atof(argv[4]);
  plan.workers = 16;
  const auto load = inference::RunLoad(world, plan);
  if (!load.ok()) {
    fmt::print(stderr, "{}\n", load.error().ToString());
    return 1;
  }
  Print(inference::ObserveLoad(*load, {}, openai::EndpointSubject(argv[1]), Reading{}));
  return 0;
}
