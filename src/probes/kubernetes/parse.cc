#include "probes/kubernetes/parse.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "probes/kubernetes/answer.h"

namespace muster {

namespace {

using namespace kubernetes_answer;

// Devices are whole numbers, as texts. Nothing for anything else.
std::optional<int64_t> CountIn(const Json& amounts, const std::string& name) {
  const Json& value = In(amounts, name.c_str());
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_string()) return std::nullopt;
  const auto n = ParseInt(value.get<std::string>());
  return n.ok() && *n >= 0 ? std::optional(*n) : std::nullopt;
}

bool IsRdma(const std::string& name) {
  return StartsWith(name, "rdma/") || StartsWith(name, "mellanox.com/") ||
         StartsWith(name, "nvidia.com/rdma") || StartsWith(name, "nvidia.com/hostdev") ||
         StartsWith(name, "openshift.io/") || StartsWith(name, "intel.com/sriov") ||
         name == "vpc.amazonaws.com/efa";
}

void AddNode(const Json& node, ObservationBuilder& builder) {
  const std::string name = TextIn(In(node, "metadata"), "name");
  if (name.empty()) return;
  const Subject subject = NodeSubject(name);
  const Json& status = In(node, "status");
  const std::string ready = ConditionOf(status, "Ready", "status");
  if (ready.empty()) {
    builder.AddUnobserved(subject, "kube.node_ready", UnknownReason::kNotObserved,
                          "the node has no condition Ready");
  } else {
    builder.Add(subject, "kube.node_ready", ready == "True", Unit::kNone,
                "Ready " + ready + " " + ConditionOf(status, "Ready", "message"));
  }
  const Json& allocatable = In(status, "allocatable");
  if (!allocatable.is_object()) {
    for (const char* fact : {"kube.gpus_allocatable", "kube.rdma_allocatable"})
      builder.AddUnobserved(subject, fact, UnknownReason::kNotObserved,
                            "the node says no allocatable resources");
  } else {
    int64_t gpus = 0, rdma = 0;
    std::string named_gpus, named_rdma;
    for (const auto& [key, value] : allocatable.items()) {
      const bool gpu = key == "nvidia.com/gpu" || key == "amd.com/gpu";
      if (!gpu && !IsRdma(key)) continue;
      const auto count = CountIn(allocatable, key);
      if (!count) continue;
      (gpu ? gpus : rdma) += *count;
      (gpu ? named_gpus : named_rdma) += fmt::format("{}={} ", key, *count);
    }
    builder.Add(subject, "kube.gpus_allocatable", gpus, Unit::kCount,
                named_gpus.empty() ? "no GPU resource is allocatable" : named_gpus);
    builder.Add(subject, "kube.rdma_allocatable", rdma, Unit::kCount,
                named_rdma.empty() ? "no RDMA resource is allocatable" : named_rdma);
    builder.Add(subject, "kube.rdma_resources", std::string(Trim(named_rdma)), Unit::kNone,
                named_rdma);
  }
  const Json& labels = In(In(node, "metadata"), "labels");
  // Node Feature Discovery looks for the vendor of the adapters; the network operator then waits
  // with a label until the driver is there.
  const std::string nic = TextIn(labels, "feature.node.kubernetes.io/pci-15b3.present");
  const std::string mofed = TextIn(labels, "network.nvidia.com/operator.mofed.wait");
  builder.Add(subject, "kube.nic_seen", nic == "true", Unit::kNone,
              "feature.node.kubernetes.io/pci-15b3.present=" + nic);
  if (mofed.empty()) {
    builder.AddUnobserved(subject, "kube.nic_driver", UnknownReason::kNotObserved,
                          "no label network.nvidia.com/operator.mofed.wait: the network operator "
                          "does not manage this node's driver");
  } else {
    builder.Add(subject, "kube.nic_driver", mofed == "false", Unit::kNone,
                "network.nvidia.com/operator.mofed.wait=" + mofed);
  }
}

}  // namespace

