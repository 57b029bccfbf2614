// sminfo: which subnet managers there are. `sminfo` asks only the one that this port was told of,
// so a second MASTER stays unseen; the reading is a transcript: `sminfo`, `saquery -s` (every port
// that says it can be a subnet manager), and `sminfo LID` for each of those. `saquery SMIR` is no
// substitute: it is one manager's opinion of the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/observation.h"
#include "probes/probe.h"

namespace muster::infiniband {

struct SmInfo {
  int lid = 0;
  uint64_t guid = 0;
  int64_t activity = 0;
  int priority = 0;
  std::string state;  // "MASTER", "STANDBY", "DISCOVER", "NOTACT"
  std::string excerpt;
};
// The line of one sminfo. Captures exist of infiniband-diags 44.0.
std::optional<SmInfo> ParseSminfo(std::string_view text);
// Nobody answered at the subnet manager's address: the query itself failed, not the tool.
bool SaysNoSubnetManager(std::string_view text);
// LIDs under "IsSM ports" of `saquery -s`; nothing where the query failed or its end ("IsSMdisabled
// ports") is missing.
std::optional<std::vector<int>> ParseIsSmPorts(std::string_view text);

// sm.masters and sm.state about the fabric. Without an answer to `saquery -s`, or from a port that
// it lists, the number of masters is not known; where `sminfo` itself found nobody it is 0.
Observations ParseSminfoReading(const Reading& reading);

}  // namespace muster::infiniband
