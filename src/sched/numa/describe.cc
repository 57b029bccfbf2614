#include "sched/numa/describe.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster::numa {
namespace {

constexpr int64_t kMilli = 1000;

int64_t Amount(const Resources& resources, const char* name) {
  const auto it = resources.find(name);
  return it == resources.end() ? 0 : it->second;
}

Result<bool> IsStatic(const std::string& policy, const char* manager) {
  if (policy == "none" || policy == "None" || policy.empty()) return false;
  if (policy == "static" || policy == "Static") return true;
  return Fail(Code::kInvalid,
              fmt::format("unknown {} policy '{}': expected none or static", manager, policy));
}

// A zone or node in cpu and memory; negative or absurd amounts are refused, fractions rounded down.
Result<Zone> ZoneOf(const Resources& amounts) {
  const int64_t milli = Amount(amounts, "cpu"), bytes = Amount(amounts, "memory");
  if (milli < 0 || milli / kMilli > kMaxCpus) {
    return Fail(Code::kInvalid,
                fmt::format("{} CPUs in a zone: 0 to {} are modelled", milli / kMilli, kMaxCpus));
  }
  if (bytes < 0) return Fail(Code::kInvalid, "negative memory");
  return Zone{static_cast<int>(milli / kMilli), bytes, 0};
}

Result<DeviceResource> DevicesOf(const NodeFacts& node, const std::string& name, int64_t count) {
  if (count < 0 || count > kMaxDevices) {
    return Fail(Code::kInvalid,
                fmt::format("{} of {}: 0 to {} are modelled", count, name, kMaxDevices));
  }
  DeviceResource resource{name, std::vector<ZoneMask>(static_cast<size_t>(count), 0)};
  for (size_t zone = 0; zone < node.zones.size(); ++zone) {
    const auto it = node.zones[zone].devices.find(name);
    if (it == node.zones[zone].devices.end()) continue;
    for (const int id : it->second) {
      if (id < 0 || id >= count) {
        return Fail(Code::kInvalid, fmt::format("zone {} has {} {}, the node has 0 to {}", zone,
                                                name, id, count - 1));
      }
      resource.zones[static_cast<size_t>(id)] |= static_cast<ZoneMask>(1u << zone);
    }
  }
  return resource;
}

}  // namespace

Result<MachineSpec> DescribeMachine(const NodeFacts& node) {
  MachineSpec spec;
  TRY(spec.policy, ParsePolicy(node.policy));
  TRY(spec.scope, ParseScope(node.scope));
  TRY(spec.cpu_static, IsStatic(node.cpu_manager, "CPU manager"));
  TRY(spec.memory_static, IsStatic(node.memory_manager, "memory manager"));
  if (node.zones.size() > kMaxZones) {
    return Fail(Code::kInvalid,
                fmt::format("{} NUMA zones: 1 to {} are modelled", node.zones.size(), kMaxZones));
  }
  if (node.zones.empty()) {
    TRY(const Zone whole, ZoneOf(node.capacity));
    spec.zones.push_back(whole);
  }
  for (const ZoneFacts& facts : node.zones) {
    TRY(const Zone zone, ZoneOf(facts.amounts));
    spec.zones.push_back(zone);
    for (const auto& [name, ids] : facts.devices) {
      if (!node.capacity.contains(name)) {
        return Fail(Code::kInvalid,
                    fmt::format("a zone has {}, the node's capacity has not", name));
      }
    }
  }
  for (const auto& [name, count] : node.capacity) {
    if (name.find('/') == std::string::npos) continue;
    TRY(DeviceResource resource, DevicesOf(node, name, count));
    spec.devices.push_back(std::move(resource));
  }
  const int64_t reserved_milli = Amount(node.reserved, "cpu");
  if (reserved_milli < 0 || reserved_milli / kMilli > kMaxCpus) {
    return Fail(Code::kInvalid, "reserved CPUs out of range");
  }
  // The kubelet reserves whole CPUs.
  if (spec.cpu_static) {
    spec.reserved_cpus = static_cast<int>((reserved_milli + kMilli - 1) / kMilli);
  }
  spec.zones[0].reserved_memory_bytes = Amount(node.reserved, "memory");
  return spec;
}

bool NeedsAdmission(const MachineSpec& spec) {
  return spec.policy != Policy::kNone || spec.cpu_static || spec.memory_static;
}

}  // namespace muster::numa
