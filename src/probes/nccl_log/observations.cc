#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/nccl_log/nccl_map.h"

namespace muster::nccl_log {
namespace {

// From here a collective's speed is its bandwidth; the same bound as the plateau of a sweep.
constexpr uint64_t kLarge = uint64_t{1} << 30;

// "NET/IBext_v8" is the plugin NET/IBext whatever interface version it speaks.
std::string WithoutVersion(const std::string& transport) {
  const size_t at = transport.rfind("_v");
  if (at == std::string::npos || at + 2 >= transport.size()) return transport;
  const bool digits =
      std::all_of(transport.begin() + static_cast<ptrdiff_t>(at) + 2, transport.end(),
                  [](unsigned char c) { return std::isdigit(c) != 0; });
  return digits ? transport.substr(0, at) : transport;
}

bool IsTcp(std::string_view transport) {
  return transport == "NET/Socket" || transport == "NET/FastSocket";
}

// Higher is worse: TCP, then transports this program does not know, then plugins, then NCCL's own
// verbs.
int Badness(std::string_view transport) {
  if (IsTcp(transport)) return 3;
  if (transport == "NET/IB") return 0;
  for (std::string_view plugin :
       {"NET/IBext", "NET/AWS Libfabric", "NET/Libfabric", "NET/OFI", "NET/UCX"}) {
    if (transport == plugin) return 1;
  }
  return 2;
}

// The worst of the connections that belong to one rail or one node.
struct Worst {
  const NcclEdge* net = nullptr;
  const NcclEdge* no_gdr = nullptr;
  const NcclEdge* any = nullptr;

  void Take(const NcclEdge& edge) {
    any = &edge;
    if (net == nullptr ||
        Badness(WithoutVersion(edge.transport)) > Badness(WithoutVersion(net->transport)))
      net = &edge;
    if (!edge.gdr && no_gdr == nullptr) no_gdr = &edge;
  }
};

class Reporter {
 public:
  Reporter(const NcclMap& map, const RailOf& rail_of, ObservationBuilder& out)
      : map_(map), rail_of_(rail_of), out_(out) {}

  void Transports() {
    LearnRailsOfChannels();
    std::map<int, Worst> rails;
    std::map<std::string, Worst> nodes;
    for (const NcclEdge& edge : map_.edges) {
      if (!edge.net() || !edge.between_nodes) continue;
      nodes[edge.host].Take(edge);
      if (const auto rail = RailOfEdge(edge)) rails[*rail].Take(edge);
    }
    for (const auto& [host, devices] : map_.devices) {
      for (const NetDevice& device : devices) {
        if (device.kind == "Socket") continue;
        if (const auto rail = rail_of_(host, device)) rails.try_emplace(*rail);
      }
    }
    for (const std::string& host : map_.Hosts()) nodes.try_emplace(host);
    for (const auto& [rail, worst] : rails)
      Report(RailSubject(rail), "nccl.net", "nccl.gdr", worst);
    for (const auto& [host, worst] : nodes)
      Report(NodeSubject(host), "nccl.net_of_node", "nccl.gdr_of_node", worst);
  }

  void Versions() {
    const auto first = map_.ranks.find(0);
    std::string of_rank_0;
    if (first != map_.ranks.end()) {
      if (const auto at = map_.versions.find(first->second.host); at != map_.versions.end())
        of_rank_0 = at->second;
    }
    if (const auto at = map_.versions.find(""); of_rank_0.empty() && at != map_.versions.end())
      of_rank_0 = at->second;
    for (const std::string& host : map_.Hosts()) {
      const Subject node = NodeSubject(host);
      if (const auto at = map_.versions.find(host); at != map_.versions.end()) {
        out_.Add(node, "nccl.version", at->second, Unit::kNone, "NCCL version " + at->second);
      } else if (first != map_.ranks.end() && host == first->second.host && !of_rank_0.empty()) {
        out_.Add(node, "nccl.version", of_rank_0, Unit::kNone, "NCCL version " + of_rank_0);
      } else if (ChecksVersions(of_rank_0) && !map_.version_mismatch && AllCompleteOn(host)) {
        out_.Add(node, "nccl.version", of_rank_0, Unit::kNone,
                 fmt::format("rank 0 says {}, and set-up ends with an error where versions differ",
                             of_rank_0));
      } else {
        out_.AddUnobserved(node, "nccl.version", UnknownReason::kNotObserved,
                           map_.version_mismatch ? "NCCL says that versions differ between ranks"
                                                 : "this node's ranks do not print their version");
      }
    }
  }

  void Algorithm(const Subject& scope) {
    std::vector<std::string> names;
    const AlgorithmLine* last = nullptr;
    for (const AlgorithmLine& line : map_.algorithms) {
      if (line.bytes < kLarge) continue;
      last = &line;
      if (std::find(names.begin(), names.end(), line.algorithm) == names.end())
        names.push_back(line.algorithm);
    }
    std::sort(names.begin(), names.end());
    if (last != nullptr) {
      algorithm_ = Join(names, ",");
      out_.Add(scope, "collective.algorithm", algorithm_, Unit::kNone, last->line);
    } else if (!map_.forced_algorithm.empty()) {
      algorithm_ = map_.forced_algorithm;
      out_.Add(scope, "collective.algorithm", algorithm_, Unit::kNone,
               "NCCL_ALGO set by environment to " + algorithm_);
    } else {
      out_.AddUnobserved(scope, "collective.algorithm", UnknownReason::kNotObserved,
                         "no line of the TUNING subsystem for an all-reduce of 1 GiB or more");
    }
  }

