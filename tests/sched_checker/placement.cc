#include "placement.h"

#include <algorithm>
#include <functional>

#include "quota.h"

namespace sched_checker {

namespace {

using TaskFlavors = std::vector<std::map<std::string, std::string>>;  // by task: resource -> flavor
constexpr size_t kMostAssignments = 64;
constexpr int kMostSteps = 200000;

// Ranks of each task in the smallest gang; nothing where it is not one fixed gang.
std::optional<std::vector<int>> SmallestGang(const Job& job) {
  std::vector<int> ranks;
  int sum = 0;
  for (const Task& task : job.tasks) sum += task.min, ranks.push_back(task.min);
  if (job.elastic_min > sum) {
    if (job.tasks.size() != 1) return std::nullopt;
    ranks[0] = job.elastic_min;
  }
  return ranks;
}

// Every way to give each listed resource of each task a listed flavor; nothing when too many.
std::optional<std::vector<TaskFlavors>> Assignments(const State& state, const Job& job) {
  std::vector<TaskFlavors> all = {TaskFlavors(job.tasks.size())};
  for (size_t i = 0; i < job.tasks.size(); ++i) {
    for (const auto& [resource, amount] : job.tasks[i].shape) {
      if (!Listed(state, job.queue, resource)) continue;
      std::vector<TaskFlavors> next;
      for (const auto& [flavor, labels] : state.flavors) {
        if (!ListedFor(state, job.queue, {flavor, resource})) continue;
        for (TaskFlavors with : all) {
          with[i][resource] = flavor;
          next.push_back(std::move(with));
        }
      }
      all = std::move(next);
      if (all.size() > kMostAssignments) return std::nullopt;
    }
  }
  return all;
}

bool QuotaFits(const State& state, const Job& job, const std::vector<int>& gang,
               const TaskFlavors& flavors) {
  if (!state.queues.empty() && state.Chain(job.queue).empty()) return false;
  State charged;  // only what quota looks at
  charged.queues = state.queues;
  charged.children = state.children;
  charged.direct_use = state.direct_use;
  const ChainUse before = UseOfChain(charged, job.queue);
  for (size_t i = 0; i < job.tasks.size(); ++i)
    for (const auto& [resource, flavor] : flavors[i])
      charged.direct_use[{job.queue, {flavor, resource}}] +=
          gang[i] * job.tasks[i].shape.at(resource);
  return QuotaBroken(charged, job.queue, before).empty();
}

// One task of equal ranks: how many each node holds decides everything.
bool OneTaskFits(const State& state, const Job& job, int ranks,
                 const std::map<std::string, std::string>& flavors) {
  const Task& task = job.tasks[0];
  // required domain -> slice domain -> ranks that fit there
  std::map<std::string, std::map<std::string, int64_t>> room;
  for (const auto& [name, node] : state.nodes) {
    if (!Eligible(state, node, task, flavors)) continue;
    const auto outer =
        job.required.empty() ? std::optional<std::string>("") : state.Domain(node, job.required);
    const auto inner =
        job.slice_size == 0 ? std::optional<std::string>("") : state.Domain(node, job.slice_level);
    if (outer && inner) room[*outer][*inner] += RanksThatFit(node, task.shape, ranks);
  }
  for (const auto& [outer, inners] : room) {
    int64_t sum = 0, slices = 0, largest_rest = 0;
    for (const auto& [inner, fits] : inners) {
      sum += fits;
      if (job.slice_size == 0) continue;
      slices += fits / job.slice_size;
      largest_rest = std::max(largest_rest, fits % job.slice_size);
    }
    if (job.slice_size == 0) {
      if (sum >= ranks) return true;
      continue;
    }
    const int64_t whole = ranks / job.slice_size, rest = ranks % job.slice_size;
    if (slices > whole || (slices == whole && largest_rest >= rest)) return true;
  }
  return false;
}

void Use(Node& node, const Amounts& shape, int64_t ranks) {
  for (const auto& [resource, amount] : shape) {
    if (!IsDevice(resource)) {
      node.used[resource] += amount * ranks;
      continue;
    }
    int64_t wanted = amount * ranks;
    for (auto& [id, used] : node.devices[resource])
      if (used == 0 && wanted > 0) used = kWholeDevice, --wanted;
  }
}

// Several tasks without slices and shares: every division of ranks over nodes, most first.
Answer TasksFit(const State& state, const Job& job, const std::vector<int>& gang,
                const TaskFlavors& flavors) {
  std::map<std::string, std::vector<Node>> domains;
  for (const auto& [name, node] : state.nodes) {
    const auto domain =
        job.required.empty() ? std::optional<std::string>("") : state.Domain(node, job.required);
    if (domain) domains[*domain].push_back(node);
  }
  int steps = 0;
  for (auto& [domain, nodes] : domains) {
    const std::function<bool(size_t, size_t, int64_t)> place = [&](size_t task, size_t at,
                                                                   int64_t wanted) -> bool {
      if (wanted == 0) {
        if (task + 1 == job.tasks.size()) return true;
        return place(task + 1, 0, gang[task + 1]);
      }
      if (at == nodes.size() || ++steps > kMostSteps) return false;
      const Amounts& shape = job.tasks[task].shape;
      int64_t most = 0;
      if (Eligible(state, nodes[at], job.tasks[task], flavors[task]))
        most = RanksThatFit(nodes[at], shape, wanted);
      for (int64_t here = most; here >= 0; --here) {
        const Node before = nodes[at];
        Use(nodes[at], shape, here);
        if (place(task, at + 1, wanted - here)) return true;
        nodes[at] = before;
      }
      return false;
    };
    if (place(0, 0, gang[0])) return Answer::kYes;
  }
  return steps > kMostSteps ? Answer::kUnknown : Answer::kNo;
}

}  // namespace

bool Eligible(const State& state, const Node& node, const Task& task,
              const std::map<std::string, std::string>& flavors) {
  if (!node.usable() || !HasLabels(node.labels, task.select)) return false;
  for (const Taint& taint : node.taints)
    if (taint.effect != "PreferNoSchedule" && !Tolerates(task.tolerate, taint)) return false;
  for (const auto& [resource, flavor] : flavors) {
    const auto found = state.flavors.find(flavor);
    if (found == state.flavors.end() || !HasLabels(node.labels, found->second)) return false;
  }
  return true;
}

int64_t RanksThatFit(const Node& node, const Amounts& shape, int64_t most, bool empty) {
  int64_t fits = most;
  for (const auto& [resource, amount] : shape) {
    if (amount <= 0) continue;
    int64_t here = 0;
    if (resource == "gpu_milli") {
      const auto gpus = node.devices.find(node.GpuResource());
      if (gpus != node.devices.end())
        for (const auto& [id, used] : gpus->second)
          here += (kWholeDevice - (empty ? 0 : used)) / amount;
    } else if (IsDevice(resource)) {
      const auto devices = node.devices.find(resource);
      if (devices != node.devices.end())
        for (const auto& [id, used] : devices->second) here += (empty || used == 0) ? 1 : 0;
      here /= amount;
    } else {
      const auto capacity = node.capacity.find(resource);
      const auto used = node.used.find(resource);
      if (capacity != node.capacity.end())
        here = (capacity->second - (empty || used == node.used.end() ? 0 : used->second)) / amount;
    }
    fits = std::min(fits, std::max<int64_t>(0, here));
  }
  return fits;
}

Answer QuotaAdmits(const State& state, const Job& job) {
  const auto gang = SmallestGang(job);
  const auto assignments = Assignments(state, job);
  if (!gang || !assignments) return Answer::kUnknown;
  size_t fits = 0;
  for (const TaskFlavors& flavors : *assignments) fits += QuotaFits(state, job, *gang, flavors);
  if (fits == 0) return Answer::kNo;
  return fits == assignments->size() ? Answer::kYes : Answer::kUnknown;
}

Answer CanStart(const State& state, const Job& job) {
  for (const auto& [name, node] : state.nodes)
    if (node.policy != "none" && node.policy != "best-effort") return Answer::kUnknown;
  const auto gang = SmallestGang(job);
  const auto assignments = Assignments(state, job);
  if (!gang || !assignments) return Answer::kUnknown;
  bool exact = true, shares = false, both = false;
  for (const Task& task : job.tasks) {
    shares = shares || task.shape.contains("gpu_milli");
    for (const auto& [resource, amount] : task.shape)
      both = both || (resource.ends_with("/gpu") && task.shape.contains("gpu_milli"));
  }
  if (both) return Answer::kUnknown;
  if (job.tasks.size() > 1 && (shares || job.slice_size > 0)) return Answer::kUnknown;
  for (const TaskFlavors& flavors : *assignments) {
    if (!QuotaFits(state, job, *gang, flavors)) continue;
    const Answer fits =
        job.tasks.size() == 1
            ? (OneTaskFits(state, job, (*gang)[0], flavors[0]) ? Answer::kYes : Answer::kNo)
            : TasksFit(state, job, *gang, flavors);
    if (fits == Answer::kYes) return fits;
    exact = exact && fits == Answer::kNo;
  }
  return exact ? Answer::kNo : Answer::kUnknown;
}

}  // namespace sched_checker