Observations ParseKubeNodes(const Reading& reading) {
  ObservationBuilder builder(reading);
  const Answer answer = Read(reading);
  const Subject site = SiteSubject(reading.host);
  if (const Json* items = Items(answer, builder, site, {"kube.nodes"})) {
    // A page of a longer list is not the cluster.
    if (!TextIn(In(answer.json, "metadata"), "continue").empty()) {
      builder.AddUnobserved(site, "kube.nodes", UnknownReason::kUnparsable,
                            "a page of a longer list");
    } else {
      builder.Add(site, "kube.nodes", static_cast<int64_t>(items->size()), Unit::kCount,
                  fmt::format("{} Node objects", items->size()));
    }
    for (const Json& node : *items) AddNode(node, builder);
  }
  return builder.Take();
}

Observations ParseGpuOperator(const Reading& reading) {
  ObservationBuilder builder(reading);
  const Answer answer = Read(reading);
  const Subject site = SiteSubject(reading.host);
  const Json* items = Items(answer, builder, site, {"gpu_operator.state"});
  if (items == nullptr) return builder.Take();
  if (items->empty()) {
    builder.AddUnobserved(site, "gpu_operator.state", UnknownReason::kNotObserved,
                          "no ClusterPolicy: the GPU operator has nothing to do");
  }
  // Only one policy counts; the operator sets the others to "ignored".
  std::string worst, told;
  for (const Json& policy : *items) {
    const Json& status = In(policy, "status");
    const std::string state = TextIn(status, "state");
    if (state == "ignored") continue;
    std::string text = fmt::format("ClusterPolicy {}: {}", TextIn(In(policy, "metadata"), "name"),
                                   state.empty() ? "no state" : state);
    for (const char* type : {"Error", "Ready"}) {
      const std::string message = ConditionOf(status, type, "message");
      const std::string reason = ConditionOf(status, type, "reason");
      if (!message.empty() || !reason.empty())
        text += fmt::format("; {} {} {}", type, reason, message);
    }
    if (worst.empty() || worst == "ready") worst = state, told = text;
  }
  if (!items->empty() && worst.empty()) {
    builder.AddUnobserved(site, "gpu_operator.state", UnknownReason::kNotObserved,
                          told.empty() ? "every ClusterPolicy is ignored" : told);
  } else if (!worst.empty()) {
    builder.Add(site, "gpu_operator.state", worst, Unit::kNone, told);
  }
  return builder.Take();
}

Observations ParseGpuOperands(const Reading& reading) {
  ObservationBuilder builder(reading);
  const Answer answer = Read(reading);
  const Subject site = SiteSubject(reading.host);
  const Json* items = Items(answer, builder, site, {"gpu_operator.failed_operands"});
  if (items == nullptr) return builder.Take();
  int64_t failed = 0, seen = 0;
  std::string told;
  for (const Json& set : *items) {
    const Json& status = In(set, "status");
    const auto wanted = CountIn(status, "desiredNumberScheduled");
    const auto ready = CountIn(status, "numberReady");
    if (!wanted || !ready) {
      builder.AddUnobserved(site, "gpu_operator.failed_operands", UnknownReason::kUnparsable,
                            "a DaemonSet without counts: " + TextIn(In(set, "metadata"), "name"));
      return builder.Take();
    }
    ++seen;
    if (*ready >= *wanted) continue;
    ++failed;
    told += fmt::format("{}{}: {} of {} ready", told.empty() ? "" : "; ",
                        TextIn(In(set, "metadata"), "name"), *ready, *wanted);
  }
  if (seen == 0) {
    builder.AddUnobserved(site, "gpu_operator.failed_operands", UnknownReason::kNotObserved,
                          "no DaemonSet is managed by the GPU operator");
  } else {
    // By name: that is what a person has to look at.
    builder.Add(site, "gpu_operator.failed_operands", told.empty() ? "none" : Shorten(told, 300),
                Unit::kNone, fmt::format("{} operands, {} not ready", seen, failed));
  }
  return builder.Take();
}

