// Which kind of object is meant, and the path under which an API server keeps it. The built-in
// kinds that Muster reads are named here; a custom resource is one more value of the same type.
#pragma once

#include <string>
#include <string_view>

namespace muster::kube {

struct Resource {
  std::string group;    // empty for the core group
  std::string version;  // "v1"
  std::string plural;   // "pods", as in the path
  std::string kind;     // "Pod"
  bool namespaced = true;

  // "v1", "batch/v1".
  std::string ApiVersion() const;
  // "pods", "jobs.batch": how kubectl and RBAC messages write it.
  std::string Title() const;
  // The path of one object (name given), or of the collection. An empty `ns` of a namespaced kind
  // means all namespaces. Each part is percent-encoded, so a hostile name cannot leave its place.
  std::string Path(std::string_view ns = {}, std::string_view name = {},
                   std::string_view subresource = {}) const;
  bool operator==(const Resource&) const = default;
};

inline const Resource kNodes{"", "v1", "nodes", "Node", false};
inline const Resource kPods{"", "v1", "pods", "Pod"};
inline const Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline const Resource kServices{"", "v1", "services", "Service"};
inline const Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap"};
inline const Resource kEvents{"", "v1", "events", "Event"};
inline const Resource kJobs{"batch", "v1", "jobs", "Job"};
inline const Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease"};
inline const Resource kDisruptionBudgets{"policy", "v1", "poddisruptionbudgets",
                                         "PodDisruptionBudget"};

// Everything but unreserved characters (RFC 3986, 2.3) as %XX: safe in a path and in a query.
std::string PercentEncode(std::string_view text);

}  // namespace muster::kube
