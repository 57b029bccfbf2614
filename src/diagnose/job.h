// The job as NCCL's own lines tell it, gathered in one pass over logs of any size: ranks by host,
// transport of every edge, adapters, algorithms, versions, who never spoke. A gigabyte of these
// lines is ordinary, so a line costs no allocation once its host and its transport are known, and
// memory is O(ranks + kinds of transport), not O(lines). probes/nccl_log reads the same grammar for
// gate 6 and keeps every edge.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "diagnose/fact.h"

namespace muster::diagnose {

struct JobRank {
  int rank = -1, nranks = 0;
  std::string host, bus_id, comm;
  int cuda_device = -1;
  bool started = false, complete = false;
  size_t started_order = 0, complete_order = 0;  // which of all ranks was last
  Place at;
};

// How many edges of one host went one way, and the first line that says so.
struct TransportUse {
  std::string host, transport;  // "NET/IB", "NET/Socket", "P2P/CUMEM", "SHM/direct"
  bool net = false, gdr = false;
  uint64_t edges = 0;
  std::set<int> devices;  // of NET edges
  Place at;
  std::string text;
};

struct Communicator {
  std::string id;  // commId, or the size where versions before 2.18 print none
  int nranks = 0;
  std::map<int, JobRank> ranks;
  std::vector<int> Silent() const;      // that never spoke
  std::vector<int> Unfinished() const;  // that began and did not end
  bool AllComplete() const;
};

class JobMap {
 public:
  // True when the line was NCCL's and holds nothing that a rule could ask for. `line` is one whole
  // line without its end.
  bool Take(std::string_view line, const std::string& file, size_t number);

  const std::map<std::string, Communicator>& communicators() const { return comms_; }
  // The communicator with most ranks; nullptr when no rank was seen.
  const Communicator* Largest() const;
  std::vector<TransportUse> Transports() const;  // by host, then transport
  const std::map<std::string, std::set<std::string>>& versions() const { return versions_; }
  const std::map<std::string, std::string>& devices() const { return devices_; }  // host -> list
  const std::map<std::string, std::string>& networks() const { return networks_; }
  const std::map<std::string, uint64_t>& algorithms() const { return algorithms_; }
  uint64_t lines() const { return lines_; }
  const std::set<std::string>& hosts() const { return hosts_seen_; }

  // What follows: silent and unfinished ranks, fallback to TCP, edges without GPUDirect, versions
  // that differ ("job.silent_ranks", "job.socket", ...).
  void AddFacts(FactStore& facts) const;

 private:
  void Edge(std::string_view text, std::string_view line, const std::string& file, size_t number);
  void Init(std::string_view text, std::string_view line, const std::string& file, size_t number);
  void SetHost(std::string_view line, size_t nccl_at);

  std::map<std::string, Communicator> comms_;
  std::unordered_map<uint64_t, TransportUse> uses_;
  std::map<std::string, std::set<std::string>> versions_;  // version -> hosts
  std::map<std::string, std::string> devices_, networks_;
  std::map<std::string, uint64_t> algorithms_;
  std::set<std::string> hosts_seen_;
  std::unordered_set<uint64_t> host_hashes_;
  std::string host_;  // of the line being read
  uint64_t host_hash_ = 0;
  size_t guess_ = 0;  // where "NCCL " stood in the line before
  uint64_t lines_ = 0;
  size_t order_ = 0;
  uint64_t last_key_ = 0;
  TransportUse* last_use_ = nullptr;
};

}  // namespace muster::diagnose