Observations ParseNetworkOperator(const Reading& reading) {
  ObservationBuilder builder(reading);
  const Answer answer = Read(reading);
  const Subject site = SiteSubject(reading.host);
  const Json* items =
      Items(answer, builder, site, {"network_operator.state", "network_operator.failed_states"});
  if (items == nullptr) return builder.Take();
  bool any = false;
  for (const Json& policy : *items) {
    const Json& status = In(policy, "status");
    const std::string state = TextIn(status, "state");
    if (state == "ignore" || any) continue;
    any = true;
    const std::string name = TextIn(In(policy, "metadata"), "name");
    if (state.empty()) {
      builder.AddUnobserved(site, "network_operator.state", UnknownReason::kNotObserved,
                            "NicClusterPolicy " + name + " has no state");
    } else {
      builder.Add(site, "network_operator.state", state, Unit::kNone,
                  fmt::format("NicClusterPolicy {}: {} {}", name, state, TextIn(status, "reason")));
    }
    const Json& applied = In(status, "appliedStates");
    if (!applied.is_array() || applied.empty()) {
      builder.AddUnobserved(site, "network_operator.failed_states", UnknownReason::kNotObserved,
                            "NicClusterPolicy " + name + " lists no appliedStates");
      continue;
    }
    int64_t failed = 0;
    std::string told;
    for (const Json& one : applied) {
      const std::string its = TextIn(one, "state");
      if (its == "ready" || its == "ignore") continue;
      ++failed;
      told += fmt::format("{}{}: {} {}", told.empty() ? "" : "; ", TextIn(one, "name"),
                          its.empty() ? "no state" : its, TextIn(one, "message"));
    }
    builder.Add(site, "network_operator.failed_states", told.empty() ? "none" : Shorten(told, 300),
                Unit::kNone, fmt::format("{} states, {} not ready", applied.size(), failed));
  }
  if (!any) {
    for (const char* fact : {"network_operator.state", "network_operator.failed_states"})
      builder.AddUnobserved(site, fact, UnknownReason::kNotObserved,
                            "no NicClusterPolicy: the network operator has nothing to do");
  }
  return builder.Take();
}

Observations ParseAttachments(const Reading& reading) {
  ObservationBuilder builder(reading);
  const Answer answer = Read(reading);
  const Subject site = SiteSubject(reading.host);
  const Json* items = Items(answer, builder, site, {"attachment.count", "attachment.resources"});
  if (items == nullptr) return builder.Take();
  std::set<std::string> resources;
  std::string names;
  for (const Json& one : *items) {
    const Json& meta = In(one, "metadata");
    const std::string resource = TextIn(In(meta, "annotations"), "k8s.v1.cni.cncf.io/resourceName");
    if (!resource.empty()) resources.insert(resource);
    names += fmt::format("{}/{} {}; ", TextIn(meta, "namespace"), TextIn(meta, "name"), resource);
  }
  builder.Add(site, "attachment.count", static_cast<int64_t>(items->size()), Unit::kCount,
              names.empty() ? "no NetworkAttachmentDefinition" : names);
  builder.Add(site, "attachment.resources", Join({resources.begin(), resources.end()}, " "),
              Unit::kNone, names);
  return builder.Take();
}

// The kubelet's /configz: {"kubeletconfig": {...}}, every field with its default filled in.
Observations ParseKubelet(const Reading& reading) {
  ObservationBuilder builder(reading);
  const Answer answer = Read(reading);
  const Subject node = NodeSubject(reading.host);
  const Json& config = In(answer.json, "kubeletconfig");
  const std::pair<const char*, const char*> kFields[] = {
      {"kubelet.topology_policy", "topologyManagerPolicy"},
      {"kubelet.topology_scope", "topologyManagerScope"},
      {"kubelet.cpu_manager", "cpuManagerPolicy"}};
  for (const auto& [fact, field] : kFields) {
    const std::string value = TextIn(config, field);
    if (answer.why) {
      builder.AddUnobserved(node, fact, answer.why->reason, answer.why->detail);
    } else if (value.empty()) {
      builder.AddUnobserved(node, fact, UnknownReason::kUnparsable,
                            fmt::format("configz has no kubeletconfig.{}", field));
    } else {
      builder.Add(node, fact, value, Unit::kNone, fmt::format("{}: {}", field, value));
    }
  }
  return builder.Take();
}

}  // namespace muster
