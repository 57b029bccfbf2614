// Cordon, drain and return on a Kubernetes cluster. A cordon and its lease are one patch, guarded
// by the resourceVersion that was read: the Node alone tells who holds it, since when and for which
// run. What a person changed meanwhile is seen and left alone, and named where managedFields know
// it. A condition and a taint under our own field manager tell people and schedulers the same.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/actuator.h"
#include "backend/lease_text.h"
#include "kube/client.h"
#include "kube/core.h"

namespace muster::kubernetes {

// On the Node. The lease is JSON; `operands` holds the labels of before; the fence stays behind
// after a return, so that an engine that slept is still shut out.
inline constexpr std::string_view kLeaseKey = "muster.dev/lease";
inline constexpr std::string_view kFenceKey = "muster.dev/fence";
inline constexpr std::string_view kOperandsKey = "muster.dev/operands";
// True while a lease of ours is on the node: `kubectl describe node` shows who holds it and why. It
// follows the lease, and nothing is decided by it.
inline constexpr std::string_view kHeldCondition = "MusterHeld";
// Preferred only: a hard taint would keep the operands' own DaemonSets away from a node under
// repair.
inline constexpr std::string_view kHeldTaint = "muster.dev/held";
// Node labels by which the GPU operator deploys its DaemonSets; "false" takes the pod away.
inline constexpr std::string_view kOperandPrefix = "nvidia.com/gpu.deploy.";

// On a pod, by the job's own hook or sidecar: when its newest durable checkpoint became durable
// (RFC 3339), or "none" where there is nothing to lose. A drain waits for one that is younger than
// itself; of a pod with GPUs that says nothing it is UNKNOWN whether its work is saved, and it is
// left alone until a person says so. Replicas of a Deployment (ReplicaSet) have nothing to save.
inline constexpr std::string_view kCheckpointKey = "muster.dev/checkpoint-durable-at";

struct Options {
  Origin origin = Origin::kLive;
  // How long one drain asks again for evictions that a disruption budget refuses.
  Duration evict_patience = std::chrono::minutes(2);
  Duration evict_pause = std::chrono::seconds(5);
  int page = 500;
};

// Complexity: ReadFleet is one list of the nodes (in pages); a drain is one list of the node's pods
// and one request for each.
class KubernetesActuator final : public Actuator {
 public:
  // `client` is borrowed.
  explicit KubernetesActuator(kube::Client& client, Options options = {})
      : client_(client), options_(options) {}

  Origin origin() const override { return options_.origin; }
  std::vector<ActKind> Can() const override;
  std::vector<std::string> Render(const Action& action) const override;
  Result<Fingerprint> Before(const Action& action) override;
  DidResult Do(const Order& order) override;
  ProbeResult Probe(const Order& order) override;
  Result<Hold> ReadHold(const std::string& node) override;
  Result<Fleet> ReadFleet() override;
  // Pods that reserve GPUs, together by what controls them; durable_at as kCheckpointKey says.
  Result<std::vector<RunningJob>> JobsOn(const std::string& node) override;

 private:
  // Reads the node, asks `change` for a merge patch (no patch: its DidResult is the answer), and
  // writes it under the version that was read; again when somebody was quicker.
  struct Change {
    DidResult answer;
    std::string patch;  // without resourceVersion; "" = nothing to write
  };
  // The node as it was decoded, and its JSON.
  using MakeChange = std::function<Change(const kube::Node&, const std::string&)>;
  DidResult Patch(const std::string& node, const MakeChange& change);
  DidResult Cordon(const Order& order);
  // "" or why the condition could not be set, which changes nothing else.
  std::string ShowHeld(const Order& order, bool held);
  DidResult Return(const Order& order);
  DidResult Drain(const Order& order);
  DidResult HideOperands(const Order& order);
  Result<std::vector<kube::Pod>> PodsOn(const std::string& node);

  kube::Client& client_;
  const Options options_;
};

}  // namespace muster::kubernetes
