// NCCL's INFO lines of one rank, in the order and wording of NCCL 2.26 (src/init.cc,
// src/transport/net.cc, src/graph/connect.cc).
#include <algorithm>

#include <fmt/format.h>

#include "backend/lab/nccl/job.h"
#include "backend/lab/state/truth.h"
#include "base/digest.h"
#include "base/strings.h"

namespace muster::lab {
namespace {

constexpr std::string_view kVersion = "2.26.2+cuda12.8";

struct Adapter {
  std::string device;
  int rail = 0;
};

class RankWriter {
 public:
  RankWriter(const Job& job, int rank, int pid)
      : job_(job), rank_(rank), local_(rank % job.ranks_per_node), node_(job.NodeOf(rank)) {
    prefix_ = fmt::format("{}:{}:{} [{}] NCCL INFO ", node_.name, pid, pid + 1, local_);
    for (const Nic& nic : node_.nics) {
      const HcaTruth truth = HcaNow(*job.state, node_, nic, job.now);
      const bool works = truth.present && truth.state == "Active";
      if (works && HcaWanted(job.env.hca, nic.device)) adapters_.push_back({nic.device, nic.rail});
    }
    const bool tcp =
        !job.rails.empty() && !TransportNow(*job.state, node_, job.rails.front(), job.now).rdma;
    if (tcp || (job.rails.empty() && job.nodes.size() > 1)) adapters_.clear();
  }

  std::string Write() {
    Start();
    Init();
    Edges();
    return std::move(text_);
  }

 private:
  void Say(std::string_view line) { text_ += fmt::format("{}{}\n", prefix_, line); }
  std::string Address() const {
    const auto at =
        std::find(job_.nodes.begin(), job_.nodes.end(), node_.name) - job_.nodes.begin();
    return fmt::format("10.0.{}.{}", at / 250, at % 250 + 1);
  }

  void Start() {
    Say(fmt::format("Bootstrap: Using eth0:{}<0>", Address()));
    Say("cudaDriverVersion 12080");
    if (rank_ == 0) text_ += fmt::format("NCCL version {}\n", kVersion);
    Say("NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.");
    if (adapters_.empty()) {
      Say("NET/IB : No device found.");
      Say(fmt::format("NET/Socket : Using [0]eth0:{}<0>", Address()));
      Say("Using network Socket");
      return;
    }
    std::string list;
    for (size_t i = 0; i < adapters_.size(); ++i)
      list += fmt::format("[{}]{}:1/IB ", i, adapters_[i].device);
    Say(fmt::format("NET/IB : Using {}[RO]; OOB eth0:{}<0>", list, Address()));
    Say("Using network IB");
  }

  std::string BusId() const {
    if (static_cast<size_t>(local_) >= node_.gpus.size()) return "0";
    const std::string& pci = node_.gpus[static_cast<size_t>(local_)].pci_bus_id;
    // "00000000:1B:00.0" is 1b000.
    if (pci.size() < 16) return "0";
    std::string id = ToLower(pci.substr(9, 2) + pci.substr(12, 2) + pci.substr(15, 1));
    id.erase(0, std::min(id.find_first_not_of('0'), id.size() - 1));
    return id;
  }

  void Init() {
    const std::string id = Sha256Hex(Join(job_.nodes, ",")).substr(0, 16);
    const std::string comm = fmt::format(
        "ncclCommInitRank comm 0x{:x} rank {} nranks {} cudaDev {} nvmlDev {} busId {} commId 0x{} "
        "- Init",
        0x55d2c0a10000 + rank_ * 4096, rank_, job_.world(), local_, local_, BusId(), id);
    if (!job_.env.algo.empty())
      Say(fmt::format("NCCL_ALGO set by environment to {}", job_.env.algo));
    if (!job_.env.hca.empty()) Say(fmt::format("NCCL_IB_HCA set to {}", job_.env.hca));
    Say(comm + " START");
    Say(fmt::format("comm 0x{:x} rank {} nRanks {} nNodes {} localRanks {} localRank {} MNNVL 0",
                    0x55d2c0a10000 + rank_ * 4096, rank_, job_.world(), job_.nodes.size(),
                    job_.ranks_per_node, local_));
    Say(
        fmt::format("{} coll channels, {} collnet channels, 0 nvls channels, {} p2p channels, 2 "
                    "p2p channels per peer",
                    Channels(), Channels(), Channels()));
    Say(comm + " COMPLETE");
  }