  // Channels that were set up can stay unused; what a large all-reduce really ran on decides.
  void Sharp() {
    const Subject fabric{SubjectKind::kFabric, "fabric"};
    if (map_.sharp_failed) {
      out_.Add(fabric, "sharp.used", false, Unit::kNone,
               "NCCL says that the SHARP job could not be created");
    } else if (algorithm_.starts_with("CollNet") && map_.collnet_edges) {
      out_.Add(fabric, "sharp.used", true, Unit::kNone, algorithm_ + " over COLLNET channels");
    } else if (!algorithm_.empty() && !Contains(algorithm_, "CollNet")) {
      out_.Add(fabric, "sharp.used", false, Unit::kNone, "large all-reduces ran on " + algorithm_);
    } else {
      out_.AddUnobserved(fabric, "sharp.used", UnknownReason::kNotObserved,
                         map_.collnet_edges
                             ? "CollNet channels exist, but no line says what ran on them"
                             : "no line speaks of CollNet");
    }
  }

 private:
  const NetDevice* DeviceOf(const NcclEdge& edge) const {
    const auto at = map_.devices.find(edge.host);
    if (at == map_.devices.end()) return nullptr;
    for (const NetDevice& device : at->second) {
      if (device.index == edge.device && device.kind != "Socket") return &device;
    }
    return nullptr;
  }

  std::optional<int> RailOfAdapter(const NcclEdge& edge) const {
    if (IsTcp(WithoutVersion(edge.transport))) return std::nullopt;
    if (const NetDevice* device = DeviceOf(edge)) return rail_of_(edge.host, *device);
    return rail_of_(edge.host, NetDevice{edge.device, "", ""});
  }

  // A channel keeps to one rail, so a connection that fell back to TCP is missing from the rail of
  // its channel.
  void LearnRailsOfChannels() {
    for (const NcclEdge& edge : map_.edges) {
      if (!edge.net() || !edge.between_nodes) continue;
      if (const auto rail = RailOfAdapter(edge)) rail_of_channel_.try_emplace(edge.channel, *rail);
    }
  }

  std::optional<int> RailOfEdge(const NcclEdge& edge) const {
    if (const auto rail = RailOfAdapter(edge)) return rail;
    if (!IsTcp(WithoutVersion(edge.transport))) return std::nullopt;
    const auto at = rail_of_channel_.find(edge.channel);
    return at == rail_of_channel_.end() ? std::nullopt : std::optional(at->second);
  }

  void Report(const Subject& subject, std::string_view net_fact, std::string_view gdr_fact,
              const Worst& worst) {
    const Unobserved why = WhyNot(worst);
    if (worst.net != nullptr && (map_.whole() || IsTcp(WithoutVersion(worst.net->transport)))) {
      out_.Add(subject, net_fact, WithoutVersion(worst.net->transport), Unit::kNone,
               worst.net->line);
    } else {
      out_.AddUnobserved(subject, net_fact, why.reason, why.detail);
    }
    if (worst.no_gdr != nullptr) {
      out_.Add(subject, gdr_fact, false, Unit::kNone, worst.no_gdr->line);
    } else if (worst.any != nullptr && map_.whole()) {
      out_.Add(subject, gdr_fact, true, Unit::kNone, worst.any->line);
    } else {
      out_.AddUnobserved(subject, gdr_fact, why.reason, why.detail);
    }
  }

  Unobserved WhyNot(const Worst& worst) const {
    if (!map_.whole()) return {UnknownReason::kUnparsable, map_.gaps.front()};
    if (map_.Hosts().size() < 2) {
      return {UnknownReason::kNotObserved,
              "all ranks are on one node: nothing between nodes was exercised"};
    }
    if (worst.any == nullptr)
      return {UnknownReason::kNotObserved, "no channel between nodes names it"};
    return {};
  }

  // "Mismatched NCCL version detected" ends the set-up since 2.23 (NVIDIA/nccl src/init.cc);
  // earlier releases do not look.
  static bool ChecksVersions(std::string_view version) {
    const auto parts = Split(version, '.');
    if (parts.size() < 3) return false;
    const auto major = ParseInt(parts[0]), minor = ParseInt(parts[1]);
    return major.ok() && minor.ok() && (*major > 2 || (*major == 2 && *minor >= 23));
  }

  bool AllCompleteOn(const std::string& host) const {
    return std::all_of(map_.ranks.begin(), map_.ranks.end(), [&host](const auto& rank) {
      return rank.second.host != host || rank.second.complete;
    });
  }

  const NcclMap& map_;
  const RailOf& rail_of_;
  ObservationBuilder& out_;
  std::map<int, int> rail_of_channel_;
  std::string algorithm_;
};

}  // namespace

std::optional<int> RailByName(std::string_view, const NetDevice& device) {
  if (const auto number = After(device.name, "mlx5_")) {
    const auto rail = ParseInt(*number);
    if (rail.ok() && *rail >= 0 && *rail < 1024) return static_cast<int>(*rail);
  }
  return device.index;
}

void AddObservations(const NcclMap& map, const Subject& scope, const RailOf& rail_of,
                     ObservationBuilder& out) {
  Reporter reporter(map, rail_of, out);
  reporter.Transports();
  reporter.Versions();
  reporter.Algorithm(scope);
  reporter.Sharp();
}

}  // namespace muster::nccl_log
