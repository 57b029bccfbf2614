// The gang scheduler as a service on a Kubernetes cluster.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/kubernetes/kueue/pods_ready.h"
#include "base/result.h"
#include "world/world.h"

namespace muster::kube {
class Client;
}

namespace muster {

class SchedHealth;

struct SchedServeOptions {
  std::string kubeconfig, context;                   // empty: as kubectl finds them, or the pod's
  std::vector<std::string> schedulers = {"muster"};  // spec.schedulerName of the pods that are ours
  std::vector<std::string> levels;  // node labels, outermost first; empty: the default
  std::string lease_namespace = "kube-system", lease_name = "muster-scheduler";
  bool kueue = false;  // let Kueue's Workloads and Jobs in, as Kueue would
  // Kueue's waitForPodsReady; none: nobody is asked whether pods are ready.
  std::optional<kueue::WaitForPodsReady> wait_for_pods_ready;
  bool volcano_jobs = false;      // make the pods of Volcano Jobs, as Volcano's controllers would
  bool once = false;              // decide what is there, write it, give the lease back
  SchedHealth* health = nullptr;  // borrowed: is told each second how serving goes
};
struct SchedServed {
  uint64_t bound = 0, conflicts = 0, failed = 0, deleted = 0, said = 0;
  uint64_t gangs_placed = 0, evicted = 0;
  uint64_t admitted = 0, preempted = 0;  // Workloads and Jobs, with `kueue`
  int waiting = 0, running = 0;
  int64_t longest_turn_ms = 0;  // in which nothing else was heard
};
// Until `stop` says so (or, with `once`, until nothing is under way). The error is one that serving
// cannot go on with: no right to read, no such cluster.
Result<SchedServed> ServeSchedule(World& world, const SchedServeOptions& options,
                                  const std::function<bool()>& stop,
                                  const std::function<void(const std::string&)>& note);
// Through a client that is there; borrowed. However it ends, the lease is given back.
Result<SchedServed> ServeSchedule(World& world, kube::Client& client,
                                  const SchedServeOptions& options,
                                  const std::function<bool()>& stop,
                                  const std::function<void(const std::string&)>& note);

// Who a scheduler of this process is, as the holder of a lease: host, machine with its boot and pid
// namespace, process with its start, and a random word.
std::string SchedulerIdentity(World& world);
// True only for a holder that is a process of this machine, of this boot and of our own pid
// namespace, and that is gone. False for whoever cannot be seen from here.
bool HolderHasEnded(World& world, const std::string& holder);

}  // namespace muster
