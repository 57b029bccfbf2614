#include "sched/kubelets.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "base/strings.h"
#include "sched/amount.h"
#include "sched/numa/topology_manager.h"

namespace muster::sched {

namespace {

constexpr int64_t kMilliCpu = 1000;

int WholeCpus(int64_t milli) { return static_cast<int>((milli + kMilliCpu - 1) / kMilliCpu); }
int64_t AmountOf(const Resources& resources, const std::string& name) {
  const auto found = resources.find(name);
  return found == resources.end() ? 0 : found->second;
}

// The script names no more than a total to reserve: memory is kept in zone 0, and a static CPU
// manager keeps at least the one CPU without which the kubelet does not start.
numa::MachineSpec SpecOf(const NodeAdd& node) {
  const TopologyManagerSpec& tm = node.topology_manager;
  numa::MachineSpec spec;
  for (const NumaZoneSpec& zone : node.numa) {
    numa::Zone z;
    z.cpus = static_cast<int>(AmountOf(zone.amounts, "cpu") / kMilliCpu);
    z.memory_bytes = AmountOf(zone.amounts, "memory");
    spec.zones.push_back(z);
  }
  for (const auto& [name, count] : node.capacity) {
    if (!IsDevice(name)) continue;
    numa::DeviceResource resource;
    resource.name = name;
    resource.zones.assign(static_cast<size_t>(count), 0);
    for (size_t z = 0; z < node.numa.size(); ++z) {
      const auto ids = node.numa[z].devices.find(name);
      if (ids == node.numa[z].devices.end()) continue;
      for (const int id : ids->second)
        resource.zones[static_cast<size_t>(id)] |= static_cast<numa::ZoneMask>(1u << z);
    }
    spec.devices.push_back(std::move(resource));
  }
  spec.policy = numa::ParsePolicy(tm.policy).value_or(numa::Policy::kNone);
  spec.scope = numa::ParseScope(tm.scope).value_or(numa::Scope::kContainer);
  spec.cpu_static = tm.cpu_manager == "static";
  spec.memory_static = tm.memory_manager == "static";
  spec.reserved_cpus = WholeCpus(AmountOf(tm.reserved, "cpu"));
  if (spec.cpu_static) spec.reserved_cpus = std::max(1, spec.reserved_cpus);
  if (!spec.zones.empty()) spec.zones[0].reserved_memory_bytes = AmountOf(tm.reserved, "memory");
  if (spec.memory_static && !spec.zones.empty() && spec.zones[0].reserved_memory_bytes == 0)
    spec.zones[0].reserved_memory_bytes = 1 << 20;
  return spec;
}

std::string KeyOf(const NodeAdd& node) {
  const TopologyManagerSpec& tm = node.topology_manager;
  std::string key =
      fmt::format("{},{},{},{}", tm.policy, tm.scope, tm.cpu_manager, tm.memory_manager);
  const auto add = [&](const Resources& resources) {
    for (const auto& [name, amount] : resources)
      key += fmt::format(",{}:{}={}", name.size(), name, amount);
    key += ';';
  };
  add(tm.reserved), add(node.capacity);
  for (const NumaZoneSpec& zone : node.numa) {
    add(zone.amounts);
    for (const auto& [name, ids] : zone.devices) {
      key += fmt::format(",{}:{}", name.size(), name);
      for (const int id : ids) key += fmt::format(".{}", id);
    }
  }
  return key;
}

}  // namespace

struct Kubelets::State {
  std::vector<std::shared_ptr<const numa::Machine>> machines;  // by kind
  std::map<std::string, int> kinds;
  std::vector<int> kind_of;  // by kubelet
  std::vector<numa::NodeState> states;
  std::vector<numa::Grant> grants;
  std::vector<int> free_grants;
  std::vector<std::pair<int, numa::NodeState>> journal;
  int marks = 0;
  std::map<std::pair<int, std::string>, int> empty_fits;

