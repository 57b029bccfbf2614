#include "sched/numa/topology_manager.h"

#include <algorithm>
#include <bit>
#include <optional>

#include <fmt/format.h>

#include "sched/numa/cpus.h"
#include "sched/numa/hints.h"

namespace muster::numa {
namespace {

constexpr int kMaxHintLists = kMaxResources + 2;  // devices, CPU, memory

DeviceMask Lowest(DeviceMask from, int count) {
  DeviceMask taken = 0;
  for (; count > 0 && from != 0; --count, from &= from - 1) taken |= from & -from;
  return taken;
}

// One admission under way: allocations go into a copy of the state, kept only if all succeed.
class Admitter {
 public:
  Admitter(const Machine& machine, const Request& request, const NodeState& state)
      : machine_(machine), request_(request), state_(state) {}

  Admission Run() {
    const MachineSpec& spec = machine_.spec;
    MergedHint hint;
    if (spec.policy != Policy::kNone && spec.scope == Scope::kPod && !Hint(Total(), &hint)) {
      return answer_;
    }
    for (int i = 0; i < request_.container_count; ++i) {
      answer_.container = i;
      answer_.by_chance = random_pick_;
      const ContainerRequest& container = request_.containers[i];
      if (spec.policy != Policy::kNone && spec.scope == Scope::kContainer &&
          !Hint(container, &hint)) {
        return answer_;
      }
      Grant& grant = answer_.grants[i];
      grant.affinity = hint.has_affinity ? hint.affinity : ZoneMask{0};
      grant.preferred = hint.preferred;
      if (!GiveDevices(container, &grant) || !GiveCpus(container, &grant) ||
          !GiveMemory(container, hint, &grant)) {
        return answer_;
      }
    }
    answer_.admitted = true;
    answer_.container = 0;
    return answer_;
  }
  const NodeState& state() const { return state_; }

 private:
  bool Refuse(Refusal refusal, Cause cause, int requested = 0, int available = 0,
              int resource = -1) {
    answer_.refusal = refusal;
    answer_.cause = cause;
    answer_.requested = requested;
    answer_.available = available;
    answer_.resource = resource;
    return false;
  }

  // The pod scope asks for the sum of all containers at once.
  ContainerRequest Total() const {
    ContainerRequest total;
    for (int i = 0; i < request_.container_count; ++i) {
      const ContainerRequest& one = request_.containers[i];
      for (size_t r = 0; r < machine_.devices.size(); ++r) {
        if (one.devices[r] < 0) continue;
        total.devices[r] = static_cast<int16_t>(
            std::min(INT16_MAX, std::max<int>(total.devices[r], 0) + one.devices[r]));
      }
      total.cpus += one.cpus;
      total.memory_bytes += one.memory_bytes;
    }
    return total;
  }

  bool Hint(const ContainerRequest& wanted, MergedHint* hint) {
    std::array<HintList, kMaxHintLists> lists;
    int count = 0;
    for (size_t r = 0; r < machine_.devices.size(); ++r) {
      if (wanted.devices[r] < 0) continue;
      lists[count++] = DeviceHints(machine_, state_, static_cast<int>(r), wanted.devices[r]);
    }
    if (request_.guaranteed) {
      if (machine_.spec.cpu_static && wanted.cpus > 0) {
        lists[count++] = CpuHints(machine_, state_, wanted.cpus);
      }
      if (machine_.spec.memory_static && wanted.memory_bytes > 0) {
        lists[count++] = MemoryHints(machine_, state_, wanted.memory_bytes);
      }
    }
    *hint = Merge(machine_, std::span(lists.data(), count));
    if (hint->admit) return true;
    return Refuse(Refusal::kTopologyAffinity, Cause::kAffinity);
  }

  bool GiveDevices(const ContainerRequest& container, Grant* grant) {
    for (size_t r = 0; r < machine_.devices.size(); ++r) {
      const int wanted = container.devices[r];
      if (wanted < 0) continue;
      const Machine::Devices& devices = machine_.devices[r];
      const int resource = static_cast<int>(r);
      if (state_.healthy[r] == 0) {
        return Refuse(Refusal::kUnexpected, Cause::kUnhealthyDevices, wanted, 0, resource);
      }
      const DeviceMask available = state_.healthy[r] & ~state_.used[r];
      if (std::popcount(available) < wanted) {
        return Refuse(Refusal::kUnexpected, Cause::kDevices, wanted, std::popcount(available),
                      resource);
      }
      DeviceMask aligned = 0, unaligned = 0;
      for (const Machine::Group& group : devices.groups) {
        if ((group.zones & grant->affinity) != 0) aligned |= group.devices;
        if (group.zones != 0) unaligned |= group.devices;
      }
      aligned &= available;
      unaligned &= available & ~aligned;
      DeviceMask taken = Lowest(aligned, wanted);
      int more = wanted - std::popcount(taken);
      // Beyond the aligned ones a plugin that has a preference is asked about all the others;
      // otherwise those of other zones go before those without a zone.
      if (more > 0 && grant->affinity != 0 && !devices.plugin_prefers_lowest) {
        taken |= Lowest(unaligned, more);
        more = wanted - std::popcount(taken);
      }
      taken |= Lowest(available & ~taken, more);
      random_pick_ = random_pick_ || (!devices.plugin_prefers_lowest &&
                                      OpenChoice(devices, available, aligned, unaligned, wanted));
      grant->devices[r] = taken;
      state_.used[r] |= taken;
    }
    return true;
  }

