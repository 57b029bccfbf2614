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
#include <vector>

#include "diagnose/fact.h"
#include "diagnose/flat_index.h"

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
  // All ranks were seen, or one finished its set-up, and nothing that was printed leaves one host.
  bool OnOneHost() const;
  std::vector<TransportUse> Transports() const;  // by host, then transport
  const std::map<std::string, std::set<std::string>>& versions() const { return versions_; }
  // Those that cannot be one library: PyTorch says 2.21.5 where NCCL itself says 2.21.5+cuda12.4.
  std::vector<std::string> VersionsApart() const;
  const std::map<std::string, std::string>& devices() const { return devices_; }  // host -> list
  const std::map<std::string, std::string>& networks() const { return networks_; }
  const std::map<std::string, uint64_t>& algorithms() const { return algorithms_; }
  uint64_t lines() const { return lines_; }
  const std::set<std::string>& hosts() const { return hosts_seen_; }

  // What follows: silent and unfinished ranks, fallback to TCP, edges without GPUDirect, versions,
  // adapters and networks that differ ("job.silent_ranks", "job.socket", ...).
  void AddFacts(FactStore& facts) const;

 private:
  bool TakeOther(std::string_view text, std::string_view line, size_t nccl_at,
                 const std::string& file, size_t number);
  void Version(std::string_view line);
  void AddAdaptersApart(FactStore& facts) const;
  void AddNetworksApart(FactStore& facts) const;
  void Edge(std::string_view text, std::string_view line, const std::string& file, size_t number);
  void AddUse(std::string_view how, uint64_t key, Place at, std::string_view line);
  void Init(std::string_view text, const std::string& file, size_t number);
  void SetHost(std::string_view line, size_t nccl_at);
  bool FindHost(std::string_view line, size_t nccl_at);
  void Speaks(std::string_view host);
  size_t FindVia(std::string_view text);

  struct Host {
    std::string name;
    uint64_t hash = 0;
  };
  const Host& Speaker() const { return hosts_[speaker_]; }

  std::map<std::string, Communicator> comms_;
  std::vector<TransportUse> uses_;  // without their count
  std::vector<uint64_t> edges_;     // of each use, side by side: the only thing a line writes
  FlatIndex use_index_;             // by the hashes of the host and of what stands behind "via"
  std::map<std::string, std::set<std::string>> versions_;  // version -> hosts
  std::map<std::string, std::string> devices_, networks_;
  std::map<std::string, std::string> bootstraps_;  // host -> "eno1:10.1.1.1<0>"
  std::map<std::string, uint64_t> algorithms_;
  std::set<std::string> hosts_seen_;
  std::vector<Host> hosts_ = std::vector<Host>(1);  // the first: no host was named
  FlatIndex host_index_;
  FlatIndex words_index_;  // of "host:pid:tid [0] " to the number of the host
  size_t words_ = 0;
  uint32_t speaker_ = 0;    // number of the host of the line being read
  size_t guess_ = 0;        // where "NCCL INFO " stood in the line before
  size_t host_begin_ = 0;   // where its host began
  size_t via_[2] = {0, 0};  // how far from the end "via " stood in the two lines before
  uint64_t lines_ = 0;
  size_t order_ = 0;
};

}  // namespace muster::diagnose
