// One node as its kubelet would keep it: what it has, what its pods hold, and whether it takes one
// more. The decision about zones is the scheduler's own model of the kubelet (sched/numa), so that
// a pod which the model would refuse is refused here with the kubelet's words.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/core.h"
#include "sched/numa/describe.h"
#include "sched/numa/topology_manager.h"

namespace muster::lab {

struct PlayedNodeSpec {
  std::string name;
  kube::Labels labels, annotations;
  int zones = 2;
  int cpus_per_zone = 48;
  int64_t memory_bytes_per_zone = 512ll << 30;
  int gpus = 8;  // nvidia.com/gpu, spread over the zones
  int max_pods = 110;
  int rdma_shares = 63;  // rdma/rdma_shared_device_a, of no zone
  std::string topology_policy = "none", topology_scope = "container", cpu_manager = "none";
};

// A refusal as the kubelet writes it into the pod's status.
struct Rejection {
  std::string reason;   // UnexpectedAdmissionError, TopologyAffinityError, OutOfcpu, ...
  std::string message;  // "Pod was rejected: ..."
};

class PlayedNode {
 public:
  static Result<PlayedNode> Make(PlayedNodeSpec spec);

  // Takes the pod, or says why not. A uid that it holds already is taken again without effect.
  std::optional<Rejection> Admit(const kube::Pod& pod);
  // Gives back what the pod held; unknown uids are fine.
  void Release(const std::string& uid);

  const PlayedNodeSpec& spec() const { return spec_; }
  size_t pods() const { return held_.size(); }
  // The Node object, Ready, with capacity; `now` is RFC 3339.
  std::string NodeJson(const std::string& now) const;

 private:
  PlayedNode(PlayedNodeSpec spec, numa::Machine machine);
  struct Held {
    std::vector<numa::Grant> grants;
    kube::Amounts requests;
  };
  Result<numa::Request> RequestOf(const kube::Pod& pod) const;
  std::optional<Rejection> OutOf(const kube::Amounts& requests) const;

  PlayedNodeSpec spec_;
  numa::Machine machine_;
  numa::NodeState state_;
  kube::Amounts capacity_, used_;
  std::map<std::string, Held> held_;
};

// Kubernetes' QoS class Guaranteed: every container has limits of cpu and memory that equal its
// requests.
bool IsGuaranteed(const kube::Pod& pod);

}  // namespace muster::lab
