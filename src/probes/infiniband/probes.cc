#include "probes/infiniband/probes.h"

#include <array>

#include "probes/infiniband/collect.h"
#include "probes/infiniband/ibdiagnet.h"
#include "probes/infiniband/iblinkinfo.h"
#include "probes/infiniband/ibnetdiscover.h"
#include "probes/infiniband/ibqueryerrors.h"
#include "probes/infiniband/ibstat.h"
#include "probes/infiniband/perfquery.h"
#include "probes/infiniband/sminfo.h"
#include "probes/infiniband/sysfs.h"

namespace muster {

namespace {

using std::chrono::minutes;
using std::chrono::seconds;

template <const char* id, const char* program>
Reading RunPlain(const HostPorts& ports) {
  Command command;
  command.argv = {program};
  // Sweeps of large fabrics: 1,024 adapters answered iblinkinfo in 0.2 s in the simulator; lost
  // packets cost a time-out each.
  command.timeout = seconds(60);
  return ReadCommand(ports, id, command);
}

constexpr char kIbstatId[] = "infiniband.ibstat", kIbstat[] = "ibstat";
constexpr char kIbstatusId[] = "infiniband.ibstatus", kIbstatus[] = "ibstatus";
constexpr char kLinksId[] = "infiniband.iblinkinfo", kLinks[] = "iblinkinfo";
constexpr char kNetId[] = "infiniband.ibnetdiscover", kNet[] = "ibnetdiscover";

// Thresholds of the site's own file would hide counters: with an empty one everything above 0 is
// listed.
Reading CollectIbqueryerrors(const HostPorts& ports) {
  Command command;
  command.argv = {"ibqueryerrors", "--threshold-file", "/dev/null"};
  command.timeout = seconds(120);
  return ReadCommand(ports, "infiniband.ibqueryerrors", command);
}

// It took 34 s for 1,024 adapters in the simulator.
Reading CollectIbdiagnet(const HostPorts& ports) {
  Command command;
  command.argv = {"ibdiagnet"};
  command.timeout = minutes(5);
  return ReadCommand(ports, "infiniband.ibdiagnet", command);
}

std::vector<std::string_view> PortFacts() {
  std::vector<std::string_view> facts;
  for (const infiniband::CounterName& name : infiniband::CounterTable()) facts.push_back(name.fact);
  return facts;
}

std::vector<std::string_view> SysfsFacts() {
  std::vector<std::string_view> facts = PortFacts();
  facts.insert(facts.end(), {"hca.state", "hca.physical_state", "hca.rate", "hca.firmware"});
  return facts;
}

}  // namespace

std::span<const Probe> InfinibandProbes() {
  namespace ib = infiniband;
  static const std::array<Probe, 9> kProbes = {{
      {kIbstatId,
       "txt",
       {"hca.state", "hca.physical_state", "hca.rate", "hca.firmware"},
       RunPlain<kIbstatId, kIbstat>,
       ib::ParseIbstatReading},
      {kIbstatusId,
       "txt",
       {"hca.state", "hca.physical_state", "hca.rate"},
       RunPlain<kIbstatusId, kIbstatus>,
       ib::ParseIbstatusReading},
      {"infiniband.sysfs", "txt", SysfsFacts(), ib::CollectSysfs, ib::ParseSysfsReading},
      {kLinksId,
       "txt",
       {"link.state", "link.physical_state", "link.width", "link.rate", "port.state",
        "port.physical_state"},
       RunPlain<kLinksId, kLinks>,
       ib::ParseIblinkinfoReading},
      {kNetId, "txt", {"link.present"}, RunPlain<kNetId, kNet>, ib::ParseIbnetdiscoverReading},
      {"infiniband.perfquery", "txt", PortFacts(), ib::CollectPerfquery, ib::ParsePerfqueryReading},
      {"infiniband.sminfo",
       "txt",
       {"sm.masters", "sm.state"},
       ib::CollectSminfo,
       ib::ParseSminfoReading},
      {"infiniband.ibdiagnet",
       "txt",
       {"ibdiagnet.errors"},
       CollectIbdiagnet,
       ib::ParseIbdiagnetReading},
      // Lists only what is beyond zero, so it has no fact that must be there.
      {"infiniband.ibqueryerrors", "txt", {}, CollectIbqueryerrors, ib::ParseIbqueryerrorsReading},
  }};
  return kProbes;
}

}  // namespace muster
