#include "backend/lab/kubernetes/played_node.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace muster::lab {

namespace {

constexpr const char* kGpu = "nvidia.com/gpu";

numa::NodeFacts FactsOf(const PlayedNodeSpec& spec) {
  numa::NodeFacts facts;
  facts.name = spec.name;
  facts.policy = spec.topology_policy;
  facts.scope = spec.topology_scope;
  facts.cpu_manager = spec.cpu_manager;
  // The static CPU manager wants something reserved; a real node reserves some anyway.
  if (spec.cpu_manager == "static") facts.reserved["cpu"] = 2000;
  for (int zone = 0; zone < spec.zones; ++zone) {
    numa::ZoneFacts amounts;
    amounts.amounts["cpu"] = int64_t{1000} * spec.cpus_per_zone;
    amounts.amounts["memory"] = spec.memory_bytes_per_zone;
    for (int gpu = 0; gpu < spec.gpus; ++gpu) {
      if (gpu * spec.zones / spec.gpus == zone) amounts.devices[kGpu].push_back(gpu);
    }
    facts.zones.push_back(std::move(amounts));
  }
  facts.capacity["cpu"] = int64_t{1000} * spec.cpus_per_zone * spec.zones;
  facts.capacity["memory"] = spec.memory_bytes_per_zone * spec.zones;
  if (spec.gpus > 0) facts.capacity[kGpu] = spec.gpus;
  return facts;
}

int64_t AmountOf(const kube::Amounts& amounts, std::string_view name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? 0 : found->second;
}

}  // namespace

bool IsGuaranteed(const kube::Pod& pod) {
  const auto whole = [](const kube::Container& container) {
    for (const char* name : {"cpu", "memory"}) {
      const int64_t limit = AmountOf(container.limits, name);
      const auto request = container.requests.find(name);
      const bool same = request == container.requests.end() || request->second == limit;
      if (limit <= 0 || !same) return false;
    }
    return true;
  };
  return !pod.containers.empty() &&
         std::all_of(pod.containers.begin(), pod.containers.end(), whole) &&
         std::all_of(pod.init_containers.begin(), pod.init_containers.end(), whole);
}

Result<PlayedNode> PlayedNode::Make(PlayedNodeSpec spec) {
  TRY(numa::MachineSpec described, numa::DescribeMachine(FactsOf(spec)));
  TRY(numa::Machine machine, numa::BuildMachine(std::move(described)));
  return PlayedNode(std::move(spec), std::move(machine));
}

PlayedNode::PlayedNode(PlayedNodeSpec spec, numa::Machine machine)
    : spec_(std::move(spec)), machine_(std::move(machine)), state_(numa::EmptyState(machine_)) {
  capacity_["cpu"] = int64_t{1000} * spec_.cpus_per_zone * spec_.zones;
  capacity_["memory"] = spec_.memory_bytes_per_zone * spec_.zones * 1000;
  capacity_["pods"] = int64_t{1000} * spec_.max_pods;
  capacity_["ephemeral-storage"] = (int64_t{1} << 40) * 1000;
  if (spec_.rdma_shares > 0)
    capacity_["rdma/rdma_shared_device_a"] = int64_t{1000} * spec_.rdma_shares;
  if (spec_.gpus > 0) capacity_[kGpu] = int64_t{1000} * spec_.gpus;
}

Result<numa::Request> PlayedNode::RequestOf(const kube::Pod& pod) const {
  numa::Request request;
  if (pod.containers.size() > static_cast<size_t>(numa::kMaxContainers)) {
    return Fail(Code::kRefused, fmt::format("{} containers, at most {} are played",
                                            pod.containers.size(), numa::kMaxContainers));
  }
  request.container_count = static_cast<int>(pod.containers.size());
  request.guaranteed = IsGuaranteed(pod);
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    const kube::Amounts& limits = pod.containers[i].limits;
    numa::ContainerRequest& asked = request.containers[i];
    for (const auto& [name, milli] : limits) {
      const int index = machine_.FindResource(name);
      if (index >= 0) {
        asked.devices[static_cast<size_t>(index)] =
            static_cast<int16_t>(std::clamp<int64_t>(milli / 1000, 0, INT16_MAX));
      }
    }
    const int64_t cpu = AmountOf(limits, "cpu");
    if (request.guaranteed && cpu % 1000 == 0) {
      asked.cpus = static_cast<int>(std::min<int64_t>(cpu / 1000, INT32_MAX));
    }
    asked.memory_bytes = AmountOf(limits, "memory") / 1000;
  }
  return request;
}

