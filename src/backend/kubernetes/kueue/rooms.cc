#include "backend/kubernetes/kueue/rooms.h"

#include <algorithm>

#include "backend/kubernetes/kueue/facts.h"

namespace muster::kueue {

namespace {

RoomMeta MetaOf(const kube::Meta& meta) {
  return {meta.ns, meta.name, meta.uid, meta.resource_version};
}

}  // namespace

Result<RoomNode> DecodeRoomNode(std::string_view json) {
  TRY(const kube::Node node, kube::DecodeNode(json));
  RoomNode room;
  room.meta = MetaOf(node.meta);
  room.usable = node.Ready() && !node.unschedulable;
  room.node.name = node.meta.name;
  room.node.labels = {node.meta.labels.begin(), node.meta.labels.end()};
  for (const kube::Taint& taint : node.taints) {
    // What the node's controllers say of its health is in `usable`.
    if (!taint.key.starts_with("node.kubernetes.io/"))
      room.node.taints.push_back({taint.key, taint.value, taint.effect});
  }
  room.node.capacity = AmountsOf(node.allocatable);
  return room;
}

Result<RoomPod> DecodeRoomPod(std::string_view json) {
  TRY(const kube::Pod pod, kube::DecodePod(json));
  RoomPod room;
  room.meta = MetaOf(pod.meta);
  room.node = pod.node_name;
  room.shape = AmountsOf(pod.Requests());
  room.holds = !pod.node_name.empty() && !pod.Finished() &&
               pod.meta.Annotation("kueue.x-k8s.io/workload") == nullptr;
  return room;
}

void Rooms::SetLevels(std::vector<std::string> levels) { levels_ = std::move(levels); }

std::vector<std::string> Rooms::EngineLevels() const {
  std::vector<std::string> levels;
  for (const std::string& level : levels_) {
    if (level != kHostname) levels.push_back(level);
  }
  levels.emplace_back("node");
  return levels;
}

std::string Rooms::EngineLevel(const std::string& label) const {
  return label == kHostname ? "node" : label;
}

void Rooms::SetNode(const sched::NodeAdd& node) { nodes_[node.name] = node; }

std::optional<std::vector<std::string>> Rooms::DomainsOf(const sched::NodeAdd& node) const {
  std::vector<std::string> names;
  for (const std::string& level : levels_) {
    const auto label = node.labels.find(level);
    if (label == node.labels.end()) return std::nullopt;
    names.push_back(label->second);
  }
  return names;
}

// The hostname alone tells a node: higher levels are left out then.
TopologyAssignment Rooms::AssignmentOf(const std::map<std::string, int>& pods_on) const {
  TopologyAssignment assignment;
  const bool by_host = !levels_.empty() && levels_.back() == kHostname;
  assignment.levels = by_host ? std::vector<std::string>{kHostname} : levels_;
  std::map<std::vector<std::string>, int> pods_in;
  for (const auto& [name, pods] : pods_on) {
    const auto node = nodes_.find(name);
    if (node == nodes_.end()) continue;
    auto domains = DomainsOf(node->second);
    if (!domains) continue;
    if (by_host) domains = {domains->back()};
    pods_in[*domains] += pods;
  }
  for (const auto& [values, pods] : pods_in) assignment.domains.push_back({values, pods});
  return assignment;
}

int Rooms::Fit(const sched::NodeAdd& node, const Resources& shape,
               const std::map<std::string, Resources>& taken) const {
  const auto used = taken.find(node.name);
  int64_t fit = 1'000'000;
  for (const auto& [resource, amount] : shape) {
    if (amount <= 0) continue;
    const auto capacity = node.capacity.find(resource);
    int64_t free = capacity == node.capacity.end() ? 0 : capacity->second;
    if (used != taken.end() && used->second.count(resource) != 0) free -= used->second.at(resource);
    fit = std::min(fit, std::max<int64_t>(0, free) / amount);
  }
  return static_cast<int>(fit);
}

bool Rooms::Within(const sched::NodeAdd& node, const std::vector<std::string>& levels,
                   const std::vector<std::string>& values) const {
  for (size_t i = 0; i < levels.size(); ++i) {
    const auto label = node.labels.find(levels[i]);
    if (label == node.labels.end() || label->second != values[i]) return false;
  }
  return true;
}

std::optional<std::map<std::string, int>> Rooms::NodesOf(
    const TopologyAssignment& assignment, const Resources& shape,
    const std::map<std::string, Resources>& taken) const {
  std::map<std::string, int> pods_on;
  for (const auto& domain : assignment.domains) {
    int left = domain.count;
    for (const auto& [name, node] : nodes_) {
      if (left == 0) break;
      if (!Within(node, assignment.levels, domain.values)) continue;
      const int here = std::min(left, Fit(node, shape, taken));
      if (here > 0) pods_on[name] += here;
      left -= here;
    }
    if (left > 0) return std::nullopt;
  }
  return pods_on;
}

}  // namespace muster::kueue
