#include "sched/numa/shapes.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "sched/numa/hints.h"

namespace muster::numa {
namespace {

constexpr int kMostPerNode = 1024;

Resources ShapeOf(const std::string& resource, const Resources& per_unit, int count) {
  Resources shape;
  for (const auto& [name, amount] : per_unit) shape[name] = amount * count;
  shape[resource] = count;
  return shape;
}

std::vector<int> PerZone(const Machine::Devices& devices, int zones) {
  std::vector<int> counts(static_cast<size_t>(zones), 0);
  for (const Machine::Group& group : devices.groups) {
    for (int zone = 0; zone < zones; ++zone) {
      if (group.zones >> zone & 1) {
        counts[static_cast<size_t>(zone)] += std::popcount(group.devices);
      }
    }
  }
  return counts;
}

std::string Layout(const Machine& machine, const Machine::Devices& devices) {
  const int total = std::popcount(devices.all);
  if (devices.zones == 0) return fmt::format("{} without topology", total);
  const std::vector<int> counts = PerZone(devices, machine.zone_count);
  if (std::all_of(counts.begin(), counts.end(), [&](int n) { return n == counts[0]; })) {
    return fmt::format("{}x{}", counts.size(), counts[0]);
  }
  return fmt::format("{}", fmt::join(counts, "+"));
}

// One thing that a pod asks and that a manager ties to zones.
struct Part {
  std::string name;
  int64_t wanted = 0;
  HintList hints;
  int64_t most_in_zone = 0;
};

std::vector<Part> PartsOf(const Machine& machine, const NodeState& state, const Request& request) {
  std::vector<Part> parts;
  const ContainerRequest& container = request.containers[0];
  for (size_t r = 0; r < machine.devices.size(); ++r) {
    if (container.devices[r] <= 0) continue;
    const std::vector<int> counts = PerZone(machine.devices[r], machine.zone_count);
    parts.push_back({machine.devices[r].name, container.devices[r],
                     DeviceHints(machine, state, static_cast<int>(r), container.devices[r]),
                     *std::max_element(counts.begin(), counts.end())});
  }
  if (!request.guaranteed) return parts;
  if (machine.spec.cpu_static && container.cpus > 0) {
    int64_t most = 0;
    for (const CpuSet& zone : machine.zone_cpus) {
      most = std::max<int64_t>(most, static_cast<int64_t>((zone & ~machine.reserved_cpus).count()));
    }
    parts.push_back(
        {"exclusive CPU", container.cpus, CpuHints(machine, state, container.cpus), most});
  }
  if (machine.spec.memory_static && container.memory_bytes > 0) {
    const auto& memory = machine.allocatable_memory;
    parts.push_back({"bytes of memory", container.memory_bytes,
                     MemoryHints(machine, state, container.memory_bytes),
                     *std::max_element(memory.begin(), memory.end())});
  }
  return parts;
}

// Why no zone mask suits the policy, in terms of the node.
std::string WhyNoAffinity(const Machine& machine, const NodeState& state, const Request& request) {
  const std::vector<Part> parts = PartsOf(machine, state, request);
  for (const Part& part : parts) {
    if (part.hints.kind == HintList::kImpossible) {
      return fmt::format("the node has fewer than {} {}", part.wanted, part.name);
    }
  }
  if (machine.spec.policy == Policy::kSingleNumaNode) {
    for (const Part& part : parts) {
      if (part.most_in_zone < part.wanted && part.hints.kind == HintList::kMasks) {
        return fmt::format("no NUMA zone has more than {} {}", part.most_in_zone, part.name);
      }
    }
    return "no NUMA zone has all that is asked together";
  }
  for (const Part& a : parts) {
    for (const Part& b : parts) {
      if (a.hints.kind != HintList::kMasks || b.hints.kind != HintList::kMasks) continue;
      if (a.hints.min_affinity < b.hints.min_affinity) {
        return fmt::format(
            "{} {} fit into {} NUMA zone{}, {} {} need {}: the policy wants the same zones for "
            "both",
            a.wanted, a.name, a.hints.min_affinity, a.hints.min_affinity == 1 ? "" : "s", b.wanted,
            b.name, b.hints.min_affinity);
      }
    }
  }
  return "the zones with enough of one resource are not those with enough of another";
}

Result<ShapeVerdict> Judge(const Machine& machine, const std::string& resource,
                           const Resources& per_unit, int count) {
  TRY(const Request request, OneContainer(machine, ShapeOf(resource, per_unit, count)));
  ShapeVerdict verdict;
  verdict.count = count;
  const NodeState empty = EmptyState(machine);
  NodeState state = empty;
  const Admission answer = Admit(machine, request, &state);
  verdict.admitted = answer.admitted;
  if (answer.admitted) {
    verdict.per_node = CapacityExact(machine, empty, request, kMostPerNode);
    verdict.zones = std::popcount(answer.grants[0].affinity);
    return verdict;
  }
  verdict.kubelet = ReasonName(answer.refusal);
  verdict.why = answer.cause == Cause::kAffinity ? WhyNoAffinity(machine, empty, request)
                                                 : KubeletMessage(machine, answer);
  return verdict;
}

Result<std::vector<ShapeVerdict>> JudgeAll(const Machine& machine, const std::string& resource,
                                           const Resources& per_unit) {
  const int index = machine.FindResource(resource);
  if (index < 0) return Fail(Code::kNotFound, fmt::format("the node has no {}", resource));
  std::vector<ShapeVerdict> verdicts;
  const int all = std::popcount(machine.devices[static_cast<size_t>(index)].all);
  for (int count = 1; count <= all; ++count) {
    TRY(ShapeVerdict verdict, Judge(machine, resource, per_unit, count));
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

std::vector<int> ValidOf(const std::vector<ShapeVerdict>& verdicts) {
  std::vector<int> valid;
  for (const ShapeVerdict& verdict : verdicts) {
    if (verdict.admitted) valid.push_back(verdict.count);
  }
  return valid;
}

}  // namespace

Result<ShapeSheet> ValidShapes(const Machine& machine, const std::string& resource,
                               const Resources& per_unit) {
  ShapeSheet sheet;
  sheet.resource = resource;
  sheet.policy = machine.spec.policy;
  TRY(sheet.verdicts, JudgeAll(machine, resource, per_unit));
  sheet.valid = ValidOf(sheet.verdicts);
  const auto index = static_cast<size_t>(machine.FindResource(resource));
  sheet.layout = Layout(machine, machine.devices[index]);
  for (const Policy policy :
       {Policy::kNone, Policy::kBestEffort, Policy::kRestricted, Policy::kSingleNumaNode}) {
    if (policy == machine.spec.policy) continue;
    MachineSpec spec = machine.spec;
    spec.policy = policy;
    TRY(const Machine other, BuildMachine(std::move(spec)));
    TRY(const auto verdicts, JudgeAll(other, resource, per_unit));
    sheet.others.push_back({policy, ValidOf(verdicts)});
  }
  return sheet;
}

std::string FormatCounts(const std::vector<int>& counts) {
  return counts.empty() ? "none" : fmt::format("{}", fmt::join(counts, ", "));
}

std::string RefusalAtSubmit(const ShapeSheet& sheet, int count) {
  const auto it = std::find_if(sheet.verdicts.begin(), sheet.verdicts.end(),
                               [&](const ShapeVerdict& v) { return v.count == count; });
  if (it != sheet.verdicts.end() && it->admitted) return "";
  const std::string why =
      it != sheet.verdicts.end()
          ? it->why
          : fmt::format("a node has {} {}", sheet.verdicts.size(), sheet.resource);
  return fmt::format("{} {} on {} under {}: {}; valid {}", count, sheet.resource, sheet.layout,
                     ToString(sheet.policy), why, FormatCounts(sheet.valid));
}

}  // namespace muster::numa
