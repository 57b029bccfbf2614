// What NCCL's own log (NCCL_DEBUG=INFO, all ranks in one text, in any order) says of a job: who
// took part, over which adapters and transports each edge runs, with GPUDirect or without. Bad news
// is believed from any line; good news only from a log in which every rank is there, got to the end
// of its set-up, and both ends of every connection between nodes have spoken. Silence proves
// nothing.
//
// The grammar follows NCCL 2.4 to 2.30 (and RCCL's additions) as its sources print it; no
// third-party capture of a multi-node log is in the project.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/observation.h"
#include "probes/nccl_log/log_line.h"
#include "probes/probe.h"

namespace muster::nccl_log {

struct NcclRank {
  int rank = -1, nranks = 0;
  std::string host;
  long long pid = 0;
  int cuda_device = -1, nvml_device = -1;
  std::string bus_id;
  bool started = false, complete = false;  // "Init START", "Init COMPLETE"
  bool connected = false;                  // "Connected all rings" or trees, after its last edge
  std::string network;                     // "Using network IB"
};

// An entry of "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE ...".
struct NetDevice {
  int index = 0;
  std::string name;  // "mlx5_0", "eth0"
  std::string kind;  // "IB", "RoCE", "Socket"
};

struct NcclEdge : EdgeText {
  std::string host;  // of the rank that says it
  std::string line;
  bool between_nodes = true;
};

struct AlgorithmLine {
  uint64_t bytes = 0;
  std::string algorithm;  // "Ring", "Tree", "NVLS", ...
  std::string protocol;
  std::string line;
};

struct NcclMap {
  std::map<int, NcclRank> ranks;                          // of the largest communicator, by rank
  int nranks = 0;                                         // its size, 0 when no rank says it
  std::map<std::string, std::vector<NetDevice>> devices;  // by host
  std::vector<NcclEdge> edges;
  std::map<std::string, std::string>
      versions;  // by host that printed it; "" where the line has no speaker
  bool version_mismatch = false;
  std::vector<AlgorithmLine> algorithms;  // of all-reduce
  std::string forced_algorithm;           // "NCCL_ALGO set by environment to Ring."
  int coll_channels = 0;
  bool nvls = false;  // NVLS channels in use
  bool collnet_edges = false, sharp_failed = false;
  std::vector<std::string> warnings;  // "host: text" of every WARN line, first first
  std::vector<std::string> gaps;      // why good news cannot be believed
  size_t lines = 0;                   // of NCCL's

  std::set<std::string> Hosts() const;
  // Ranks of the communicator that never finished (or never began) their set-up.
  std::vector<int> Missing() const;
  // Every rank spoke, finished, and every edge between nodes was seen from both ends.
  bool whole() const { return gaps.empty(); }
};

// Any bytes.
NcclMap ParseNcclLog(std::string_view text);

// Which rail an adapter of a host is on; nothing = not a rail.
using RailOf = std::function<std::optional<int>(std::string_view host, const NetDevice& device)>;
// The k of mlx5_k; else the device's number in NCCL's list.
std::optional<int> RailByName(std::string_view host, const NetDevice& device);

// nccl.net and nccl.gdr of each rail, nccl.net_of_node, nccl.gdr_of_node and nccl.version of each
// node, collective.algorithm of `scope`, sharp.used of the fabric.
void AddObservations(const NcclMap& map, const Subject& scope, const RailOf& rail_of,
                     ObservationBuilder& out);

}  // namespace muster::nccl_log
