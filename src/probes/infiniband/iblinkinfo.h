// iblinkinfo: every port of the fabric with its link's state, width and speed per lane. Each link
// is listed from both of its ends. "(Could be ...)" at the end of a line is advice, not a finding:
// a simulator says it of healthy links and hardware leaves it out, so width and rate are judged
// against the site, never against that text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/observation.h"
#include "probes/probe.h"

namespace muster::infiniband {

struct LinkInfoLine {
  std::string device;  // id in the site's terms: "leaf00", "node000/mlx5_0"
  int port = 0;
  std::optional<int> width;               // lanes in use; nothing on a port that is down
  std::optional<double> lane_gbit_per_s;  // signalling rate as printed
  std::string state, physical_state;      // "Active", "LinkUp"
  std::optional<std::string> peer;        // id of the device at the other end
  int peer_port = 0;
  std::string excerpt;

  std::string End() const { return device + "/" + std::to_string(port); }
  std::string PeerEnd() const { return *peer + "/" + std::to_string(peer_port); }
};

struct LinkInfo {
  std::vector<LinkInfoLine> lines;
  std::vector<std::string>
      rejected;  // lines about a link that could not be understood or attributed
};

// Captures exist of infiniband-diags 44.0 (ibsim); both the sectioned form and that of -l. A port
// that stands twice, or a line that cannot belong to the heading above it, is rejected: a heading
// was lost.
LinkInfo ParseIblinkinfo(std::string_view text);

// link.* for each link, both ends together (the worse state, the smaller width and rate), and
// port.state for ports without a peer. A link listed from one end only is not called Active: its
// other end may be Initialize.
Observations ParseIblinkinfoReading(const Reading& reading);

}  // namespace muster::infiniband
