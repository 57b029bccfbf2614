#include "backend/lab/kubernetes/pod_names.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kube/object.h"

namespace muster::lab {

namespace {

bool Selects(const kube::Labels& selector, const kube::Labels& labels) {
  return !selector.empty() && std::all_of(selector.begin(), selector.end(), [&](const auto& want) {
    const auto has = labels.find(want.first);
    return has != labels.end() && has->second == want.second;
  });
}

bool IsReady(const kube::Pod& pod) {
  return std::any_of(pod.conditions.begin(), pod.conditions.end(), [](const auto& condition) {
    return condition.type == "Ready" && condition.status == "True";
  });
}

// The name of an endpoint that has no host name: "10-244-0-7".
std::string DashedAddress(uint32_t address) {
  return fmt::format("{}-{}-{}-{}", address >> 24, address >> 16 & 255, address >> 8 & 255,
                     address & 255);
}

}  // namespace

Result<NamedService> DecodeNamedService(std::string_view json) {
  TRY(kube::Object object, kube::DecodeObject(json));
  NamedService service;
  service.meta = std::move(object.meta);
  service.headless = kube::ValueAt(json, "/spec/clusterIP").value_or("") == "None";
  service.publish_not_ready =
      kube::ValueAt(json, "/spec/publishNotReadyAddresses").value_or("") == "true";
  const auto selector = kube::ValueAt(json, "/spec/selector");
  if (!selector) return service;
  const auto labels = nlohmann::json::parse(*selector, nullptr, false);
  if (!labels.is_object()) return service;
  for (const auto& [key, value] : labels.items()) {
    if (value.is_string()) service.selector[key] = value.get<std::string>();
  }
  return service;
}

std::string HostnameOf(const kube::Pod& pod) {
  return pod.hostname.empty() ? pod.meta.name : pod.hostname;
}

std::string FullHostnameOf(const kube::Pod& pod) {
  if (pod.subdomain.empty()) return HostnameOf(pod);
  return PodNames(HostnameOf(pod), pod.subdomain, pod.meta.ns).front();
}

// An endpoint carries the pod's host name only where spec.hostname is given and spec.subdomain
// names the Service (Kubernetes: endpointslice/utils.go, podToEndpoint).
std::set<std::string> PodNamesOfCluster::NamesFor(const Named& pod) const {
  std::set<std::string> names;
  const auto services = services_.find(pod.ns);
  if (services == services_.end() || pod.address == 0) return names;
  for (const auto& [name, service] : services->second) {
    if (!service.headless || !Selects(service.selector, pod.labels)) continue;
    if (!pod.ready && !service.publish_not_ready) continue;
    const bool own = !pod.hostname.empty() && pod.subdomain == name;
    for (std::string& one : PodNames(own ? pod.hostname : DashedAddress(pod.address), name, pod.ns))
      names.insert(std::move(one));
  }
  return names;
}

void PodNamesOfCluster::Publish(Named& pod, Duration now) {
  std::set<std::string> names = NamesFor(pod);
  for (const std::string& name : pod.names) {
    if (names.count(name) == 0) zone_.Remove(name, pod.address);
  }
  for (const std::string& name : names) {
    if (pod.names.count(name) == 0) zone_.Add(name, pod.address, now);
  }
  pod.names = std::move(names);
}

void PodNamesOfCluster::SetService(const NamedService& service, Duration now) {
  services_[service.meta.ns][service.meta.name] = service;
  for (const std::string& uid : pods_of_[service.meta.ns]) Publish(pods_.at(uid), now);
}

void PodNamesOfCluster::RemoveService(const std::string& key, Duration now) {
  const size_t slash = key.find('/');
  if (slash == std::string::npos) return;
  const std::string ns = key.substr(0, slash);
  services_[ns].erase(key.substr(slash + 1));
  for (const std::string& uid : pods_of_[ns]) Publish(pods_.at(uid), now);
}

void PodNamesOfCluster::SetPod(const kube::Pod& pod, Duration now) {
  const uint32_t address = pod.Finished() ? 0 : ParseIpv4(pod.pod_ip);
  Named& named = pods_[pod.meta.uid];
  if (named.address != address) {  // what stands there stands for another address
    for (const std::string& name : named.names) zone_.Remove(name, named.address);
    named.names.clear();
  }
  named.ns = pod.meta.ns, named.hostname = pod.hostname, named.subdomain = pod.subdomain;
  named.labels = pod.meta.labels;
  named.address = address;
  named.ready = IsReady(pod) && !pod.meta.deleted;
  pods_of_[named.ns].insert(pod.meta.uid);
  Publish(named, now);
}

void PodNamesOfCluster::RemovePod(const std::string& uid, Duration) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  for (const std::string& name : found->second.names) zone_.Remove(name, found->second.address);
  pods_of_[found->second.ns].erase(uid);
  pods_.erase(found);
}

}  // namespace muster::lab
