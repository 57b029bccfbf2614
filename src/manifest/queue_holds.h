// Queues through which nothing may start, and those that what runs is to leave: stopped or closed
// ones, and LocalQueues in namespaces that their ClusterQueue does not select. The one place that
// decides it, for the gang scheduler and for Kueue's admission alike.
#pragma once

#include <map>
#include <set>
#include <string>

#include "manifest/gangs.h"

namespace muster {

// By name, the labels of the namespaces that are known.
using NamespaceLabels = std::map<std::string, std::map<std::string, std::string>>;

struct QueueHolds {
  std::map<std::string, std::string> held;  // queue in the model -> why
  std::set<std::string> stopped;            // of those, by a stopPolicy
  std::set<std::string> drained;            // of those, HoldAndDrain
  bool operator==(const QueueHolds&) const = default;
};

QueueHolds HoldsOf(const Gangs& gangs, const NamespaceLabels& namespaces);

// The queue that quota is asked of: a LocalQueue has neither quota nor policies of its own, it is a
// name for its ClusterQueue. Any other queue is itself.
const std::string& QuotaQueueOf(const Queue& queue);
bool IsLocalQueue(std::string_view name);  // "namespace/name"

}  // namespace muster