  int Channels() const {
    if (job_.nodes.size() < 2) return job_.ranks_per_node > 1 ? 8 : 2;
    return std::max<int>(2, static_cast<int>(job_.rails.size()));
  }

  std::string Rank(int rank) const {
    return fmt::format("{}[{}]", rank, rank % job_.ranks_per_node);
  }

  // In channel c the ring enters a node at local rank c and leaves it at the one before.
  void Edges() {
    const int per_node = job_.ranks_per_node;
    const int nodes = static_cast<int>(job_.nodes.size());
    const int base = rank_ - local_, at = rank_ / per_node;
    for (int channel = 0; channel < Channels(); ++channel) {
      const int entry = channel % per_node, exit = (channel + per_node - 1) % per_node;
      const int next_local = base + (local_ + 1) % per_node;
      if (nodes == 1) {
        if (per_node > 1) Direct(channel, next_local);
        continue;
      }
      if (local_ == entry)
        Network(channel, (at + nodes - 1) % nodes * per_node + exit, rank_, false);
      if (local_ != exit) {
        Direct(channel, next_local);
      } else {
        Network(channel, rank_, (at + 1) % nodes * per_node + entry, true);
      }
    }
    Say(fmt::format("Connected all rings, use ring PXN 0 GDR {}", adapters_.empty() ? 0 : 1));
  }

  void Direct(int channel, int to) {
    Say(fmt::format("Channel {:02d}/0 : {} -> {} via P2P/CUMEM", channel, Rank(rank_), Rank(to)));
  }

  void Network(int channel, int from, int to, bool send) {
    const std::string edge = fmt::format("Channel {:02d}/0 : {} -> {} [{}] via NET/", channel,
                                         Rank(from), Rank(to), send ? "send" : "receive");
    if (adapters_.empty()) return Say(edge + "Socket/0");
    const int rail = job_.rails[static_cast<size_t>(channel) % job_.rails.size()];
    // The adapter of the rail, or the next one that works where it does not.
    size_t device = 0;
    while (device + 1 < adapters_.size() && adapters_[device].rail < rail) ++device;
    const bool gdr = TransportNow(*job_.state, node_, adapters_[device].rail, job_.now).gdr;
    const int owner = rank_ - local_ + adapters_[device].rail % job_.ranks_per_node;
    const std::string proxy = owner == rank_ ? "" : fmt::format("({})", owner);
    Say(fmt::format("{}IB/{}{}{}", edge, device, proxy, gdr ? "/GDRDMA" : ""));
  }

  const Job& job_;
  const int rank_, local_;
  const Node& node_;
  std::string prefix_, text_;
  std::vector<Adapter> adapters_;
};

}  // namespace

std::string RankLog(const Job& job, int rank, int pid) {
  if (!job.env.debug) return rank == 0 ? fmt::format("NCCL version {}\n", kVersion) : std::string();
  return RankWriter(job, rank, pid).Write();
}

std::string TuningLine(const Job& job, int pid, uint64_t bytes) {
  if (!job.env.debug || job.world() < 2) return {};
  const size_t channels = job.nodes.size() < 2 ? 8 : std::max<size_t>(2, job.rails.size());
  return fmt::format(
      "{}:{}:{} [0] NCCL INFO AllReduce: {} Bytes -> Algo {} proto {} "
      "channel{{Lo..Hi}}={{0..{}}}\n",
      job.nodes.front(), pid, pid, bytes, AlgorithmFor(job, bytes),
      bytes < (1u << 20) ? "LL" : "SIMPLE", channels - 1);
}

}  // namespace muster::lab
