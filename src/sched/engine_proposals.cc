// Changes beyond what is there that would start a waiting job: nodes like those that are there, the
// job again with one toleration more, or with the labels that some node has. Each is carried out on
// a copy before it is proposed, so they are found where the cluster is small enough to be copied.
#include <algorithm>

#include <fmt/format.h>

#include "sched/engine.h"

namespace muster::sched {

namespace {
constexpr int kMostNewNodes = 64;
}

// The job as it was submitted, with the run time that is left.
Job Engine::JobOf(const Gang& gang) const {
  const auto level = [&](int l) {
    if (l < 0) return std::string();
    const auto& levels = cluster_.levels();
    return l == static_cast<int>(levels.size()) ? std::string("node")
                                                : levels[static_cast<size_t>(l)];
  };
  Job job;
  job.name = gang.name, job.queue = queues_.Name(gang.queue);
  job.priority = gang.priority, job.preemptible = gang.preemptible;
  for (const GangGroup& group : gang.groups) {
    TaskGroup task;
    task.name = group.name, task.count = group.count, task.min = group.min;
    task.shape = cluster_.FromShape(group.shape);
    task.select = {group.select.begin(), group.select.end()};
    task.tolerate = group.tolerate;
    job.tasks.push_back(std::move(task));
  }
  job.topology.required = level(gang.topology.required);
  job.topology.preferred = level(gang.topology.preferred);
  if (gang.topology.slice_size > 0) {
    job.topology.slice_size = gang.topology.slice_size;
    job.topology.slice_level = level(gang.topology.slice_level);
  }
  job.elastic_min = gang.elastic_min, job.elastic_max = gang.elastic_max;
  job.duration_ms = gang.left, job.limit_ms = gang.limit;
  job.checkpoint_every_ms = gang.checkpoint_every, job.max_wait_ms = gang.max_wait;
  return job;
}

std::vector<Event> Engine::TryAgainAs(int job, Job changed) const {
  std::vector<Event> change = {{now_, JobEnd{changed.name, JobVerb::kCancel}},
                               {now_, JobSubmit{std::move(changed)}}};
  if (!HelpsInAFork(job, change)) change.clear();
  return change;
}

// The job again, tolerating the taint that keeps it out.
std::vector<Event> Engine::TryTolerating(int job) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  for (int node = 0; node < cluster_.node_count(); ++node) {
    if (!cluster_.usable(node)) continue;
    Job changed = JobOf(gang);
    bool any = false;
    for (TaskGroup& task : changed.tasks) {
      if (!Matches(cluster_.Spec(node), LabelPairs(task.select.begin(), task.select.end())))
        continue;
      while (const Taint* taint = Untolerated(cluster_.Spec(node), task.tolerate)) {
        Toleration toleration;
        toleration.key = taint->key, toleration.op = "Equal";
        toleration.value = taint->value, toleration.effect = taint->effect;
        task.tolerate.push_back(std::move(toleration));
        any = true;
      }
    }
    if (!any) continue;
    auto change = TryAgainAs(job, std::move(changed));
    if (!change.empty()) return change;
  }
  return {};
}

// The job again, selecting no more than what the node that comes nearest has.
std::vector<Event> Engine::TrySelecting(int job) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  Job changed = JobOf(gang);
  for (TaskGroup& task : changed.tasks) {
    size_t best = 0;
    std::map<std::string, std::string> kept;
    bool matched = false;
    for (int node = 0; node < cluster_.node_count() && !matched; ++node) {
      if (!cluster_.present(node)) continue;
      std::map<std::string, std::string> has;
      for (const auto& pair : task.select) {
        const auto label = cluster_.Spec(node).labels.find(pair.first);
        if (label != cluster_.Spec(node).labels.end() && label->second == pair.second)
          has.insert(pair);
      }
      matched = has.size() == task.select.size();
      if (has.size() > best || matched) best = has.size(), kept = std::move(has);
    }
    task.select = {kept.begin(), kept.end()};
  }
  return TryAgainAs(job, std::move(changed));
}

// The fewest nodes more, each like the one there that holds most ranks of the largest group.
std::vector<Event> Engine::TryNewNodes(int job) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  const auto largest =
      std::max_element(gang.groups.begin(), gang.groups.end(),
                       [](const GangGroup& a, const GangGroup& b) { return a.count < b.count; });
  const ShapeClass& c = classes_.Synced(cluster_, largest->shape_class);
  int like = -1, most = 0;
  int64_t room = -1;
  for (int node = 0; node < cluster_.node_count(); ++node) {
    if (!cluster_.usable(node) || c.match[static_cast<size_t>(node)] == 0) continue;
    const int fit = cluster_.FitEmpty(c.shape, node);
    const int domain = cluster_.AncestorAt(cluster_.LeafOf(node), gang.topology.required);
    const int64_t there = domain < 0 ? 0 : c.sum[static_cast<size_t>(domain)];
    if (fit > most || (fit == most && fit > 0 && there > room))
      like = node, most = fit, room = there;
  }
  if (like < 0) return {};
  const auto with = [&](int count) {
    std::vector<Event> change;
    for (int i = 1; static_cast<int>(change.size()) < count; ++i) {
      NodeAdd node = cluster_.Spec(like);
      node.name = fmt::format("new-{}", i);
      if (cluster_.FindNode(node.name) < 0) change.push_back({now_, std::move(node)});
    }
    return change;
  };
  int enough = 1;
  while (enough <= kMostNewNodes && !HelpsInAFork(job, with(enough))) enough *= 2;
  if (enough > kMostNewNodes) return {};
  int less = enough / 2;  // not enough
  while (enough - less > 1) {
    const int middle = less + (enough - less) / 2;
    (HelpsInAFork(job, with(middle)) ? enough : less) = middle;
  }
  return with(enough);
}

}  // namespace muster::sched
