// What of a cluster's objects the gang scheduler reads, as small values: of 30,000 pods nothing is
// kept that does not decide.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/core.h"
#include "kube/resource.h"
#include "model/workload.h"
#include "sched/event.h"

namespace muster::kubesched {

// What the reflector needs of an object.
struct Identity {
  std::string ns, name, uid, resource_version;
  std::string Key() const { return ns.empty() ? name : ns + "/" + name; }
};

// Where the group of a pod is written. Four kinds are called PodGroup, so the dialect is part of
// the name.
enum class Dialect : uint8_t {
  kNone,          // a pod of its own
  kMuster,        // label muster.dev/gang, the size in muster.dev/gang-size
  kVolcano,       // annotation scheduling.volcano.sh/group-name or scheduling.k8s.io/group-name
  kCoscheduling,  // label scheduling.x-k8s.io/pod-group
  kKai,           // annotation pod-group-name
  kNative,        // spec.schedulingGroup.podGroupName
  kKueue,         // label kueue.x-k8s.io/pod-group-name, the size in its total-count annotation
  kJob,           // an Indexed Job that names a Kueue queue: all its pods are admitted at once
};
std::string_view ToString(Dialect dialect);

struct PodFacts {
  Identity id;
  std::string node, scheduler, owner_job, owner_uid, role;
  bool done = false, failed = false, leaving = false, gated = false, controlled = false;
  std::string refusal;  // the kubelet's reason, of a pod that it refused
  Dialect dialect = Dialect::kNone;
  std::string group;
  int group_size = 0;  // as the pod itself says; 0 = an object says it
  int index = -1;      // of an indexed Job
  std::string queue;   // empty = none said
  int priority = 0;
  TopologyWish topology;
  TimePoint created{};
  Resources shape;
  std::map<std::string, std::string> select;
  std::vector<Toleration> tolerate;
  // A field that restricts where it may run and that is not modelled: it is not placed.
  std::string unsupported;
};
struct PodSeen {
  Identity meta;
  std::shared_ptr<const PodFacts> facts;
};
Result<PodSeen> DecodePodSeen(std::string_view json);

struct NodeFacts {
  Identity id;
  sched::NodeAdd spec;  // `at` is filled in from labels by those who know the levels
  bool usable = true;   // ready and not cordoned
};
struct NodeSeen {
  Identity meta;
  std::shared_ptr<const NodeFacts> facts;
};
Result<NodeSeen> DecodeNodeSeen(std::string_view json);

// A group's own object: a PodGroup of any dialect, or a Job.
struct GroupFacts {
  Identity meta;
  Dialect dialect = Dialect::kNone;
  int min = 0;  // 0: pod by pod
  std::string queue;
  TopologyWish topology;
  bool operator==(const GroupFacts& other) const {
    return min == other.min && queue == other.queue && topology == other.topology;
  }
};
Result<GroupFacts> DecodeJobGroup(std::string_view json);
Result<GroupFacts> DecodeVolcanoGroup(std::string_view json);
Result<GroupFacts> DecodeCoschedulingGroup(std::string_view json);
Result<GroupFacts> DecodeKaiGroup(std::string_view json);
Result<GroupFacts> DecodeNativeGroup(std::string_view json);

// "train/ddp@volcano".
std::string GroupKey(Dialect dialect, const std::string& ns, const std::string& name);

}  // namespace muster::kubesched
