// What each event does to the state. Nothing is decided here: that waits until all events of one t
// are known.
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "sched/amount.h"
#include "sched/engine.h"

namespace muster::sched {

namespace {

GangTopology ToTopology(const Cluster& cluster, const TopologyWish& wish) {
  GangTopology topology;
  if (!wish.required.empty()) topology.required = cluster.LevelOf(wish.required);
  if (!wish.preferred.empty()) topology.preferred = cluster.LevelOf(wish.preferred);
  if (wish.slice_size > 0) {
    topology.slice_size = wish.slice_size;
    topology.slice_level = cluster.LevelOf(wish.slice_level);
  }
  return topology;
}

}  // namespace

Result<int> Engine::NodeNamed(const std::string& name) const {
  const int node = cluster_.FindNode(name);
  if (node < 0)
    return Fail(Code::kInvalid, fmt::format("there is no node {}", Printable(Shorten(name, 80))));
  return node;
}

Result<int> Engine::ActiveJob(const std::string& name) const {
  const auto found = job_ids_.find(name);
  if (found == job_ids_.end())
    return Fail(Code::kInvalid, fmt::format("there is no job {}", Printable(Shorten(name, 80))));
  return found->second;
}

Status Engine::Apply(const NodeAdd& node) {
  TRY_VOID(cluster_.AddNode(node));
  on_node_.resize(static_cast<size_t>(cluster_.node_count()));
  Gained(cluster_.node_count() - 1);
  return {};
}

// Every rank there is lost; what that means for its gang is decided when all of this t is known.
void Engine::LoseNode(int node) {
  auto& here = on_node_[static_cast<size_t>(node)];
  while (!here.empty()) {
    const auto [job, flat] = here.back();
    Release(job, flat);
    lost_ranks_.push_back({job, flat, node});
  }
  dirty_ = true;
}

Status Engine::Apply(const NodeChange& change) {
  TRY(const int node, NodeNamed(change.name));
  // What is said again changes nothing, and nobody is asked to decide.
  if (change.verb == NodeVerb::kCordon && cluster_.cordoned(node)) return {};
  if (change.verb == NodeVerb::kUncordon && !cluster_.cordoned(node) && !cluster_.failed(node))
    return {};
  dirty_ = true;
  const bool lost = change.verb == NodeVerb::kRemove || change.verb == NodeVerb::kFail;
  disturbed_ = lost ? "a node lost" : "a node changed by the operator";
  switch (change.verb) {
    case NodeVerb::kRemove:
      LoseNode(node);
      cluster_.RemoveNode(node);
      break;
    case NodeVerb::kFail:
      LoseNode(node);
      cluster_.SetFailed(node, true);
      break;
    case NodeVerb::kCordon:
      cluster_.SetCordoned(node, true);
      break;
    case NodeVerb::kUncordon:
      cluster_.SetCordoned(node, false);
      cluster_.SetFailed(node, false);
      Gained(node);
      break;
  }
  return {};
}

Status Engine::Apply(const NodeHealth& health) {
  TRY(const int node, NodeNamed(health.name));
  if (cluster_.health(node) == health.value &&
      (health.value != Health::kAccepted || !cluster_.failed(node)))
    return {};
  cluster_.SetHealth(node, health.value);
  dirty_ = true;
  disturbed_ = "a node changed by the operator";
  if (health.value == Health::kAccepted) {
    cluster_.SetFailed(node, false);
    Gained(node);
  }
  return {};
}

Status Engine::Apply(const FlavorAdd& flavor) {
  dirty_ = true;
  return queues_.AddFlavor(flavor.flavor);
}
Status Engine::Apply(const QueueAdd& queue) {
  dirty_ = true;
  if (queue.queue.order == QueueOrder::kFair) fair_queues_ = true;
  disturbed_ = "a queue changed by the operator";
  TRY_VOID(queues_.AddQueue(queue.queue));
  pending_.Grow(queues_.size());
  return {};
}
Status Engine::Apply(const QuotaChange& change) {
  dirty_ = true;
  disturbed_ = "a queue changed by the operator";
  return queues_.ChangeQuota(change);
}

// A job that neither waits nor runs yet.
Result<int> Engine::NewGang(const Job& job) {
  const auto known = job_ids_.find(job.name);
  if (known != job_ids_.end()) {
    const JobState state = gangs_[static_cast<size_t>(known->second)].state;
    if (state == JobState::kPending || state == JobState::kRunning)
      return Fail(Code::kInvalid, fmt::format("job {} is there already", Printable(job.name)));
  }
  for (const TaskGroup& task : job.tasks) {
    int devices = 0;
    for (const auto& [resource, amount] : task.shape) devices += IsDevice(resource) ? 1 : 0;
    if (devices > kMostDeviceKinds)
      return Fail(Code::kInvalid, fmt::format("job {}: at most {} kinds of devices in one task",
                                              Printable(job.name), kMostDeviceKinds));
  }
  const int id = static_cast<int>(gangs_.size());
  Gang gang;
  gang.name = job.name;
  gang.queue = queues_.FindOrAdd(job.queue);
  pending_.Grow(queues_.size());
  gang.priority = job.priority, gang.preemptible = job.preemptible;
  int ranks = 0;
  for (const TaskGroup& task : job.tasks) {
    GangGroup group;
    group.name = task.name;
    group.count = task.count, group.min = task.min, group.first_rank = ranks;
    group.shape = cluster_.ToShape(task.shape);
    group.select = LabelPairs(task.select.begin(), task.select.end());
    group.tolerate = task.tolerate;
    group.shape_class = classes_.IdOf(group.shape, group.select, group.tolerate);
    ranks += task.count;
    gang.groups.push_back(std::move(group));
  }
  gang.slots.resize(static_cast<size_t>(ranks));
  gang.topology = ToTopology(cluster_, job.topology);
  gang.elastic_min = job.elastic_min, gang.elastic_max = job.elastic_max;
  gang.duration = job.duration_ms, gang.left = job.duration_ms, gang.limit = job.limit_ms;
  gang.checkpoint_every = job.checkpoint_every_ms, gang.max_wait = job.max_wait_ms;
  gang.sequence = next_sequence_++;
  gang.submitted = now_;
  gangs_.push_back(std::move(gang));
  said_.emplace_back();
  job_ids_[job.name] = id;
  dirty_ = true;
  return id;
}

Status Engine::Apply(const JobSubmit& submit) {
  const Job& job = submit.job;
  TRY(const int id, NewGang(job));
  for (const std::string& level :
       {job.topology.required, job.topology.preferred, job.topology.slice_level}) {
    if (level.empty() || cluster_.LevelOf(level) >= 0) continue;
    gangs_.back().state = JobState::kRejected;
    Emit(RejectDecision{job.name, {"TOPOLOGY", {{"level", level}}}});
    return {};
  }
  ++pending_count_;
  AddPending(id);
  to_explain_.push_back(id);
  if (job.max_wait_ms) timers_.insert({now_ + *job.max_wait_ms, TimerKind::kMaxWait, id, 0});
  return {};
}

Status Engine::Apply(const JobEnd& end) {
  TRY(const int job, ActiveJob(end.name));
  const JobState state = gangs_[static_cast<size_t>(job)].state;
  if (state == JobState::kRunning) {
    FinishJob(job, end.verb == JobVerb::kFinish ? "DONE" : "CANCELLED");
  } else if (state == JobState::kPending && end.verb == JobVerb::kCancel) {
    DropPending(job);
    --pending_count_;
    gangs_[static_cast<size_t>(job)].state = JobState::kFinished;
    Emit(FinishDecision{end.name, "CANCELLED"});
    dirty_ = true;
  }  // what does not run cannot have finished: nothing happens
  return {};
}

Result<int> Engine::FlatRank(int job, const std::string& task, int rank) const {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  for (const GangGroup& group : gang.groups) {
    if (group.name != task) continue;
    if (rank < 0 || rank >= group.count)
      return Fail(Code::kInvalid,
                  fmt::format("job {}: {} has ranks 0 to {}, found {}", Printable(gang.name),
                              Printable(task), group.count - 1, rank));
    return group.first_rank + rank;
  }
  return Fail(Code::kInvalid,
              fmt::format("job {} has no task {}", Printable(gang.name), Printable(task)));
}

Status Engine::Apply(const TaskFail& fail) {
  TRY(const int job, ActiveJob(fail.name));
  TRY(const int flat, FlatRank(job, fail.task, fail.rank));
  const int node = gangs_[static_cast<size_t>(job)].slots[static_cast<size_t>(flat)].node;
  if (node >= 0) {
    Release(job, flat);
    lost_ranks_.push_back({job, flat, node});
    disturbed_ = "a restart";
    dirty_ = true;
  }
  return {};
}

Status Engine::Apply(const AskWhy& ask) {
  asks_.push_back({now_, ask});
  return {};
}
Status Engine::Apply(const End&) {
  ended_ = true;
  return {};
}

}  // namespace muster::sched