// The kubelet's general predicates: what remains after the managers have spoken.
std::optional<Rejection> PlayedNode::OutOf(const kube::Amounts& requests) const {
  for (const auto& [name, asked] : requests) {
    const int64_t capacity = AmountOf(capacity_, name), used = AmountOf(used_, name);
    if (asked <= 0 || asked + used <= capacity) continue;
    // As the kubelet counts: CPU in thousandths, everything else whole.
    const int64_t unit = name == "cpu" ? 1 : 1000;
    return Rejection{
        "OutOf" + name,
        fmt::format("Pod was rejected: Node didn't have enough resource: {}, requested: {}, used: "
                    "{}, capacity: {}",
                    name, asked / unit, used / unit, capacity / unit)};
  }
  return std::nullopt;
}

std::optional<Rejection> PlayedNode::Admit(const kube::Pod& pod) {
  if (held_.count(pod.meta.uid) != 0) return std::nullopt;
  const auto request = RequestOf(pod);
  if (!request.ok()) {
    return Rejection{"UnexpectedAdmissionError", "Pod was rejected: " + request.error().message};
  }
  numa::NodeState next = state_;
  const numa::Admission admission = numa::Admit(machine_, *request, &next);
  if (!admission.admitted) {
    return Rejection{std::string(numa::ReasonName(admission.refusal)),
                     "Pod was rejected: " + numa::KubeletMessage(machine_, admission)};
  }
  kube::Amounts requests = pod.Requests();
  requests["pods"] = 1000;
  if (auto out = OutOf(requests)) return out;
  state_ = next;
  Held held;
  held.grants.assign(admission.grants.begin(), admission.grants.begin() + request->container_count);
  for (const auto& [name, amount] : requests) used_[name] += amount;
  held.requests = std::move(requests);
  held_.emplace(pod.meta.uid, std::move(held));
  return std::nullopt;
}

void PlayedNode::Release(const std::string& uid) {
  const auto found = held_.find(uid);
  if (found == held_.end()) return;
  numa::Release(machine_, found->second.grants, &state_);
  for (const auto& [name, amount] : found->second.requests) used_[name] -= amount;
  held_.erase(found);
}

std::string PlayedNode::NodeJson(const std::string& now) const {
  nlohmann::json labels = {{"kubernetes.io/hostname", spec_.name},
                           {"kubernetes.io/os", "linux"},
                           {"kubernetes.io/arch", "amd64"},
                           {"muster.dev/played", "true"}};
  for (const auto& [key, value] : spec_.labels) labels[key] = value;
  nlohmann::json annotations = {{"muster.dev/topology-manager-policy", spec_.topology_policy},
                                {"muster.dev/topology-manager-scope", spec_.topology_scope},
                                {"muster.dev/cpu-manager-policy", spec_.cpu_manager}};
  nlohmann::json zones = nlohmann::json::array();
  for (const numa::ZoneFacts& zone : FactsOf(spec_).zones)
    zones.push_back({{"amounts", zone.amounts}, {"devices", zone.devices}});
  annotations["muster.dev/numa-zones"] = zones.dump();
  for (const auto& [key, value] : spec_.annotations) annotations[key] = value;
  nlohmann::json amounts;
  for (const auto& [name, milli] : capacity_) amounts[name] = kube::FormatMilli(milli);
  nlohmann::json conditions = nlohmann::json::array();
  for (const char* type : {"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"}) {
    const bool ready = std::string_view(type) == "Ready";
    conditions.push_back({{"type", type},
                          {"status", ready ? "True" : "False"},
                          {"reason", ready ? "KubeletReady" : "Played"},
                          {"message", "played by muster lab kubernetes"},
                          {"lastHeartbeatTime", now},
                          {"lastTransitionTime", now}});
  }
  return nlohmann::json{
      {"apiVersion", "v1"},
      {"kind", "Node"},
      {"metadata", {{"name", spec_.name}, {"labels", labels}, {"annotations", annotations}}},
      {"status",
       {{"capacity", amounts},
        {"allocatable", amounts},
        {"conditions", conditions},
        {"addresses", nlohmann::json::array({{{"type", "InternalIP"}, {"address", "127.0.0.1"}},
                                             {{"type", "Hostname"}, {"address", spec_.name}}})},
        {"nodeInfo",
         {{"kubeletVersion", "v1.37.1-played"},
          {"operatingSystem", "linux"},
          {"architecture", "amd64"},
          {"kernelVersion", "6.8.0-played"},
          {"osImage", "muster lab"},
          {"containerRuntimeVersion", "played://1"},
          {"machineID", ""},
          {"systemUUID", ""},
          {"bootID", ""},
          {"kubeProxyVersion", ""}}}}}}
      .dump();
}

}  // namespace muster::lab
