// The actuator against a real API server, one order a call: driver KUBECONFIG VERB NODE RUN FENCE.
// VERB: cordon, return, drain, force, operands, fleet. Prints facts as "name value" lines; run.sh
// holds them to what must be.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "backend/kubernetes/kubernetes_actuator.h"
#include "base/strings.h"
#include "kube/connection.h"
#include "world/posix/posix_world.h"

namespace {

using namespace muster;

int Main(const std::vector<std::string>& args) {
  if (args.size() != 5) return 2;
  PosixWorld posix;
  const World world = posix.ports();
  const auto config = kube::ReadKubeconfig(world.files, {args[0]});
  if (!config.ok()) {
    fmt::print("error {}\n", config.error().ToString());
    return 2;
  }
  kube::Connection connection(world, *config);
  kubernetes::KubernetesActuator actuator(
      connection.client(), {Origin::kLive, std::chrono::seconds(4), std::chrono::seconds(1), 500});
  const std::string& verb = args[1];
  if (verb == "fleet") {
    const auto fleet = actuator.ReadFleet();
    if (!fleet.ok()) {
      fmt::print("error {}\n", fleet.error().ToString());
      return 0;
    }
    for (const auto& held : fleet->nodes)
      fmt::print("node {} {} {}\n", held.node, held.hold.schedulable ? "schedulable" : "held",
                 held.hold.lease ? held.hold.lease->run : "-");
    for (const std::string& node : fleet->silent) fmt::print("silent {}\n", node);
    return 0;
  }
  Order order;
  order.action.kind = verb == "cordon"   ? ActKind::kCordon
                      : verb == "return" ? ActKind::kReturn
                                         : ActKind::kDrain;
  order.action.on = NodeSubject(args[2]);
  if (verb == "force") order.action.params["force"] = "true";
  if (verb == "operands") order.action.params["operands"] = "true";
  order.run = args[3];
  order.fence = static_cast<uint64_t>(ParseInt(args[4]).value_or(0));
  const TimePoint now = world.clock.Now();
  order.lease = {"muster",   args[3], "end to end", true, "", now, now + std::chrono::hours(1),
                 order.fence};
  order.timeout = std::chrono::minutes(1);
  order.intended_at = now;
  const DidResult did = actuator.Do(order);
  fmt::print("did {} {}\n", ToString(did.did), did.detail);
  const ProbeResult probe = actuator.Probe(order);
  fmt::print("probe {} {}\n", ToString(probe.happened), probe.detail);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return Main(std::vector<std::string>(argv + 1, argv + argc)); }
