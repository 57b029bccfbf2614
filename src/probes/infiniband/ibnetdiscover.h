// ibnetdiscover: which devices there are and which port is wired to which. Both its topology file
// and its list of ports (-p).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/observation.h"
#include "probes/probe.h"

namespace muster::infiniband {

// One port with somebody at its other end.
struct DiscoveredPort {
  std::string device;  // id in the site's terms: "leaf00", "node000/mlx5_0"
  bool is_switch = false;
  int port = 0;
  int lid = 0;  // of the port (of the switch); 0 before a subnet manager gave one
  std::string peer;
  int peer_port = 0;
  int width = 0;      // "4xEDR" -> 4
  std::string speed;  // "EDR"
  std::string excerpt;

  std::string End() const { return device + "/" + std::to_string(port); }
  std::string PeerEnd() const { return peer + "/" + std::to_string(peer_port); }
};
struct Discovery {
  std::vector<DiscoveredPort> ports;
  std::vector<std::string> rejected;
};

// The topology file. Captures exist of infiniband-diags 44.0 (ibsim) and of one with " s=4 w=2 v=4
// e=4" behind the speed.
Discovery ParseIbnetdiscover(std::string_view text);
// The output of `ibnetdiscover -p` of infiniband-diags 44.0.
Discovery ParseIbnetdiscoverPorts(std::string_view text);

// link.present of every link that was discovered. Whether others are missing or unexpected only the
// site's inventory tells.
Observations ParseIbnetdiscoverReading(const Reading& reading);

}  // namespace muster::infiniband