  // Whether the kubelet may take other numbers of devices from each group than we do: it takes some
  // but not all of a tier (aligned, of other zones, without zone) that spans several groups.
  static bool OpenChoice(const Machine::Devices& devices, DeviceMask available, DeviceMask aligned,
                         DeviceMask unaligned, int wanted) {
    DeviceMask tier = aligned;
    if (wanted > std::popcount(aligned)) {
      wanted -= std::popcount(aligned);
      tier = aligned == 0 && unaligned != 0 ? available : unaligned;
      if (wanted > std::popcount(tier)) {
        wanted -= std::popcount(tier);
        tier = available & ~aligned & ~unaligned;
      }
    }
    if (wanted == 0 || wanted >= std::popcount(tier)) return false;
    int groups = 0;
    for (const Machine::Group& group : devices.groups) groups += (group.devices & tier) != 0;
    return groups > 1;
  }

  bool GiveCpus(const ContainerRequest& container, Grant* grant) {
    const MachineSpec& spec = machine_.spec;
    if (!spec.cpu_static || !request_.guaranteed || container.cpus == 0) return true;
    const int wanted = container.cpus;
    if (spec.full_pcpus_only) {
      if (wanted % spec.threads_per_core != 0) {
        return Refuse(Refusal::kSmtAlignment, Cause::kSmtMultiple, wanted);
      }
      const int free = static_cast<int>((state_.free_cpus & ~machine_.reserved_cores).count());
      if (wanted > free) return Refuse(Refusal::kSmtAlignment, Cause::kSmtFreeCores, wanted, free);
    }
    const CpuSet available = state_.free_cpus & ~machine_.reserved_cpus;
    CpuSet taken;
    if (grant->affinity != 0) {
      CpuSet aligned;
      for (int zone = 0; zone < machine_.zone_count; ++zone) {
        if (grant->affinity >> zone & 1) aligned |= machine_.zone_cpus[zone];
      }
      aligned &= available;
      const int count = std::min(wanted, static_cast<int>(aligned.count()));
      const auto got = TakeCpus(machine_, aligned, count);
      if (!got) {
        return Refuse(Refusal::kUnexpected, Cause::kCpus, count, static_cast<int>(aligned.count()));
      }
      taken = *got;
    }
    const CpuSet left = available & ~taken;
    const int more = wanted - static_cast<int>(taken.count());
    const auto got = TakeCpus(machine_, left, more);
    if (!got)
      return Refuse(Refusal::kUnexpected, Cause::kCpus, more, static_cast<int>(left.count()));
    grant->cpus = taken | *got;
    state_.free_cpus &= ~grant->cpus;
    return true;
  }

  int64_t FreeMemory(ZoneMask mask) const {
    int64_t free = 0;
    for (int zone = 0; zone < machine_.zone_count; ++zone) {
      if (mask >> zone & 1) free += state_.free_memory[zone];
    }
    return free;
  }

  // The preferred of `hints` before others, then the narrowest; those that contain `within`.
  static std::optional<MergedHint> BestMemoryHint(const HintList& hints, ZoneMask within) {
    std::optional<MergedHint> best;
    for (size_t mask = hints.masks._Find_first(); mask < hints.masks.size();
         mask = hints.masks._Find_next(mask)) {
      if ((mask & within) != within) continue;
      const int zones = std::popcount(mask);
      const bool preferred = zones == hints.min_affinity;
      // Masks come by value, so a later one of as many zones is never narrower.
      if (!best || (preferred && !best->preferred) ||
          (preferred == best->preferred && zones < std::popcount(best->affinity))) {
        best = MergedHint{true, static_cast<ZoneMask>(mask), preferred, true};
      }
    }
    return best;
  }

  bool GiveMemory(const ContainerRequest& container, MergedHint hint, Grant* grant) {
    if (!machine_.spec.memory_static || !request_.guaranteed || container.memory_bytes == 0) {
      return true;
    }
    if (!hint.has_affinity) {
      const HintList hints = MemoryHints(machine_, state_, container.memory_bytes);
      const auto best = BestMemoryHint(hints, 0);
      if (!best) return Refuse(Refusal::kUnexpected, Cause::kMemoryDefault);
      if (!best->preferred && hint.preferred) {
        return Refuse(Refusal::kUnexpected, Cause::kMemoryDefaultPreferred);
      }
      hint = *best;
    }
    if (FreeMemory(hint.affinity) < container.memory_bytes) {
      const HintList hints = MemoryHints(machine_, state_, container.memory_bytes);
      const auto wider = BestMemoryHint(hints, hint.affinity);
      if (!wider) return Refuse(Refusal::kUnexpected, Cause::kMemoryExtend);
      if (!wider->preferred && hint.preferred) {
        return Refuse(Refusal::kUnexpected, Cause::kMemoryPreferred);
      }
      hint = *wider;
    }
    if (std::popcount(hint.affinity) > 1) {
      for (int zone = 0; zone < machine_.zone_count; ++zone) {
        if ((hint.affinity >> zone & 1) && state_.memory_assignments[zone] > 0 &&
            state_.memory_group[zone] != hint.affinity) {
          return Refuse(Refusal::kUnexpected, Cause::kMemoryGroups);
        }
      }
    }
    TakeMemory(hint.affinity, container.memory_bytes);
    grant->memory_zones = hint.affinity;
    grant->memory_bytes = container.memory_bytes;
    return true;
  }

