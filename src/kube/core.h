// The core objects that Muster reads, as plain types: a field that it does not read is not here.
// Absent fields are empty; enumerations stay the API's own words, so that a newer server's word is
// seen and not guessed at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/object.h"
#include "kube/quantity.h"

namespace muster::kube {

struct Condition {
  std::string type, status, reason, message;  // status: True, False, Unknown
  std::optional<TimePoint> since;
  bool operator==(const Condition&) const = default;
};

struct Taint {
  std::string key, value, effect;
  bool operator==(const Taint&) const = default;
};

struct Node {
  Meta meta;
  bool unschedulable = false;
  std::string provider_id;
  std::vector<Taint> taints;
  Amounts capacity, allocatable;
  std::vector<Condition> conditions;
  std::vector<std::pair<std::string, std::string>> addresses;  // InternalIP -> 10.0.0.1
  std::string kubelet_version, kernel_version, os_image, container_runtime, architecture;

  bool Ready() const;  // the Ready condition is True
};

struct Toleration {
  std::string key, op, value, effect;
  std::optional<int64_t> seconds;
  bool operator==(const Toleration&) const = default;
};

struct Container {
  std::string name, image, restart_policy;
  std::vector<std::string> command, args;
  std::vector<std::pair<std::string, std::string>> env;         // literal values
  std::vector<std::pair<std::string, std::string>> env_fields;  // name -> path, of fieldRef; other
                                                                // sources are left out
  Amounts requests, limits;
  std::vector<int32_t> host_ports;
};

struct Pod {
  Meta meta;
  std::string node_name, scheduler_name, priority_class, preemption_policy, restart_policy;
  std::string service_account, hostname, subdomain, runtime_class;
  std::string pod_group;  // spec.schedulingGroup.podGroupName of the native gang API
  std::string workload;   // spec.workloadRef.name: its form in Kubernetes 1.35 (v1alpha1)
  int32_t priority = 0;
  std::optional<int64_t> termination_grace_s, active_deadline_s;
  std::vector<Container> containers, init_containers;
  Amounts overhead, pod_requests, pod_limits;
  Labels node_selector;
  std::string affinity_json, spread_json, resource_claims_json;  // as written; empty when absent
  std::vector<Toleration> tolerations;
  std::vector<std::string> scheduling_gates, volume_claims;
  std::string phase, reason, message, nominated_node;  // status
  std::string pod_ip, host_ip;
  std::optional<TimePoint> started;
  std::vector<Condition> conditions;

  bool Finished() const { return phase == "Succeeded" || phase == "Failed"; }
  // What a scheduler reserves: containers and sidecars together, or the largest moment of the init
  // containers, whichever is more; pod-level requests in their place where given; plus overhead.
  // (Kubernetes: component-helpers/resource PodRequests.)
  Amounts Requests() const;
};

struct Job {
  Meta meta;
  std::optional<int64_t> parallelism, completions, backoff_limit, ttl_s;
  std::string completion_mode;
  bool suspend = false;
  int64_t active = 0, succeeded = 0, failed = 0, ready = 0;
  std::vector<Condition> conditions;
  std::string template_json;
};

struct Event {
  Meta meta;
  std::string type, reason, message, component;
  std::string about_kind, about_ns, about_name, about_uid;
  int64_t count = 0;
  std::optional<TimePoint> first, last;
};

struct Lease {
  Meta meta;
  std::string holder;
  int64_t duration_s = 0, transitions = 0;
  std::optional<TimePoint> acquired, renewed;
};

struct DisruptionBudget {
  Meta meta;
  std::string min_available, max_unavailable;  // "2" or "50%"
  std::string selector_json;
  int64_t allowed = 0, healthy = 0, desired = 0, expected = 0;
};

// kParse for text that is no such object: not JSON, no name, a wrong type where it matters.
Result<Node> DecodeNode(std::string_view json);
Result<Pod> DecodePod(std::string_view json);
Result<Job> DecodeJob(std::string_view json);
Result<Event> DecodeEvent(std::string_view json);
Result<Lease> DecodeLease(std::string_view json);
Result<DisruptionBudget> DecodeDisruptionBudget(std::string_view json);

}  // namespace muster::kube
