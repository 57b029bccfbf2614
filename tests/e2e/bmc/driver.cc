// What run.sh asks of real emulators: the production clients of a BMC, one verb a run.
// usage: muster_bmc_e2e redfish URL USER SECRET_REF SYSTEM VERB | ipmi HOST PORT CIPHER USER
// SECRET_REF VERB MUSTER_CA_FILE and MUSTER_UNVERIFIED_BECAUSE: whose certificate is believed.
// VERB: look, cycle, off, on, sensors, events, restart. Prints facts, one a line; 0 unless the
// usage is wrong.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "backend/bmc/ipmi.h"
#include "backend/bmc/redfish.h"
#include "base/strings.h"
#include "world/posix/posix_world.h"

namespace {

using namespace muster;
using namespace muster::bmc;

std::optional<std::string> Environment_(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void Say(const char* what, const DidResult& did) {
  std::printf("%s %s %s\n", what, std::string(ToString(did.did)).c_str(), did.detail.c_str());
}

void Verb(Bmc& bmc, const std::string& verb) {
  if (verb == "look") {
    const auto seen = bmc.Look();
    if (seen.ok()) {
      std::printf("power %s\n", std::string(ToString(seen->power)).c_str());
    } else {
      std::printf("error %s\n", seen.error().ToString().c_str());
    }
  } else if (verb == "sensors") {
    const auto sensors = bmc.Sensors();
    if (!sensors.ok()) return (void)std::printf("error %s\n", sensors.error().ToString().c_str());
    std::printf("sensors %zu\n", sensors->size());
    for (const Sensor& sensor : *sensors)
      std::printf("sensor %s %g %s\n", sensor.name.c_str(), sensor.value.value_or(-1),
                  sensor.unit.c_str());
  } else if (verb == "events") {
    const auto events = bmc.Events();
    if (!events.ok()) return (void)std::printf("error %s\n", events.error().ToString().c_str());
    std::printf("events %zu\n", events->size());
  } else if (verb == "restart") {
    Say("restart", bmc.RestartController());
  } else {
    const PowerAct act = verb == "on"    ? PowerAct::kOn
                         : verb == "off" ? PowerAct::kForceOff
                                         : PowerAct::kCycle;
    Say("did", bmc.Do(act));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  PosixWorld posix;
  const World world = posix.ports();
  CurlHttp http({Environment_("MUSTER_CA_FILE").value_or(""),
                 Environment_("MUSTER_UNVERIFIED_BECAUSE").value_or("")});
  std::unique_ptr<Bmc> bmc;
  if (args.size() == 6 && args[0] == "redfish") {
    RedfishConfig config;
    config.url = args[1];
    config.user = args[2];
    config.password = {args[3]};
    config.system = args[4];
    if (const Status fine = CheckRedfish(config); !fine.has_value()) return 2;
    bmc = MakeRedfish(config, http, world.clock, world.files, Environment_);
  } else if (args.size() == 7 && args[0] == "ipmi") {
    IpmiConfig config;
    config.host = args[1];
    config.port = static_cast<int>(ParseInt(args[2]).value_or(0));
    config.cipher_suite = static_cast<int>(ParseInt(args[3]).value_or(17));
    config.user = args[4];
    config.password = {args[5]};
    bmc = MakeIpmi(config, world.processes, world.files, Environment_);
  } else {
    return 2;
  }
  Verb(*bmc, args.back());
  return 0;
}
