// ibstat: the state of this host's adapters, port by port. It prints good ports first and may then
// die on a device that vanished ("ibpanic: ... stat of IB device 'mlx5_8' failed", exit 255); what
// it printed before stays true.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/observation.h"
#include "probes/probe.h"

namespace muster::infiniband {

// A port as ibstat or ibstatus prints it; an absent key is an empty optional.
struct PortStatus {
  std::string device;
  int port = 1;
  std::optional<std::string> firmware;        // of the device; ibstat only
  std::optional<std::string> state;           // "Active", "Initializing", "Armed", "Down"
  std::optional<std::string> physical_state;  // "LinkUp", "Polling", "Disabled"
  std::optional<double> rate_gbit_per_s;      // aggregate of all lanes
  std::optional<std::string> link_layer;      // "InfiniBand", "Ethernet", "IB"
  std::string excerpt;
};
struct Ibstat {
  std::vector<PortStatus> ports;
  int devices = 0;                   // "CA '...'" headings
  std::optional<std::string> panic;  // the ibpanic line
  std::string panicked_device;       // that it names, empty when none
};

// Captures exist of infiniband-diags 39.0, 44.0 and 47.0. A key that stands twice in one port (a
// heading was lost) makes that port's values unknown.
Ibstat ParseIbstat(std::string_view text);
// ibstatus (the shell script of infiniband-diags 39.0 and 44.0); state words are brought to
// ibstat's ("4: ACTIVE" -> "Active").
std::vector<PortStatus> ParseIbstatus(std::string_view text);
// "4: ACTIVE" -> "Active", "5: LinkUp" -> "LinkUp"; nothing for what the kernel does not print.
std::optional<std::string> StateOfSysfs(std::string_view text);
std::optional<std::string> PhysicalStateOfSysfs(std::string_view text);
// "400 Gb/sec (4X NDR)" -> 400.
std::optional<double> RateOfSysfs(std::string_view text);

// hca.* of one port, about reading.host. The rate of a port that is not up is a placeholder and is
// not observed.
void ObservePort(const PortStatus& port, std::string_view host, ObservationBuilder& builder);
Observations ParseIbstatReading(const Reading& reading);
Observations ParseIbstatusReading(const Reading& reading);

}  // namespace muster::infiniband
