// Questions to a Kubernetes cluster as it is now: its objects are read once, the scheduler's core
// is built from them as a scheduler that starts would build it, and nothing is written.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/sched_ask.h"
#include "base/result.h"
#include "world/world.h"

namespace muster::kube {
class Client;
}

namespace muster {

struct LiveOptions {
  std::string kubeconfig, context;  // empty: as kubectl finds them
  std::vector<std::string> schedulers = {"muster"};
};

struct LiveGang {
  std::string name, dialect, state, queue, why;
  std::string ignored;  // what its objects ask for and is not acted on
  int min = 0, pods = 0, bound = 0, priority = 0;
  std::vector<std::string> nodes;
};
struct LiveNode {
  std::string name, place, state;  // place: "spine00/leaf01"; state: ready, cordoned, gone, suspect
  std::string policy;
  int64_t gpus = 0, gpus_free = 0;
  std::vector<std::string> gangs;
};
struct LiveQueue {
  struct Item {
    std::string flavor, resource;
    int64_t nominal = 0, used = 0, available = 0;
  };
  std::string name, parent;
  std::vector<Item> items;
  int waiting = 0, running = 0;
};
struct LiveDrain {
  std::string node;
  std::vector<std::string> there;    // gangs with pods on it
  std::vector<std::string> moved;    // ranks that would find another place, "gang rank -> node"
  std::vector<std::string> evicted;  // gangs that would have to wait again
};

class LiveCluster {
 public:
  // Lists everything; at most a minute. kPermission, kUnavailable, ... with what to do.
  static Result<std::unique_ptr<LiveCluster>> Load(const World& world, const LiveOptions& options);
  // Through a client that is there; borrowed.
  static Result<std::unique_ptr<LiveCluster>> Load(kube::Client& client,
                                                   const LiveOptions& options);
  ~LiveCluster();

  std::vector<LiveGang> Gangs() const;
  std::vector<LiveNode> Nodes() const;
  std::vector<LiveQueue> Queues() const;
  // `job` is namespace/name, or a name that only one namespace has; where groups of several kinds
  // share it, with its kind: "ml/ddp@volcano". kNotFound, or kInvalid with the names that it may
  // mean.
  Result<SchedWhy> Why(const std::string& job);
  // What would become of the gangs on the node if it were emptied now, on a copy.
  Result<LiveDrain> Drain(const std::string& node) const;
  // What may not be read, and what does not fit.
  std::vector<std::string> Troubles() const;
  // "clusterqueues.kueue.x-k8s.io/team: spec.flavorFungibility: read, and not acted on"
  std::vector<std::string> QueueNotes() const;

 private:
  struct State;
  explicit LiveCluster(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace muster
