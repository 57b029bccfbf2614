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

// An object as the mirror keeps it; copies share the facts.
template <typename Facts>
struct Seen {
  Identity meta;
  std::shared_ptr<const Facts> facts;
  Seen() = default;
  explicit Seen(Facts of) : meta(of.id), facts(std::make_shared<const Facts>(std::move(of))) {}
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
  kJob,           // a Job that names a Kueue queue: all its pods are admitted at once
  kJobSet,        // a JobSet that names one: the pods of all its Jobs
};
std::string_view ToString(Dialect dialect);

struct PodFacts {
  Identity id;
  std::string node, scheduler, owner_job, owner_uid, role;
  bool done = false, failed = false, leaving = false, gated = false, controlled = false;
  std::string refusal;  // the kubelet's reason, of a pod that it refused
  Dialect dialect = Dialect::kNone;
  std::string group;
  int group_size = 0;                 // as the pod itself says; 0 = an object says it
  int index = -1;                     // of an indexed Job
  std::string queue;                  // empty = none said
  Dialect queue_of = Dialect::kNone;  // whose queue it is, where names alone do not tell
  int priority = 0;
  std::string priority_class;  // Kueue's, which counts before the pod's own priority
  TopologyWish topology;
  TimePoint created{};
  Resources shape;
  std::map<std::string, std::string> select;
  std::vector<Toleration> tolerate;
  // A field that restricts where it may run and that is not modelled: it is not placed.
  std::string unsupported;
  std::string ignored;  // wishes that are not acted on; it is placed all the same
};
using PodSeen = Seen<PodFacts>;
Result<PodSeen> DecodePodSeen(std::string_view json);

struct NodeFacts {
  Identity id;
  sched::NodeAdd spec;  // `at` is filled in from labels by those who know the levels
  bool usable = true;   // ready and not cordoned
};
using NodeSeen = Seen<NodeFacts>;
Result<NodeSeen> DecodeNodeSeen(std::string_view json);

// A group's own object: a PodGroup of any dialect, a Job or a JobSet.
struct GroupFacts {
  Identity meta;
  Dialect dialect = Dialect::kNone;
  int min = 0;             // 0: pod by pod
  bool suspended = false;  // a Job whose pods are about to go
  std::string queue;
  TopologyWish topology;       // Volcano's tiers as "tier-2": see LevelOfTier
  std::string priority_class;  // Kueue's as "kueue/NAME"; empty: the pods' own priority counts
  std::optional<int> priority;
  bool preemptible = true;
  std::map<std::string, int> role_min;  // Volcano's minTaskMember: of each role's pods
  std::string unsupported;              // why it is not placed at all
  std::vector<std::string> ignored;     // what it asks for that is not acted on
  bool SameWishes(const GroupFacts& other) const;
};
Result<GroupFacts> DecodeJobGroup(std::string_view json);
Result<GroupFacts> DecodeVolcanoGroup(std::string_view json);
Result<GroupFacts> DecodeCoschedulingGroup(std::string_view json);
Result<GroupFacts> DecodeKaiGroup(std::string_view json);
Result<GroupFacts> DecodeNativeGroup(std::string_view json);
Result<GroupFacts> DecodeJobSetGroup(std::string_view json);

// What of the annotations of pods, or of their template, bounds where a gang may be.
TopologyWish TopologyOf(const kube::Meta& meta);

// "train/ddp@volcano".
std::string GroupKey(Dialect dialect, const std::string& ns, const std::string& name);

}  // namespace muster::kubesched
