#include "kube/core.h"

#include <algorithm>

#include "kube/json_reader.h"

namespace muster::kube {

namespace {

std::vector<Condition> ReadConditions(View list) {
  std::vector<Condition> conditions;
  for (const View& one : list.Items()) {
    conditions.push_back({one["type"].Text(), one["status"].Text(), one["reason"].Text(),
                          one["message"].Text(), one["lastTransitionTime"].Time()});
  }
  return conditions;
}

Container ReadContainer(View from) {
  Container container;
  container.name = from["name"].Text();
  container.image = from["image"].Text();
  container.restart_policy = from["restartPolicy"].Text();
  container.command = from["command"].Texts();
  container.args = from["args"].Texts();
  for (const View& variable : from["env"].Items()) {
    const std::string field = variable["valueFrom"]["fieldRef"]["fieldPath"].Text();
    if (!field.empty()) container.env_fields.emplace_back(variable["name"].Text(), field);
    if (!variable["valueFrom"].there()) {
      container.env.emplace_back(variable["name"].Text(), variable["value"].Text());
    }
  }
  container.requests = from["resources"]["requests"].Quantities();
  container.limits = from["resources"]["limits"].Quantities();
  for (const View& port : from["ports"].Items()) {
    if (const int64_t host = port["hostPort"].Int(); host != 0) {
      container.host_ports.push_back(static_cast<int32_t>(host));
    }
  }
  return container;
}

std::vector<Container> ReadContainers(View list) {
  std::vector<Container> containers;
  for (const View& one : list.Items()) containers.push_back(ReadContainer(one));
  return containers;
}

void ReadPodSpec(View spec, Pod& pod) {
  pod.node_name = spec["nodeName"].Text();
  pod.scheduler_name = spec["schedulerName"].Text();
  pod.priority_class = spec["priorityClassName"].Text();
  pod.preemption_policy = spec["preemptionPolicy"].Text();
  pod.restart_policy = spec["restartPolicy"].Text();
  pod.service_account = spec["serviceAccountName"].Text();
  pod.hostname = spec["hostname"].Text();
  pod.subdomain = spec["subdomain"].Text();
  pod.runtime_class = spec["runtimeClassName"].Text();
  pod.pod_group = spec["schedulingGroup"]["podGroupName"].Text();
  pod.workload = spec["workloadRef"]["name"].Text();
  pod.priority =
      static_cast<int32_t>(std::clamp<int64_t>(spec["priority"].Int(), INT32_MIN, INT32_MAX));
  pod.termination_grace_s = spec["terminationGracePeriodSeconds"].MaybeInt();
  pod.active_deadline_s = spec["activeDeadlineSeconds"].MaybeInt();
  pod.containers = ReadContainers(spec["containers"]);
  pod.init_containers = ReadContainers(spec["initContainers"]);
  pod.overhead = spec["overhead"].Quantities();
  pod.pod_requests = spec["resources"]["requests"].Quantities();
  pod.pod_limits = spec["resources"]["limits"].Quantities();
  pod.node_selector = spec["nodeSelector"].TextMap();
  pod.affinity_json = spec["affinity"].Raw();
  pod.spread_json = spec["topologySpreadConstraints"].Raw();
  pod.resource_claims_json = spec["resourceClaims"].Raw();
  for (const View& one : spec["tolerations"].Items()) {
    pod.tolerations.push_back({one["key"].Text(), one["operator"].Text(), one["value"].Text(),
                               one["effect"].Text(), one["tolerationSeconds"].MaybeInt()});
  }
  for (const View& gate : spec["schedulingGates"].Items()) {
    pod.scheduling_gates.push_back(gate["name"].Text());
  }
  for (const View& volume : spec["volumes"].Items()) {
    std::string claim = volume["persistentVolumeClaim"]["claimName"].Text();
    if (!claim.empty()) pod.volume_claims.push_back(std::move(claim));
  }
}

void Add(const Amounts& more, Amounts& sum) {
  for (const auto& [name, milli] : more) sum[name] += milli;
}

void Raise(const Amounts& to, Amounts& peak) {
  for (const auto& [name, milli] : to) peak[name] = std::max(peak[name], milli);
}

}  // namespace

bool Node::Ready() const {
  return std::any_of(conditions.begin(), conditions.end(), [](const Condition& condition) {
    return condition.type == "Ready" && condition.status == "True";
  });
}

Amounts Pod::Requests() const {
  Amounts running;
  for (const Container& container : containers) Add(container.requests, running);
  Amounts sidecars, peak;
  for (const Container& container : init_containers) {
    // A sidecar stays; a plain init container runs beside the sidecars before it.
    if (container.restart_policy == "Always") {
      Add(container.requests, sidecars);
      Raise(sidecars, peak);
    } else {
      Amounts moment = sidecars;
      Add(container.requests, moment);
      Raise(moment, peak);
    }
  }
  Add(sidecars, running);
  Raise(peak, running);
  for (const auto& [name, milli] : pod_requests) running[name] = milli;
  Add(overhead, running);
  return running;
}

Result<Node> DecodeNode(std::string_view json) {
  TRY(const Element root, ParseJson(json));
  const View object(root), spec = object["spec"], status = object["status"];
  Node node;
  TRY(node.meta, ReadMeta(object));
  node.unschedulable = spec["unschedulable"].Flag();
  node.provider_id = spec["providerID"].Text();
  for (const View& taint : spec["taints"].Items()) {
    node.taints.push_back({taint["key"].Text(), taint["value"].Text(), taint["effect"].Text()});
  }
  node.capacity = status["capacity"].Quantities();
  node.allocatable = status["allocatable"].Quantities();
  node.conditions = ReadConditions(status["conditions"]);
  for (const View& address : status["addresses"].Items()) {
    node.addresses.emplace_back(address["type"].Text(), address["address"].Text());
  }
  const View info = status["nodeInfo"];
  node.kubelet_version = info["kubeletVersion"].Text();
  node.kernel_version = info["kernelVersion"].Text();
  node.os_image = info["osImage"].Text();
  node.container_runtime = info["containerRuntimeVersion"].Text();
  node.architecture = info["architecture"].Text();
  return node;
}

Result<Pod> DecodePod(std::string_view json) {
  TRY(const Element root, ParseJson(json));
  const View object(root), status = object["status"];
  Pod pod;
  TRY(pod.meta, ReadMeta(object));
  ReadPodSpec(object["spec"], pod);
  pod.phase = status["phase"].Text();
  pod.reason = status["reason"].Text();
  pod.message = status["message"].Text();
  pod.nominated_node = status["nominatedNodeName"].Text();
  pod.pod_ip = status["podIP"].Text();
  pod.host_ip = status["hostIP"].Text();
  pod.started = status["startTime"].Time();
  pod.conditions = ReadConditions(status["conditions"]);
  return pod;
}

Result<Job> DecodeJob(std::string_view json) {
  TRY(const Element root, ParseJson(json));
  const View object(root), spec = object["spec"], status = object["status"];
  Job job;
  TRY(job.meta, ReadMeta(object));
  job.parallelism = spec["parallelism"].MaybeInt();
  job.completions = spec["completions"].MaybeInt();
  job.backoff_limit = spec["backoffLimit"].MaybeInt();
  job.ttl_s = spec["ttlSecondsAfterFinished"].MaybeInt();
  job.completion_mode = spec["completionMode"].Text();
  job.suspend = spec["suspend"].Flag();
  job.template_json = spec["template"].Raw();
  job.active = status["active"].Int();
  job.succeeded = status["succeeded"].Int();
  job.failed = status["failed"].Int();
  job.ready = status["ready"].Int();
  job.conditions = ReadConditions(status["conditions"]);
  return job;
}

Result<Event> DecodeEvent(std::string_view json) {
  TRY(const Element root, ParseJson(json));
  const View object(root), about = object["involvedObject"];
  Event event;
  TRY(event.meta, ReadMeta(object));
  event.type = object["type"].Text();
  event.reason = object["reason"].Text();
  event.message = object["message"].Text();
  event.component = object["source"]["component"].Text();
  if (event.component.empty()) event.component = object["reportingComponent"].Text();
  event.about_kind = about["kind"].Text();
  event.about_ns = about["namespace"].Text();
  event.about_name = about["name"].Text();
  event.about_uid = about["uid"].Text();
  event.count = object["count"].Int(1);
  event.first = object["firstTimestamp"].Time();
  event.last = object["lastTimestamp"].Time();
  if (!event.first) event.first = object["eventTime"].Time();
  if (!event.last) event.last = event.first;
  return event;
}

Result<Lease> DecodeLease(std::string_view json) {
  TRY(const Element root, ParseJson(json));
  const View object(root), spec = object["spec"];
  Lease lease;
  TRY(lease.meta, ReadMeta(object));
  lease.holder = spec["holderIdentity"].Text();
  lease.duration_s = spec["leaseDurationSeconds"].Int();
  lease.transitions = spec["leaseTransitions"].Int();
  lease.acquired = spec["acquireTime"].Time();
  lease.renewed = spec["renewTime"].Time();
  return lease;
}

Result<DisruptionBudget> DecodeDisruptionBudget(std::string_view json) {
  TRY(const Element root, ParseJson(json));
  const View object(root), spec = object["spec"], status = object["status"];
  DisruptionBudget budget;
  TRY(budget.meta, ReadMeta(object));
  const auto number_or_percent = [](View value) {
    return value.MaybeInt() ? std::to_string(*value.MaybeInt()) : value.Text();
  };
  budget.min_available = number_or_percent(spec["minAvailable"]);
  budget.max_unavailable = number_or_percent(spec["maxUnavailable"]);
  budget.selector_json = spec["selector"].Raw();
  budget.allowed = status["disruptionsAllowed"].Int();
  budget.healthy = status["currentHealthy"].Int();
  budget.desired = status["desiredHealthy"].Int();
  budget.expected = status["expectedPods"].Int();
  return budget;
}

}  // namespace muster::kube
