// What the kubelet will answer when a pod is bound to a node: admitted with these devices, CPUs and
// memory zones, or refused with this reason. A scheduler that asks here first never causes a
// TopologyAffinityError. Pure: a machine (constant), a state (a value) and a request give an answer
// and the next state; no allocation, no clock, no I/O.
//
// A reimplementation of the admission of Kubernetes v1.37 (pkg/kubelet/cm: topologymanager,
// devicemanager, cpumanager's and memorymanager's static policies), held to those very packages by
// tests/e2e/numa. Not modelled: init containers, pod-level resources, huge pages, the CPU options
// align-by-socket, distribute-cpus-across-cores and prefer-align-cpus-by-uncorecache.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/workload.h"

namespace muster::numa {

inline constexpr int kMaxZones = 8;  // the kubelet's own default limit (max-allowable-numa-nodes)
inline constexpr int kMaxDevices = 64;  // of one resource
inline constexpr int kMaxResources = 8;
inline constexpr int kMaxContainers = 8;
inline constexpr int kMaxCpus = 1024;

using ZoneMask = uint8_t;     // bit z = NUMA zone z
using DeviceMask = uint64_t;  // bit d = device d of its resource
using CpuSet = std::bitset<kMaxCpus>;

enum class Policy : uint8_t { kNone, kBestEffort, kRestricted, kSingleNumaNode };
enum class Scope : uint8_t { kContainer, kPod };
std::string_view ToString(Policy policy);  // as the kubelet's configuration spells it
std::string_view ToString(Scope scope);
Result<Policy> ParsePolicy(std::string_view text);
Result<Scope> ParseScope(std::string_view text);

struct Zone {
  int cpus = 0;  // logical CPUs
  int64_t memory_bytes = 0;
  int64_t reserved_memory_bytes = 0;  // the kubelet's reservedMemory of this zone
};

struct DeviceResource {
  std::string name;             // "nvidia.com/gpu"
  std::vector<ZoneMask> zones;  // of each device; 0 = the plugin names none
  // The plugin answers GetPreferredAllocation with the lowest ids first. Without it the kubelet
  // picks at random inside what is aligned: which ids is then a guess, how many is not.
  bool plugin_prefers_lowest = true;
};

// A node as its kubelet sees it: hardware and configuration.
struct MachineSpec {
  std::vector<Zone> zones;
  std::vector<DeviceResource> devices;
  std::vector<std::vector<int>> distances;  // zone to zone; needed by prefer_closest only
  int threads_per_core = 1;
  bool siblings_adjacent = false;  // CPUs 0 and 1 share a core; otherwise 0 and cores() do, as
                                   // Linux numbers them on most servers
  int zones_per_socket = 1;
  Policy policy = Policy::kNone;
  Scope scope = Scope::kContainer;
  bool prefer_closest = false;          // prefer-closest-numa-nodes
  bool cpu_static = false;              // cpuManagerPolicy: static
  bool full_pcpus_only = false;         // full-pcpus-only
  bool distribute_across_numa = false;  // distribute-cpus-across-numa; up to 4 zones modelled
  int reserved_cpus = 0;                // ceil(system-reserved + kube-reserved); static needs >= 1
  bool memory_static = false;           // memoryManagerPolicy: Static
};

// A MachineSpec made ready for many questions. Immutable; one for all nodes of a class.
struct Machine {
  struct Group {  // the devices of a resource that share their zones
    ZoneMask zones = 0;
    DeviceMask devices = 0;
  };
  struct Devices {
    std::string name;
    std::vector<Group> groups;
    DeviceMask all = 0;
    ZoneMask zones = 0;  // that hold at least one device
    bool plugin_prefers_lowest = true;
  };
  MachineSpec spec;
  int zone_count = 0, socket_count = 0, cpu_count = 0, core_count = 0;
  int cpu_zone_count = 0;  // zones with CPUs
  ZoneMask all_zones = 0, cpu_zones = 0;
  std::vector<Devices> devices;
  std::vector<CpuSet> zone_cpus, socket_cpus;
  std::vector<int> zone_socket;
  std::vector<std::vector<uint16_t>> zone_core_cpus;  // zone -> CPUs, core after core, by core id
  CpuSet all_cpus, reserved_cpus, reserved_cores;
  std::array<int64_t, kMaxZones> allocatable_memory{};
  std::array<uint32_t, 1 << kMaxZones> distance_sum{};  // over all ordered pairs of a mask

