#include <algorithm>
#include <bit>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sched/numa/testing/cases.h"
#include "sched/numa/topology_manager.h"

namespace muster::numa {
namespace {

using Json = nlohmann::json;

MachineSpec SpecOf(const Json& test) {
  MachineSpec spec;
  for (const Json& zone : test["zones"]) {
    spec.zones.push_back({zone["cpus"], zone["memory"], zone["reserved_memory"]});
    spec.distances.push_back(zone["distances"].get<std::vector<int>>());
  }
  for (const Json& resource : test["devices"]) {
    DeviceResource devices{resource["name"], {}, resource["prefers_lowest"]};
    for (const Json& zones : resource["zones"]) {
      ZoneMask mask = 0;
      for (const int zone : zones) mask |= static_cast<ZoneMask>(1u << zone);
      devices.zones.push_back(mask);
    }
    spec.devices.push_back(std::move(devices));
  }
  const auto on = [](const Json& options, const char* key) {
    return options.value(key, std::string("false")) == "true";
  };
  spec.threads_per_core = test["threads_per_core"];
  spec.siblings_adjacent = test["siblings_adjacent"];
  spec.zones_per_socket = test["zones_per_socket"];
  spec.policy = ParsePolicy(test["policy"].get<std::string>()).value();
  spec.scope = ParseScope(test["scope"].get<std::string>()).value();
  spec.prefer_closest = on(test["options"], "prefer-closest-numa-nodes");
  spec.cpu_static = test["cpu_static"];
  spec.full_pcpus_only = on(test["cpu_options"], "full-pcpus-only");
  spec.distribute_across_numa = on(test["cpu_options"], "distribute-cpus-across-numa");
  spec.reserved_cpus = spec.cpu_static ? test["reserved_cpus"].get<int>() : 0;
  spec.memory_static = test["memory_static"];
  return spec;
}

Request RequestOf(const Machine& machine, const Json& pod) {
  Request request;
  request.guaranteed = pod["guaranteed"];
  request.container_count = static_cast<int>(pod["containers"].size());
  for (int i = 0; i < request.container_count; ++i) {
    const Json& from = pod["containers"][i];
    ContainerRequest& to = request.containers[i];
    for (const auto& [name, count] : from["devices"].items()) {
      if (const int resource = machine.FindResource(name); resource >= 0) {
        to.devices[resource] = count.get<int16_t>();
      }
    }
    const std::string cpu = from["cpu"];
    to.cpus = cpu.back() == 'm' ? 0 : std::stoi(cpu);
    to.memory_bytes = from["memory"];
  }
  return request;
}

std::vector<int> Bits(uint64_t mask) {
  std::vector<int> bits;
  for (int i = 0; i < 64; ++i) {
    if (mask >> i & 1) bits.push_back(i);
  }
  return bits;
}

}  // namespace

class SequenceComparer {
 public:
  explicit SequenceComparer(Comparer* all) : all_(*all), tally_(all->tally_) {}

  void Run(const Json& test, const Json& answer) {
    ++tally_.sequences;
    auto machine = BuildMachine(SpecOf(test));
    if (answer.contains("error") || !machine.ok()) {
      // A machine that the kubelet does not start on must not be one that we admit to.
      ++tally_.start_errors;
      if (machine.ok()) Differ(test, "start", "kubelet: " + answer["error"].get<std::string>());
      if (!answer.contains("error")) Differ(test, "start", "ours: " + machine.error().message);
      return;
    }
    NodeState state = EmptyState(*machine);
    std::map<std::string, std::vector<Grant>> live;
    size_t next = 0;
    for (const Json& step : test["steps"]) {
      if (step.contains("remove")) {
        if (const auto it = live.find(step["remove"]); it != live.end()) {
          Release(*machine, it->second, &state);
          live.erase(it);
        }
      } else if (step.contains("unhealthy")) {
        for (size_t r = 0; r < machine->devices.size(); ++r) {
          state.healthy[r] = machine->devices[r].all;
          for (const int d :
               step["unhealthy"].value(machine->devices[r].name, std::vector<int>{})) {
            state.healthy[r] &= ~(DeviceMask{1} << d);
          }
        }
      } else if (!Decide(test, *machine, step, answer["steps"].at(next++), &state, &live)) {
        return;  // the states differ from here on
      }
    }
  }

 private:
  bool Decide(const Json& test, const Machine& machine, const Json& step, const Json& theirs,
              NodeState* state, std::map<std::string, std::vector<Grant>>* live) {
    ++tally_.decisions;
    const Request request = RequestOf(machine, step);
    const int bound = CapacityBound(machine, *state, request);
    const Admission ours = Admit(machine, request, state);
    const bool admit = theirs["admit"];
    ++(admit ? tally_.admitted : tally_.refused);
    if (ours.by_chance && !SameAnswer(machine, ours, theirs)) {
      ++tally_.by_chance;
      return false;
    }
    if (ours.admitted != admit) {
      ++(ours.admitted ? tally_.accepted_wrongly : tally_.refused_wrongly)[test["policy"]];
      Differ(test, step["pod"],
             fmt::format("kubelet {} {}, ours {} {}", admit ? "admits" : "refuses",
                         theirs.value("message", ""), ours.admitted ? "admits" : "refuses",
                         KubeletMessage(machine, ours)));
      return false;
    }
    if (!admit) {
      if (theirs["reason"] != ReasonName(ours.refusal)) {
        ++tally_.other_reason;
        Differ(test, step["pod"], "reason " + theirs.dump());
      }
      // Which of several resources is short the kubelet says at random.
      if (test["devices"].size() == 1) {
        ++tally_.messages;
        if (theirs["message"] != KubeletMessage(machine, ours)) {
          ++tally_.other_message;
          Differ(test, step["pod"],
                 theirs["message"].get<std::string>() + " / " + KubeletMessage(machine, ours));
        }
      }
      return true;
    }
    if (bound < 1) {
      ++tally_.bound_broken;
      Differ(test, step["pod"], "admitted, but the bound says 0");
    }
    std::vector<Grant> grants(ours.grants.begin(), ours.grants.begin() + request.container_count);
    bool same = true;
    for (size_t r = 0; r < machine.devices.size(); ++r) {  // the state follows the kubelet's pick
      for (const Grant& grant : grants) state->used[r] &= ~grant.devices[r];
    }
    for (int i = 0; i < request.container_count; ++i) {
      same = Given(test, machine, step, theirs["containers"].at(i), &grants[i], state) && same;
    }
    (*live)[step["pod"]] = std::move(grants);
    return same;
  }

