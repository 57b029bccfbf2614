#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "sched/numa/cpus.h"
#include "sched/numa/topology_manager.h"

namespace muster::numa {
namespace {

constexpr int kMaxThreadsPerCore = 8;

Status Validate(const MachineSpec& spec) {
  const auto bad = [](std::string what) { return Status(Fail(Code::kInvalid, std::move(what))); };
  const int zones = static_cast<int>(spec.zones.size());
  if (zones < 1 || zones > kMaxZones) {
    return bad(fmt::format("{} NUMA zones: 1 to {} are modelled", zones, kMaxZones));
  }
  if (spec.threads_per_core < 1 || spec.threads_per_core > kMaxThreadsPerCore) {
    return bad(fmt::format("threads_per_core is {}: expected 1 to {}", spec.threads_per_core,
                           kMaxThreadsPerCore));
  }
  if (spec.zones_per_socket < 1 || zones % spec.zones_per_socket != 0) {
    return bad(fmt::format("zones_per_socket is {}: expected a divisor of {} zones",
                           spec.zones_per_socket, zones));
  }
  int64_t cpus = 0, reserved_bytes = 0;
  for (int zone = 0; zone < zones; ++zone) {
    const Zone& z = spec.zones[zone];
    if (z.cpus < 0 || z.cpus > kMaxCpus || z.cpus % spec.threads_per_core != 0) {
      return bad(
          fmt::format("zone {} has {} CPUs: expected 0 to {}, a multiple of {} threads a core",
                      zone, z.cpus, kMaxCpus, spec.threads_per_core));
    }
    if (z.memory_bytes < 0 || z.reserved_memory_bytes < 0 ||
        z.reserved_memory_bytes > z.memory_bytes) {
      return bad(fmt::format("zone {} reserves {} of {} bytes of memory", zone,
                             z.reserved_memory_bytes, z.memory_bytes));
    }
    cpus += z.cpus;
    reserved_bytes += z.reserved_memory_bytes;
  }
  if (cpus > kMaxCpus) return bad(fmt::format("{} CPUs: at most {} are modelled", cpus, kMaxCpus));
  if (spec.devices.size() > kMaxResources) {
    return bad(fmt::format("{} device resources: at most {} are modelled", spec.devices.size(),
                           kMaxResources));
  }
  for (const DeviceResource& resource : spec.devices) {
    if (resource.zones.size() > kMaxDevices) {
      return bad(fmt::format("{} devices of {}: at most {} are modelled", resource.zones.size(),
                             resource.name, kMaxDevices));
    }
    for (const ZoneMask mask : resource.zones) {
      if (mask >> zones != 0) {
        return bad(fmt::format("a device of {} is in a zone that the node lacks", resource.name));
      }
    }
  }
  if (spec.cpu_static && spec.reserved_cpus < 1) {
    return bad("the static CPU manager needs at least one reserved CPU");
  }
  if (spec.reserved_cpus < 0 || spec.reserved_cpus > cpus) {
    return bad(fmt::format("{} of {} CPUs are reserved", spec.reserved_cpus, cpus));
  }
  if (spec.distribute_across_numa && zones > 4) {
    return bad("distribute-cpus-across-numa is modelled for up to 4 NUMA zones");
  }
  if (spec.memory_static && reserved_bytes == 0) {
    return bad("the Static memory manager needs reserved memory");
  }
  if (spec.prefer_closest) {
    bool square = static_cast<int>(spec.distances.size()) == zones;
    for (const auto& row : spec.distances) {
      square = square && static_cast<int>(row.size()) == zones &&
               std::all_of(row.begin(), row.end(), [](int d) { return d >= 0 && d < 65536; });
    }
    if (!square) return bad("prefer-closest-numa-nodes needs the distance of every pair of zones");
  }
  return {};
}

void LayCpus(Machine* machine) {
  const MachineSpec& spec = machine->spec;
  const int threads = spec.threads_per_core;
  int core = 0;
  for (int zone = 0; zone < machine->zone_count; ++zone) {
    for (int i = 0; i < spec.zones[zone].cpus / threads; ++i, ++core) {
      for (int t = 0; t < threads; ++t) {
        const int cpu =
            spec.siblings_adjacent ? core * threads + t : core + t * machine->core_count;
        machine->zone_core_cpus[zone].push_back(static_cast<uint16_t>(cpu));
        machine->zone_cpus[zone].set(cpu);
        machine->all_cpus.set(cpu);
      }
    }
    machine->socket_cpus[machine->zone_socket[zone]] |= machine->zone_cpus[zone];
  }
}

Status ReserveCpus(Machine* machine) {
  const auto reserved = TakeCpus(*machine, machine->all_cpus, machine->spec.reserved_cpus);
  if (!reserved || static_cast<int>(reserved->count()) != machine->spec.reserved_cpus) {
    return Fail(Code::kInvalid,
                fmt::format("{} CPUs cannot be reserved", machine->spec.reserved_cpus));
  }
  machine->reserved_cpus = *reserved;
  const int threads = machine->spec.threads_per_core;
  for (const auto& cpus : machine->zone_core_cpus) {
    for (size_t core = 0; core < cpus.size(); core += threads) {
      bool any = false;
      for (int t = 0; t < threads; ++t) any = any || reserved->test(cpus[core + t]);
      for (int t = 0; t < threads && any; ++t) machine->reserved_cores.set(cpus[core + t]);
    }
  }
  return {};
}

Machine::Devices GroupDevices(const DeviceResource& resource) {
  Machine::Devices devices;
  devices.name = resource.name;
  devices.plugin_prefers_lowest = resource.plugin_prefers_lowest;
  for (size_t i = 0; i < resource.zones.size(); ++i) {
    const DeviceMask bit = DeviceMask{1} << i;
    auto group = std::find_if(devices.groups.begin(), devices.groups.end(),
                              [&](const auto& g) { return g.zones == resource.zones[i]; });
    if (group == devices.groups.end()) {
      devices.groups.push_back({resource.zones[i], 0});
      group = devices.groups.end() - 1;
    }
    group->devices |= bit;
    devices.all |= bit;
    devices.zones |= resource.zones[i];
  }
  return devices;
}

}  // namespace

std::string_view ToString(Policy policy) {
  switch (policy) {
    case Policy::kNone:
      return "none";
    case Policy::kBestEffort:
      return "best-effort";
    case Policy::kRestricted:
      return "restricted";
    case Policy::kSingleNumaNode:
      return "single-numa-node";
  }
  return "none";
}

std::string_view ToString(Scope scope) { return scope == Scope::kPod ? "pod" : "container"; }

Result<Policy> ParsePolicy(std::string_view text) {
  for (const Policy policy :
       {Policy::kNone, Policy::kBestEffort, Policy::kRestricted, Policy::kSingleNumaNode}) {
    if (text == ToString(policy)) return policy;
  }
  return Fail(Code::kInvalid,
              fmt::format("unknown topology manager policy '{}': expected none, best-effort, "
                          "restricted or single-numa-node",
                          text));
}

Result<Scope> ParseScope(std::string_view text) {
  if (text == "container") return Scope::kContainer;
  if (text == "pod") return Scope::kPod;
  return Fail(Code::kInvalid,
              fmt::format("unknown topology manager scope '{}': expected container or pod", text));
}

int Machine::FindResource(std::string_view name) const {
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

Result<Machine> BuildMachine(MachineSpec spec) {
  TRY_VOID(Validate(spec));
  Machine machine;
  machine.zone_count = static_cast<int>(spec.zones.size());
  machine.socket_count = machine.zone_count / spec.zones_per_socket;
  machine.zone_cpus.resize(machine.zone_count);
  machine.socket_cpus.resize(machine.socket_count);
  machine.zone_core_cpus.resize(machine.zone_count);
  for (int zone = 0; zone < machine.zone_count; ++zone) {
    const Zone& z = spec.zones[zone];
    machine.zone_socket.push_back(zone / spec.zones_per_socket);
    machine.all_zones |= static_cast<ZoneMask>(1u << zone);
    if (z.cpus > 0) machine.cpu_zones |= static_cast<ZoneMask>(1u << zone);
    machine.cpu_count += z.cpus;
    machine.allocatable_memory[zone] = z.memory_bytes - z.reserved_memory_bytes;
  }
  machine.cpu_zone_count = std::popcount(machine.cpu_zones);
  machine.core_count = machine.cpu_count / spec.threads_per_core;
  for (const DeviceResource& resource : spec.devices) {
    machine.devices.push_back(GroupDevices(resource));
  }
  if (spec.prefer_closest) {
    for (unsigned mask = 0; mask <= machine.all_zones; ++mask) {
      for (int a = 0; a < machine.zone_count; ++a) {
        for (int b = 0; b < machine.zone_count; ++b) {
          if ((mask >> a & 1) && (mask >> b & 1))
            machine.distance_sum[mask] += spec.distances[a][b];
        }
      }
    }
  }
  machine.spec = std::move(spec);
  LayCpus(&machine);
  if (machine.spec.reserved_cpus > 0) TRY_VOID(ReserveCpus(&machine));
  return machine;
}

NodeState EmptyState(const Machine& machine) {
  NodeState state;
  for (size_t i = 0; i < machine.devices.size(); ++i) state.healthy[i] = machine.devices[i].all;
  state.free_cpus = machine.all_cpus;
  state.free_memory = machine.allocatable_memory;
  for (int zone = 0; zone < kMaxZones; ++zone) {
    state.memory_group[zone] = static_cast<ZoneMask>(1u << zone);
  }
  return state;
}

Result<Request> OneContainer(const Machine& machine, const Resources& shape) {
  constexpr int64_t kMilli = 1000;
  Request request;
  ContainerRequest& container = request.containers[0];
  bool cpu = false, memory = false;
  for (const auto& [name, amount] : shape) {
    if (amount < 0) return Fail(Code::kInvalid, fmt::format("{} is {}", name, amount));
    if (name == "cpu") {
      cpu = amount > 0;
      const bool whole = amount % kMilli == 0 && amount / kMilli <= INT32_MAX;
      container.cpus = whole ? static_cast<int>(amount / kMilli) : 0;
    } else if (name == "memory") {
      memory = amount > 0;
      container.memory_bytes = amount;
    } else if (name.find('/') != std::string::npos) {
      const int resource = machine.FindResource(name);
      if (resource < 0) {
        return Fail(Code::kNotFound, fmt::format("the node has no device resource {}", name));
      }
      container.devices[resource] = static_cast<int16_t>(std::min<int64_t>(amount, INT16_MAX));
    }
  }
  request.guaranteed = cpu && memory;
  return request;
}

}  // namespace muster::numa
