// What every bind is held to, and what a gang is held to once all its binds of one t are read.
#include "replay.h"

namespace sched_checker {

void Replay::Admit(const Line& line) {
  Job* job = Named(line);
  if (job == nullptr) return;
  job->flavors.clear();
  const Json flavors = line.json.value("flavors", Json::object());
  for (const auto& [task, resources] : flavors.items()) {
    const bool known = std::any_of(job->tasks.begin(), job->tasks.end(),
                                   [&](const Task& t) { return t.name == task; });
    if (!known) Say("FORMAT", "admit: " + job->name + " has no task " + task, job);
    for (const auto& [resource, flavor] : resources.items()) {
      const std::string name = flavor;
      if (!state_.flavors.contains(name)) Say("FORMAT", "admit: no such flavor " + name, job);
      job->flavors[task][resource] = name;
    }
  }
}

void Replay::Bind(const Line& line) {
  ++report_.binds;
  Job* job = Named(line);
  if (job == nullptr) return;
  if (gang_ != job->name) {
    if (bound_now_.contains(job->name))
      Say("LINES", "the binds of " + job->name + " do not stand together", job);
    gang_ = job->name;
    gang_before_ = UseOfChain(state_, job->queue);
    gang_starts_ = job->status == Job::Status::kPending;
    gang_repairs_ = false;
    const auto eviction = evictions_.find(job->name);
    if (eviction != evictions_.end() && Small() && gang_starts_) eviction->second.at_bind = state_;
    bound_now_.insert(job->name);
  }
  if (job->status == Job::Status::kFinished || job->status == Job::Status::kRejected) {
    Say("FORMAT", "bind: " + job->name + " is over", job);
    return;
  }
  const std::string task_name = line.json.at("task");
  const auto task = std::find_if(job->tasks.begin(), job->tasks.end(),
                                 [&](const Task& t) { return t.name == task_name; });
  const int number = line.json.at("rank");
  if (task == job->tasks.end() || number < 0 || number >= task->count) {
    Say("FORMAT",
        "bind: " + job->name + " has no rank " + std::to_string(number) + " of " + task_name, job);
    return;
  }
  const Rank rank{static_cast<int>(task - job->tasks.begin()), number};
  if (job->ranks.contains(rank)) {
    Say("CAPACITY", "rank " + std::to_string(number) + " of " + job->name + " is bound twice", job);
    return;
  }
  Bound bound;
  bound.node = line.json.at("node");
  bound.devices = line.json.value("devices", std::map<std::string, std::vector<int>>{});
  bound.numa = line.json.value("numa", std::vector<int>{});
  const auto node = state_.nodes.find(bound.node);
  if (node == state_.nodes.end() || !node->second.usable())
    Say("USABLE", "node " + bound.node + " takes nothing new", job);
  if (node == state_.nodes.end()) return;
  CheckPlace(*job, *task, node->second);
  CheckDevices(*job, *task, node->second, bound);
  if (options_.numa) CheckNuma(*task, node->second, bound);
  Charge(*job, *task, &bound);
  gang_repairs_ = gang_repairs_ || (job->lost_at == state_.now && job->lost.contains(rank));
  state_.Take(*job, rank, bound);
  for (const auto& [resource, used] : node->second.used) {
    const auto capacity = node->second.capacity.find(resource);
    if (used > (capacity == node->second.capacity.end() ? 0 : capacity->second))
      Say("CAPACITY", bound.node + " is over its " + resource, job);
  }
  for (const auto& [resource, ids] : bound.devices)
    for (const int id : ids)
      if (node->second.devices[resource][id] > kWholeDevice)
        Say("CAPACITY",
            resource + " " + std::to_string(id) + " of " + bound.node + " is given twice", job);
}

void Replay::CheckPlace(const Job& job, const Task& task, const Node& node) {
  if (!HasLabels(node.labels, task.select))
    Say("PLACE", node.name + " has not the labels that " + job.name + " selects", &job);
  for (const Taint& taint : node.taints)
    if (taint.effect != "PreferNoSchedule" && !Tolerates(task.tolerate, taint))
      Say("PLACE", job.name + " does not tolerate " + taint.key + " of " + node.name, &job);
  const auto flavors = job.flavors.find(task.name);
  if (flavors == job.flavors.end()) return;
  for (const auto& [resource, flavor] : flavors->second) {
    const auto labels = state_.flavors.find(flavor);
    if (labels != state_.flavors.end() && !HasLabels(node.labels, labels->second))
      Say("PLACE", node.name + " is not of flavor " + flavor, &job);
  }
}

void Replay::CheckDevices(const Job& job, const Task& task, const Node& node, const Bound& bound) {
  std::map<std::string, int64_t> wanted;
  for (const auto& [resource, amount] : task.shape) {
    if (IsDevice(resource) && amount > 0) wanted[resource] += amount;
    if (resource == "gpu_milli" && amount > 0) ++wanted[node.GpuResource()];
  }
  for (const auto& [resource, count] : wanted) {
    const auto given = bound.devices.find(resource);
    const auto have = given == bound.devices.end() ? 0 : static_cast<int64_t>(given->second.size());
    if (have != count)
      Say("DEVICES",
          job.name + " asks " + std::to_string(count) + " " + resource + ", gets " +
              std::to_string(have),
          &job);
  }
  for (const auto& [resource, ids] : bound.devices) {
    if (!wanted.contains(resource)) Say("DEVICES", job.name + " did not ask for " + resource, &job);
    const auto there = node.devices.find(resource);
    std::set<int> seen;
    for (const int id : ids) {
      if (there == node.devices.end() || !there->second.contains(id))
        Say("DEVICES", node.name + " has no " + resource + " " + std::to_string(id), &job);
      if (!seen.insert(id).second)
        Say("CAPACITY", resource + " " + std::to_string(id) + " stands twice in one bind", &job);
    }
  }
}

// The part of the kubelet's rules that needs no model of its hints: devices lie in the zones named;
// single-numa-node means one zone; restricted means no more zones than the device count needs; with
// the static CPU manager, whole CPUs of one zone do not exceed it.
void Replay::CheckNuma(const Task& task, const Node& node, const Bound& bound) {
  if (node.zones.empty() || node.policy == "none") return;
  const auto known = [&](int zone) {
    return zone >= 0 && zone < static_cast<int>(node.zones.size());
  };
  if (!std::all_of(bound.numa.begin(), bound.numa.end(), known)) {
    Say("NUMA", "no such zone on " + node.name);
    return;
  }
  for (const auto& [resource, ids] : bound.devices) {
    std::set<size_t> in;
    size_t fewest = node.zones.size();
    for (size_t zone = 0; zone < node.zones.size(); ++zone) {
      const auto there = node.zones[zone].devices.find(resource);
      if (there == node.zones[zone].devices.end()) continue;
      for (const int id : ids)
        if (there->second.contains(id)) in.insert(zone);
    }
    std::vector<size_t> sizes;
    for (const Zone& zone : node.zones)
      sizes.push_back(zone.devices.contains(resource) ? zone.devices.at(resource).size() : 0);
    std::sort(sizes.rbegin(), sizes.rend());
    size_t sum = 0;
    for (size_t n = 0; n < sizes.size() && sum < ids.size(); ++n) sum += sizes[n], fewest = n + 1;
    for (const size_t zone : in)
      if (!bound.numa.empty() && std::find(bound.numa.begin(), bound.numa.end(),
                                           static_cast<int>(zone)) == bound.numa.end())
        Say("NUMA", resource + " of a zone that the bind does not name, on " + node.name);
    if (node.policy == "single-numa-node" && in.size() > 1)
      Say("NUMA", resource + " of two zones on a single-numa-node node " + node.name);
    if (node.policy == "restricted" && in.size() > fewest)
      Say("NUMA", resource + " of more zones than needed on a restricted node " + node.name);
  }
  if (node.cpu_manager != "static" || bound.numa.size() != 1) return;
  const size_t zone = static_cast<size_t>(bound.numa[0]);
  int64_t cpu = task.shape.contains("cpu") ? task.shape.at("cpu") : 0;
  if (cpu % 1000 != 0) return;
  for (const auto& [name, job] : state_.jobs)
    for (const auto& [rank, other] : job.ranks) {
      const Amounts& shape = job.tasks[static_cast<size_t>(rank.first)].shape;
      if (other.node == node.name && other.numa == bound.numa && shape.contains("cpu") &&
          shape.at("cpu") % 1000 == 0)
        cpu += shape.at("cpu");
    }
  if (cpu > node.zones[zone].cpu) Say("NUMA", "zone over its CPUs on " + node.name);
}

void Replay::Charge(const Job& job, const Task& task, Bound* bound) {
  if (!state_.queues.empty() && state_.Chain(job.queue).empty())
    Say("QUOTA", "there is no queue " + job.queue, &job);
  for (const auto& [resource, amount] : task.shape) {
    if (amount == 0 || !Listed(state_, job.queue, resource)) continue;
    const auto flavors = job.flavors.find(task.name);
    const bool admitted = flavors != job.flavors.end() && flavors->second.contains(resource);
    if (!admitted) {
      Say("QUOTA", job.name + " is bound without an admit that gives " + resource + " a flavor",
          &job);
      continue;
    }
    const FlavorResource what{flavors->second.at(resource), resource};
    if (!ListedFor(state_, job.queue, what))
      Say("QUOTA", resource + " is not listed for flavor " + what.first + " in " + job.queue, &job);
    bound->charged.emplace_back(what, amount);
  }
}

void Replay::CloseGang() {
  if (gang_.empty()) return;
  Job& job = state_.jobs.at(gang_);
  gang_.clear();
  if (job.status != Job::Status::kPending && job.status != Job::Status::kRunning) return;
  for (const std::string& text : QuotaBroken(state_, job.queue, gang_before_))
    Say("QUOTA", job.name + ": " + text, &job);
  if (!job.Legal()) Say("GANG", job.name + " is bound in part", &job);
  if (job.elastic() && static_cast<int>(job.ranks.size()) > job.elastic_max)
    Say("GANG", job.name + " has more ranks than elastic.max", &job);
  CheckTopology(job);
  if (gang_starts_) {
    job.status = Job::Status::kRunning;
    job.started = job.gang_bound = state_.now;
    // Beyond its max_wait it went before others, and rule 7 gives it what it could use.
    if (!job.first_start && job.max_wait && state_.now >= job.submitted + *job.max_wait)
      disturbed_at_ = state_.now;
    if (!job.first_start) job.first_start = state_.now;
    SetEnd(job);
    waiting_.erase(job.name);
    const auto reserved = reserved_.find(job.name);
    if (reserved != reserved_.end() && state_.now > reserved->second.start)
      Say("RESERVE",
          job.name + " starts after its reserved start " + std::to_string(reserved->second.start),
          &job);
    reserved_.erase(job.name);
  } else if (gang_repairs_) {
    job.left = State::LeftAfter(job, state_.now);
    job.started = state_.now;
    SetEnd(job);
  }
}

// The end of the run. After a repair it is not said whether `limit` counts from the repair or from
// the first bind of the gang; the finish line shows which one is meant, both are accepted.
void Replay::SetEnd(Job& job) {
  job.ends.reset();
  std::vector<int64_t> ends;
  for (const int64_t limit_from : {job.started, job.gang_bound}) {
    std::optional<int64_t> end;
    if (job.left) end = job.started + *job.left;
    if (job.limit) end = end ? std::min(*end, limit_from + *job.limit) : limit_from + *job.limit;
    if (end) ends.push_back(*end);
  }
  if (ends.empty()) return;
  job.ends = ends[0];
  const auto lines = finish_lines_.find(job.name);
  if (lines == finish_lines_.end()) return;
  for (const int64_t end : ends)
    if (std::find(lines->second.begin(), lines->second.end(), end) != lines->second.end())
      job.ends = end;
}

void Replay::CheckTopology(const Job& job) {
  std::set<std::optional<std::string>> outer;
  std::map<std::pair<int, int>, std::set<std::optional<std::string>>> slices;
  for (const auto& [rank, bound] : job.ranks) {
    const auto node = state_.nodes.find(bound.node);
    if (node == state_.nodes.end()) continue;
    if (!job.required.empty()) outer.insert(state_.Domain(node->second, job.required));
    if (job.slice_size > 0)
      slices[{rank.first, rank.second / job.slice_size}].insert(
          state_.Domain(node->second, job.slice_level));
  }
  if (outer.size() > 1 || outer.contains(std::nullopt))
    Say("TOPOLOGY", job.name + " is not in one " + job.required, &job);
  for (const auto& [slice, domains] : slices)
    if (domains.size() > 1 || domains.contains(std::nullopt))
      Say("TOPOLOGY",
          "slice " + std::to_string(slice.second) + " of " + job.name + " is not in one " +
              job.slice_level,
          &job);
}

}  // namespace sched_checker