  // Only for decisions that the kubelet makes by chance: is it the one that we foresaw?
  static bool SameAnswer(const Machine& machine, const Admission& ours, const Json& theirs) {
    if (theirs["admit"] != ours.admitted) return false;
    if (!ours.admitted) {
      return theirs["reason"] == ReasonName(ours.refusal) &&
             theirs["message"] == KubeletMessage(machine, ours);
    }
    for (size_t i = 0; i < theirs["containers"].size(); ++i) {
      const Json& given = theirs["containers"][i];
      const Grant& grant = ours.grants[i];
      const Json affinity = grant.affinity == 0 ? Json(nullptr) : Json(Bits(grant.affinity));
      if (given["affinity"] != affinity || given["preferred"] != grant.preferred) return false;
    }
    return true;
  }

  // Same hint, devices, CPUs and memory zones? Where the kubelet picks devices at random, the same
  // number.
  bool Given(const Json& test, const Machine& machine, const Json& step, const Json& theirs,
             Grant* grant, NodeState* state) {
    bool same = true;
    const auto check = [&](bool equal, int64_t* counter, const char* what) {
      if (equal) return;
      same = false;
      ++*counter;
      Differ(test, step["pod"], fmt::format("other {}: kubelet {}", what, theirs.dump()));
    };
    const Json affinity = grant->affinity == 0 ? Json(nullptr) : Json(Bits(grant->affinity));
    check(theirs["affinity"] == affinity && theirs["preferred"] == grant->preferred,
          &tally_.other_affinity, "affinity");
    for (size_t r = 0; r < machine.devices.size(); ++r) {
      DeviceMask given = 0;
      const std::string& name = machine.devices[r].name;
      for (const int d : theirs.value("devices", Json::object()).value(name, std::vector<int>{})) {
        given |= DeviceMask{1} << d;
      }
      const bool exact = machine.devices[r].plugin_prefers_lowest;
      check(exact ? given == grant->devices[r]
                  : std::popcount(given) == std::popcount(grant->devices[r]),
            &tally_.other_devices, "devices");
      state->used[r] |= given;
      grant->devices[r] = given;
    }
    CpuSet cpus;
    for (const int cpu : theirs.value("cpus", std::vector<int>{})) cpus.set(cpu);
    check(cpus == grant->cpus, &tally_.other_cpus, "cpus");
    check(theirs.value("memory_zones", std::vector<int>{}) == Bits(grant->memory_zones),
          &tally_.other_memory, "memory zones");
    return same;
  }

  void Differ(const Json& test, const std::string& pod, const std::string& what) {
    constexpr size_t kShown = 4;
    ++all_.differences_;
    if (all_.shown_.size() >= kShown) return;
    all_.shown_.push_back(
        fmt::format("case {} pod {}: {}\n{}", test["name"].dump(), pod, what, test.dump()));
  }

  Comparer& all_;
  Tally& tally_;
};

bool Comparer::Sequence(std::string_view test_line, std::string_view answer_line) {
  const Json test = Json::parse(test_line, nullptr, false);
  const Json answer = Json::parse(answer_line, nullptr, false);
  if (!test.is_object() || !answer.is_object() || test["name"] != answer["name"]) return false;
  SequenceComparer(this).Run(test, answer);
  return true;
}

std::string TallyJson(const Tally& t, uint64_t seed) {
  int64_t accepted = 0, refused = 0;
  for (const auto& [policy, count] : t.accepted_wrongly) accepted += count;
  for (const auto& [policy, count] : t.refused_wrongly) refused += count;
  const auto single = t.refused_wrongly.find("single-numa-node");
  return Json{
      {"seed", seed},
      {"sequences", t.sequences},
      {"decisions", t.decisions},
      {"admitted", t.admitted},
      {"refused", t.refused},
      {"machines_refused", t.start_errors},
      {"accepted_wrongly", accepted},
      {"refused_wrongly", refused},
      {"refused_wrongly_single_numa_node", single == t.refused_wrongly.end() ? 0 : single->second},
      {"other_reason", t.other_reason},
      {"messages_compared", t.messages},
      {"other_message", t.other_message},
      {"other_affinity", t.other_affinity},
      {"other_devices", t.other_devices},
      {"other_cpus", t.other_cpus},
      {"other_memory", t.other_memory},
      {"bound_broken", t.bound_broken},
      {"other_by_chance", t.by_chance}}
      .dump();
}

}  // namespace muster::numa
