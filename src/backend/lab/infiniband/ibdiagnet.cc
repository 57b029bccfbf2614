// Tested by tools_test.cc, through the programs it is part of.
// ibdiagnet of ibutils 1.5.7, the version in Debian. Without a topology file it does not miss a
// link that is not there, and it calls a link in INIT or a counter above its limits a warning;
// errors are for what breaks the subnet as a whole.
#include <array>

#include <fmt/format.h>

#include "backend/lab/infiniband/fabric.h"

namespace muster::lab::infiniband {

namespace {

constexpr std::string_view kRuler = "-I---------------------------------------------------\n";

std::string Section(std::string_view title, const std::string& body) {
  return fmt::format("\n{}-I- {}\n{}{}", kRuler, title, kRuler, body);
}

struct Stage {
  std::string_view name;
  int errors = 0, warnings = 0;
};

struct Walk {
  std::string init, counters;
  int init_links = 0, bad_counters = 0;
};

Walk WalkFabric(const Fabric& fabric) {
  Walk walk;
  for (const Device* device : fabric.found()) {
    for (int number = 1; number <= fabric.PortCount(*device); ++number) {
      const Port port = fabric.At(*device, number);
      if (port.link == nullptr) continue;
      if (device->is_switch && port.link->state == "Init") {
        ++walk.init_links;
        walk.init += fmt::format(
            "-W- link with LOG=INI found at direct path \"1,{}\"\n"
            "    From: a Switch PortGUID=0x{:016x} Port=\"Port={}\"\n",
            number, device->guid, number);
      }
      // Its own limits; captures show it silent about 12 recoveries and 87 receive errors.
      if (port.counters->symbol_errors >= 65535) {
        ++walk.bad_counters;
        walk.counters += fmt::format(
            "-W- lid=0x{:04x} guid=0x{:016x} dev=0 Port={}\n"
            "      Performance Monitor counter     : Value\n"
            "      symbol_error_counter            : 0xffff (overflow)\n",
            device->lid, device->PortGuid(), number);
      }
    }
  }
  return walk;
}

int MasterCount(const ToolCall& call) {
  int masters = 0;
  for (const SubnetManager& sm : SubnetManagersNow(call.state, call.now)) {
    masters += sm.state == "SMINFO_MASTER" ? 1 : 0;
  }
  return masters;
}

size_t HostCount(const Fabric& fabric) {
  size_t hosts = 0;
  for (const Device* device : fabric.found()) hosts += device->is_switch ? 0 : 1;
  return hosts;
}

}  // namespace

CommandResult Ibdiagnet(const ToolCall& call) {
  const Fabric fabric(call);
  if (fabric.local() == nullptr) {
    return Printed("-E- IBIS: ibis_init: failed to find any IB device\n    Exiting.\n", 4);
  }
  const Walk walk = WalkFabric(fabric);
  const int masters = MasterCount(call);
  const size_t hosts = HostCount(fabric);
  std::string out =
      "Loading IBDIAGNET from: /usr/lib/x86_64-linux-gnu/ibdiagnet1.5.7\n"
      "-W- Topology file is not specified.\n"
      "    Reports regarding cluster links will use direct routes.\n"
      "Loading IBDM from: /usr/lib/x86_64-linux-gnu/ibdm1.5.7\n"
      "-I- Using port 1 as the local port.\n";
  // What its progress display leaves in a file.
  out += std::string(56, '\r') + "\n\n";
  out += Section("Bad Guids/LIDs Info", "-I- No bad Guids were found\n");
  out += Section(
      "Links With Logical State = INIT",
      walk.init.empty() ? "-I- No bad Links (with logical state = INIT) were found\n" : walk.init);
  out += Section("General Device Info", "");
  out += Section("PM Counters Info", walk.counters.empty()
                                         ? "-I- No illegal PM counters values were found\n"
                                         : walk.counters);
  if (masters == 0) {
    out += Section("SM Info", "-E- Missing master SM in the discover fabric\n");
  } else if (masters > 1) {
    out += Section("SM Info", "-E- Found more then one master SM in the discover fabric\n");
  }
  out += Section("Fabric Partitions Report (see ibdiagnet.pkey for a full hosts list)",
                 fmt::format("-I-    PKey:0x7fff Hosts:{0} full:{0} limited:0\n", hosts));
  out += Section("IPoIB Subnets Check",
                 "-I- Subnet: IPv4 PKey:0x7fff QKey:0x00000b1b MTU:2048Byte rate:10Gbps SL:0x00\n"
                 "-W- Suboptimal rate for group. Lowest member rate:40Gbps > group-rate:10Gbps\n");
  out += fmt::format("\n{0}-I- Bad Links Info\n-I- No bad link were found\n{0}", kRuler);
  const std::array<Stage, 7> stages = {{{"Bad GUIDs/LIDs Check"},
                                        {"Link State Active Check", 0, walk.init_links},
                                        {"General Devices Info Report"},
                                        {"Performance Counters Report", 0, walk.bad_counters},
                                        {"SM Info Check", masters == 1 ? 0 : 1, 0},
                                        {"Partitions Check"},
                                        {"IPoIB Subnets Check", 0, 1}}};
  constexpr std::string_view kLine =
      "----------------------------------------------------------------\n";
  out += fmt::format("{}-I- Stages Status Report:\n    {:<40} Errors Warnings\n", kLine, "STAGE");
  for (const Stage& stage : stages) {
    // The SM stage is listed when it has something to say.
    if (stage.name == "SM Info Check" && stage.errors == 0) continue;
    out += fmt::format("    {:<40} {:<6} {:<6}\n", stage.name, stage.errors, stage.warnings);
  }
  out += fmt::format(
      "\nPlease see /tmp/ibdiagnet.log for complete log\n{} \n-I- Done. Run time was 0 seconds.\n",
      kLine);
  return Printed(std::move(out));
}

}  // namespace muster::lab::infiniband