  void TakeMemory(ZoneMask zones, int64_t bytes) {
    for (int zone = 0; zone < machine_.zone_count; ++zone) {
      if ((zones >> zone & 1) == 0) continue;
      ++state_.memory_assignments[zone];
      state_.memory_group[zone] = zones;
      const int64_t taken = std::min(bytes, state_.free_memory[zone]);
      state_.free_memory[zone] -= taken;
      bytes -= taken;
    }
  }

  const Machine& machine_;
  const Request& request_;
  NodeState state_;
  Admission answer_;
  bool random_pick_ = false;
};

}  // namespace

Admission Admit(const Machine& machine, const Request& request, NodeState* state) {
  Admitter admitter(machine, request, *state);
  Admission answer = admitter.Run();
  if (answer.admitted) {
    *state = admitter.state();
  } else {
    // The kubelet takes back what the containers were given so far. That is not always where it was
    // before: memory of several zones (see Release), and CPUs of sockets of unequal size, which the
    // kubelet can give twice.
    if (answer.container > 0 || answer.grants[0].cpus.any()) {
      NodeState left = admitter.state();
      Release(machine, std::span(answer.grants.data(), answer.container + 1), &left);
      *state = left;
    }
    answer.grants = {};
  }
  return answer;
}

void Release(const Machine& machine, std::span<const Grant> grants, NodeState* state) {
  for (const Grant& grant : grants) {
    for (size_t r = 0; r < machine.devices.size(); ++r) state->used[r] &= ~grant.devices[r];
    state->free_cpus |= grant.cpus;
    int64_t bytes = grant.memory_bytes;
    for (int zone = 0; zone < machine.zone_count; ++zone) {
      if ((grant.memory_zones >> zone & 1) == 0) continue;
      if (--state->memory_assignments[zone] == 0) {
        state->memory_group[zone] = static_cast<ZoneMask>(1u << zone);
      }
      const int64_t held = machine.allocatable_memory[zone] - state->free_memory[zone];
      const int64_t back = std::min(bytes, held);
      state->free_memory[zone] += back;
      bytes -= back;
    }
  }
}

std::string_view ReasonName(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return "";
    case Refusal::kTopologyAffinity:
      return "TopologyAffinityError";
    case Refusal::kUnexpected:
      return "UnexpectedAdmissionError";
    case Refusal::kSmtAlignment:
      return "SMTAlignmentError";
  }
  return "";
}

std::string KubeletMessage(const Machine& machine, const Admission& refused) {
  const auto unexpected = [](std::string_view what) {
    return fmt::format("Allocate failed due to {}, which is unexpected", what);
  };
  const std::string_view name =
      refused.resource >= 0 ? std::string_view(machine.devices[refused.resource].name) : "";
  switch (refused.cause) {
    case Cause::kNone:
      return "";
    case Cause::kAffinity:
      return "Resources cannot be allocated with Topology locality";
    case Cause::kDevices:
      return unexpected(fmt::format(
          "requested number of devices unavailable for {}. Requested: {}, Available: {}", name,
          refused.requested, refused.available));
    case Cause::kUnhealthyDevices:
      return unexpected(
          fmt::format("no healthy devices present; cannot allocate unhealthy devices {}", name));
    case Cause::kCpus:
      return unexpected(
          fmt::format("not enough cpus available to satisfy request: requested={}, available={}",
                      refused.requested, refused.available));
    case Cause::kSmtMultiple:
      return fmt::format("SMT Alignment Error: requested {} cpus not multiple cpus per core = {}",
                         refused.requested, machine.spec.threads_per_core);
    case Cause::kSmtFreeCores:
      return fmt::format(
          "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = {}, "
          "requested CPUs = {}, CPUs per core = {}",
          refused.available, refused.requested, machine.spec.threads_per_core);
    case Cause::kMemoryDefault:
      return unexpected(
          "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough "
          "memory is available");
    case Cause::kMemoryExtend:
      return unexpected(
          "[memorymanager] failed to find NUMA nodes to extend the current topology hint");
    case Cause::kMemoryPreferred:
      return unexpected("[memorymanager] failed to find the extended preferred hint");
    case Cause::kMemoryDefaultPreferred:
      return unexpected("[memorymanager] failed to find the default preferred hint");
    case Cause::kMemoryGroups:
      return unexpected("[memorymanager] preferred hint violates NUMA node allocation");
  }
  return "";
}

}  // namespace muster::numa