  int FindResource(std::string_view name) const;  // -1 = not on this machine
};
// Refuses what the kubelet refuses to start with and what is not modelled, naming the field.
Result<Machine> BuildMachine(MachineSpec spec);

// What is taken on one node. A value: copy it to ask what-if.
struct NodeState {
  std::array<DeviceMask, kMaxResources> healthy{}, used{};
  CpuSet free_cpus;  // not given exclusively; includes the reserved ones
  std::array<int64_t, kMaxZones> free_memory{};
  std::array<uint16_t, kMaxZones> memory_assignments{};
  std::array<ZoneMask, kMaxZones> memory_group{};  // the zones that a zone's memory is shared with
  bool operator==(const NodeState&) const = default;
};
NodeState EmptyState(const Machine& machine);  // everything healthy and free

struct ContainerRequest {
  std::array<int16_t, kMaxResources> devices;  // by the machine's resource index; -1 = not asked
  int cpus = 0;                                // whole exclusive CPUs; 0 = fractional or none
  int64_t memory_bytes = 0;
  ContainerRequest() { devices.fill(-1); }
};
struct Request {
  std::array<ContainerRequest, kMaxContainers> containers;
  int container_count = 1;
  bool guaranteed = false;  // QoS class Guaranteed: cpu and memory of every container limited
};
// One container of `shape` (cpu in milli-CPU). Guaranteed when it has cpu and memory, as requests
// are then limits too. A device resource that the machine lacks is an error naming it.
Result<Request> OneContainer(const Machine& machine, const Resources& shape);

// What one container was given.
struct Grant {
  std::array<DeviceMask, kMaxResources> devices{};
  CpuSet cpus;            // exclusive ones; empty = it runs in the shared pool
  ZoneMask affinity = 0;  // the Topology Manager's hint; 0 = none recorded
  bool preferred = false;
  ZoneMask memory_zones = 0;
  int64_t memory_bytes = 0;  // held in memory_zones
};

enum class Refusal : uint8_t {
  kNone,
  kTopologyAffinity,  // TopologyAffinityError
  kUnexpected,        // UnexpectedAdmissionError
  kSmtAlignment,      // SMTAlignmentError
};
enum class Cause : uint8_t {
  kNone,
  kAffinity,          // no hint that the policy admits
  kDevices,           // fewer devices than asked
  kUnhealthyDevices,  // none healthy
  kCpus,
  kSmtMultiple,
  kSmtFreeCores,
  kMemoryDefault,    // no zone with enough memory
  kMemoryExtend,     // the hint cannot be widened to zones with enough memory
  kMemoryPreferred,  // only to one that is not preferred
  kMemoryDefaultPreferred,
  kMemoryGroups,  // a zone would serve single- and multi-zone memory at once
};

struct Admission {
  bool admitted = false;
  // An earlier container's devices are picked by the kubelet at random across zones (no plugin
  // preference), so that what it answers to the later ones is chance: this is one possible answer.
  bool by_chance = false;
  Refusal refusal = Refusal::kNone;
  Cause cause = Cause::kNone;
  int resource = -1;  // kDevices, kUnhealthyDevices
  int requested = 0, available = 0;
  int container = 0;                           // the one that was refused
  std::array<Grant, kMaxContainers> grants{};  // the first container_count
};

// O(containers x (2^zones + CPUs)) with 2^zones <= 256, CPUs only where some are given exclusively.
// *state becomes what the kubelet is left with: after a refusal that is what it was, but for corner
// cases in which the kubelet itself does not get back there (several containers with Static memory
// over several zones; exclusive CPUs on sockets of unequal size).
Admission Admit(const Machine& machine, const Request& request, NodeState* state);
// Takes back what a pod was given: the state that the kubelet has after it ended. Memory of several
// zones comes back to the first of them that have given any, and a zone forgets its group only with
// its last assignment, so a release is not always the exact undoing of an admission.
void Release(const Machine& machine, std::span<const Grant> grants, NodeState* state);

std::string_view ReasonName(Refusal refusal);  // "TopologyAffinityError"
std::string KubeletMessage(const Machine& machine,
                           const Admission& refused);  // the kubelet's words

// At least as many pods of this shape as the node takes in this state, mostly exactly so; a few
// dozen operations per zone and resource. For ranking and early refusal; Admit decides.
int CapacityBound(const Machine& machine, const NodeState& state, const Request& request);
// Exactly how many it takes one after another (at most `limit`): as many Admit calls.
int CapacityExact(const Machine& machine, NodeState state, const Request& request, int limit);

}  // namespace muster::numa
