// The nodes under flavors with a topology (Kueue's topology-aware scheduling), and where on them
// Workloads go: the room that quota alone does not know. Values alone.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/kubernetes/kueue/topology_assignment.h"
#include "model/workload.h"
#include "sched/event.h"

namespace muster::kueue {

struct RoomMeta {
  std::string ns, name, uid, resource_version;
  std::string Key() const { return ns.empty() ? name : ns + "/" + name; }
};
struct RoomNode {
  RoomMeta meta;
  sched::NodeAdd node;
  bool usable = true;  // ready, and not cordoned
};
struct RoomPod {
  RoomMeta meta;
  std::string node;
  Resources shape;
  bool holds = false;  // it has a node, has not ended, and is of no Workload, which holds its room
};
Result<RoomNode> DecodeRoomNode(std::string_view json);
Result<RoomPod> DecodeRoomPod(std::string_view json);

// Who knows the cluster's nodes and pods; asked where a flavor names a topology.
struct RoomSource {
  std::function<void(const std::function<void(const sched::NodeAdd&, bool usable)>&)> each_node;
  std::function<void(const std::function<void(const RoomPod&)>&)> each_pod;
};

constexpr const char* kHostname = "kubernetes.io/hostname";

class Rooms {
 public:
  // Levels of the one topology that is followed, outermost first; empty: none is.
  void SetLevels(std::vector<std::string> levels);
  bool used() const { return !levels_.empty(); }
  const std::vector<std::string>& levels() const { return levels_; }
  // For the engine: all but the hostname, which is its "node".
  std::vector<std::string> EngineLevels() const;
  std::string EngineLevel(const std::string& label) const;

  void SetNode(const sched::NodeAdd& node);
  void RemoveNode(const std::string& name) { nodes_.erase(name); }
  void Clear() { nodes_.clear(); }
  const std::map<std::string, sched::NodeAdd>& nodes() const { return nodes_; }
  // Its names at the levels; nothing where a label is missing.
  std::optional<std::vector<std::string>> DomainsOf(const sched::NodeAdd& node) const;

  // What pods of one set hold, by node, as Kueue writes it.
  TopologyAssignment AssignmentOf(const std::map<std::string, int>& pods_on) const;
  // The nodes that an assignment means: by name where it goes down to them, else those of each
  // domain with room for the shape, as far as `taken` leaves it; nothing where they are not there.
  std::optional<std::map<std::string, int>> NodesOf(
      const TopologyAssignment& assignment, const Resources& shape,
      const std::map<std::string, Resources>& taken) const;

 private:
  int Fit(const sched::NodeAdd& node, const Resources& shape,
          const std::map<std::string, Resources>& taken) const;
  bool Within(const sched::NodeAdd& node, const std::vector<std::string>& levels,
              const std::vector<std::string>& values) const;

  std::vector<std::string> levels_;
  std::map<std::string, sched::NodeAdd> nodes_;
};

}  // namespace muster::kueue