  const numa::Machine& MachineOf(int kubelet) const {
    return *machines[static_cast<size_t>(kind_of[static_cast<size_t>(kubelet)])];
  }
  numa::NodeState& StateOf(int kubelet) { return states[static_cast<size_t>(kubelet)]; }
  void Note(int kubelet) {
    if (marks > 0) journal.emplace_back(kubelet, StateOf(kubelet));
  }
  int NewGrant() {
    if (free_grants.empty()) {
      grants.emplace_back();
      return static_cast<int>(grants.size()) - 1;
    }
    const int id = free_grants.back();
    free_grants.pop_back();
    return id;
  }
};

namespace {

// As numa::OneContainer reads a shape, from numbers.
bool RequestFor(const numa::Machine& machine, const Shape& shape, const Names& resources,
                numa::Request& request, std::vector<int>* indexes) {
  numa::ContainerRequest& container = request.containers[0];
  bool cpu = false, memory = false;
  for (const auto& ask : shape.sums) {
    const std::string& name = resources[ask.resource];
    if (name == "cpu") {
      cpu = true;
      if (ask.amount % kMilliCpu == 0) container.cpus = static_cast<int>(ask.amount / kMilliCpu);
    } else if (name == "memory") {
      memory = true;
      container.memory_bytes = ask.amount;
    }
  }
  for (const auto& ask : shape.devices) {
    const int index = machine.FindResource(resources[ask.resource]);
    if (index < 0) return false;
    container.devices[static_cast<size_t>(index)] = static_cast<int16_t>(ask.amount);
    if (indexes != nullptr) indexes->push_back(index);
  }
  request.guaranteed = cpu && memory;
  return true;
}

}  // namespace

Kubelets::Kubelets() : state_(std::make_unique<State>()) {}
Kubelets::~Kubelets() = default;
Kubelets::Kubelets(const Kubelets& other) : state_(std::make_unique<State>(*other.state_)) {}
Kubelets& Kubelets::operator=(const Kubelets& other) {
  *state_ = *other.state_;
  return *this;
}

bool Kubelets::Aligns(const NodeAdd& node) {
  const TopologyManagerSpec& tm = node.topology_manager;
  return !node.numa.empty() &&
         (tm.policy != "none" || tm.cpu_manager != "none" || tm.memory_manager != "none");
}

Result<int> Kubelets::Add(const NodeAdd& node) {
  State& s = *state_;
  const std::string key = KeyOf(node);
  auto kind = s.kinds.find(key);
  if (kind == s.kinds.end()) {
    auto machine = numa::BuildMachine(SpecOf(node));
    if (!machine.ok())
      return Fail(std::move(machine).error().Context(fmt::format("node {}", Printable(node.name))));
    s.machines.push_back(std::make_shared<const numa::Machine>(std::move(*machine)));
    kind = s.kinds.emplace(key, static_cast<int>(s.machines.size()) - 1).first;
  }
  s.kind_of.push_back(kind->second);
  s.states.push_back(numa::EmptyState(*s.machines[static_cast<size_t>(kind->second)]));
  return static_cast<int>(s.states.size()) - 1;
}

int Kubelets::Fit(int kubelet, const Shape& shape, const Names& resources, int limit) {
  numa::Request request;
  const numa::Machine& machine = state_->MachineOf(kubelet);
  if (!RequestFor(machine, shape, resources, request, nullptr)) return 0;
  const numa::NodeState& state = state_->StateOf(kubelet);
  limit = std::min(limit, numa::CapacityBound(machine, state, request));
  return limit <= 0 ? 0 : numa::CapacityExact(machine, state, request, limit);
}

int Kubelets::FitEmpty(int kubelet, const Shape& shape, const Names& resources, int limit) {
  const int kind = state_->kind_of[static_cast<size_t>(kubelet)];
  std::string key = fmt::format("{}", limit);
  for (const auto& ask : shape.sums) key += fmt::format(",{}={}", ask.resource, ask.amount);
  for (const auto& ask : shape.devices) key += fmt::format(";{}={}", ask.resource, ask.amount);
  const auto [found, fresh] = state_->empty_fits.try_emplace({kind, std::move(key)}, 0);
  numa::Request request;
  const numa::Machine& machine = *state_->machines[static_cast<size_t>(kind)];
  if (fresh && RequestFor(machine, shape, resources, request, nullptr))
    found->second = numa::CapacityExact(machine, numa::EmptyState(machine), request, limit);
  return found->second;
}

bool Kubelets::Admit(int kubelet, const Shape& shape, const Names& resources, Slot& slot) {
  State& s = *state_;
  const numa::Machine& machine = s.MachineOf(kubelet);
  numa::Request request;
  std::vector<int> indexes;
  if (!RequestFor(machine, shape, resources, request, &indexes)) return false;
  numa::NodeState after = s.StateOf(kubelet);
  const numa::Admission admission = numa::Admit(machine, request, &after);
  if (!admission.admitted) return false;
  s.Note(kubelet);
  s.StateOf(kubelet) = after;
  slot.grant = s.NewGrant();
  for (size_t k = 0; k < indexes.size(); ++k)
    slot.devices[k] = admission.grants[0].devices[static_cast<size_t>(indexes[k])];
  s.grants[static_cast<size_t>(slot.grant)] = admission.grants[0];
  return true;
}

void Kubelets::Release(int kubelet, const Slot& slot) {
  State& s = *state_;
  s.Note(kubelet);
  const numa::Grant& grant = s.grants[static_cast<size_t>(slot.grant)];
  numa::Release(s.MachineOf(kubelet), std::span(&grant, 1), &s.StateOf(kubelet));
}

// Devices and CPUs exactly; memory from the zones of the grant in turn.
void Kubelets::AdmitAgain(int kubelet, const Slot& slot) {
  State& s = *state_;
  s.Note(kubelet);
  numa::NodeState& state = s.StateOf(kubelet);
  const numa::Grant& grant = s.grants[static_cast<size_t>(slot.grant)];
  for (size_t r = 0; r < grant.devices.size(); ++r) state.used[r] |= grant.devices[r];
  state.free_cpus &= ~grant.cpus;
  int64_t left = grant.memory_bytes;
  for (int zone = 0; zone < numa::kMaxZones && grant.memory_zones != 0; ++zone) {
    if ((grant.memory_zones >> zone & 1) == 0) continue;
    const size_t z = static_cast<size_t>(zone);
    const int64_t here = std::min(left, state.free_memory[z]);
    state.free_memory[z] -= here, left -= here;
    ++state.memory_assignments[z];
    state.memory_group[z] |= grant.memory_zones;
  }
}

void Kubelets::Forget(const Slot& slot) { state_->free_grants.push_back(slot.grant); }

void Kubelets::SetShared(int kubelet, const std::string& resource, int device, bool shared) {
  State& s = *state_;
  const int index = s.MachineOf(kubelet).FindResource(resource);
  if (index < 0) return;
  s.Note(kubelet);
  const numa::DeviceMask bit = numa::DeviceMask{1} << device;
  numa::DeviceMask& used = s.StateOf(kubelet).used[static_cast<size_t>(index)];
  used = shared ? used | bit : used & ~bit;
}

std::vector<int> Kubelets::Zones(int kubelet, const Slot& slot) const {
  const numa::Machine& machine = state_->MachineOf(kubelet);
  const numa::Grant& grant = state_->grants[static_cast<size_t>(slot.grant)];
  std::vector<int> zones;
  for (int z = 0; z < machine.zone_count; ++z) {
    bool in = (grant.cpus & machine.zone_cpus[static_cast<size_t>(z)]).any() ||
              (grant.memory_zones >> z & 1) != 0;
    for (size_t r = 0; r < machine.devices.size(); ++r) {
      for (const auto& group : machine.devices[r].groups)
        in = in || ((group.zones >> z & 1) != 0 && (group.devices & grant.devices[r]) != 0);
    }
    if (in) zones.push_back(z);
  }
  return zones;
}

size_t Kubelets::Mark() {
  ++state_->marks;
  return state_->journal.size();
}
void Kubelets::Rewind(size_t mark) {
  State& s = *state_;
  while (s.journal.size() > mark) {
    s.StateOf(s.journal.back().first) = s.journal.back().second;
    s.journal.pop_back();
  }
  --s.marks;
}
void Kubelets::Keep(size_t) {
  if (--state_->marks == 0) state_->journal.clear();
}

}  // namespace muster::sched
