// What the engine is told: nodes, queues, who asks and who holds.
#include <algorithm>

#include "backend/kubernetes/kueue/quota.h"
#include "kube/object.h"

namespace muster::kueue {

void QuotaCore::Rebuild() {
  rebuild_ = false;
  engine_ = sched::Engine();
  decisions_.clear();
  admitted_ = 0;
  ChooseTopology();
  TakeEvent(sched::TopologyLevels{rooms_.EngineLevels()});
  AddNodes();
  AddRooms();
  for (Flavor flavor : queues_.flavors) {
    flavor.labels[FlavorLabel(flavor.name)] = "true";
    TakeEvent(sched::FlavorAdd{std::move(flavor)});
  }
  for (const Queue& queue : queues_.queues) {
    if (IsLocalQueue(queue.name)) continue;
    Queue told = queue;
    for (QuotaEntry& entry : told.quota) entry.resource = InEngine(entry.resource);
    TakeEvent(sched::QueueAdd{std::move(told)});
  }
  std::vector<One*> held;
  for (auto& [uid, one] : all_) {
    const bool in = one.at == At::kIn || one.ask.reserved;
    one.at = At::kOut;
    touched_.insert(uid);
    // What was decided and is being written counts as written.
    one.to_admit.reset();
    if (in && !one.evicting && (one.busy || VersionOf(one.ask) < one.ignore_below))
      held.push_back(&one);
  }
  for (One* one : held) Adopt(*one);
}

const Queue* QuotaCore::QueueNamed(const std::string& name) const {
  const auto found = queue_at_.find(name);
  return found == queue_at_.end() ? nullptr : &queues_.queues[found->second];
}

// `counts`: what it was let in with. One that may get fewer asks for as many as there is quota for.
Job QuotaCore::JobOf(const Ask& ask, const Counts& counts) const {
  Job job;
  job.name = ask.meta.uid;
  const Queue* local = QueueNamed(ask.queue);
  job.queue = local == nullptr ? ask.queue : local->parent;
  job.priority = ask.priority;
  if (const auto known = priorities_.find(ask.priority_class); known != priorities_.end())
    job.priority = known->second;
  int least = 0, most = 0;
  for (const PodSetAsk& set : ask.sets) {
    const int count = CountOf(set, counts);
    if (count == 0) continue;
    TaskGroup task;
    task.name = set.name;
    task.count = task.min = count;
    if (set.min_count > 0 && counts.empty()) task.min = set.min_count;
    least += task.min, most += task.count;
    task.shape = InEngine(set.shape);
    task.shape["pods"] = 1;
    task.tolerate = set.tolerate;
    if (ask.kind == AskKind::kJob) {
      task.select[kEndlessKey] = "true";
      task.tolerate.push_back({kEndlessKey, "Exists", "", ""});
    }
    for (const auto& [key, value] : set.select) {
      if (flavor_keys_.count(key) != 0) task.select[key] = value;
    }
    job.tasks.push_back(std::move(task));
    if (set.topology == TopologyWish{} || !rooms_.used()) continue;
    job.topology = set.topology;
    for (std::string* level :
         {&job.topology.required, &job.topology.preferred, &job.topology.slice_level})
      *level = rooms_.EngineLevel(*level);
  }
  if (least < most) job.elastic_min = least, job.elastic_max = most;
  return job;
}

// What it holds is held, whatever quota says by now.
bool QuotaCore::Adopt(One& one) {
  sched::JobAdopt adopt;
  Counts counts = one.ask.reserved ? one.ask.counts : one.counts;
  for (const PodSetAsk& set : one.ask.sets) counts.try_emplace(set.name, set.count);
  adopt.job = JobOf(one.ask, counts);
  const Queue* queue = QueueNamed(one.ask.queue);
  const Queue* cluster_queue = QueueNamed(
      !one.ask.cluster_queue.empty() || queue == nullptr ? one.ask.cluster_queue : queue->parent);
  if (cluster_queue == nullptr || queue == nullptr || adopt.job.tasks.empty()) return false;
  adopt.job.topology = {};
  const auto in = [&] {
    one.at = At::kIn;
    one.why.clear();
    ++admitted_;
    return true;
  };
  if (SeatInRooms(one, adopt.job, adopt.seats) && TakeEvent(adopt)) return in();
  adopt.seats.clear();
  for (const TaskGroup& task : adopt.job.tasks) {
    std::map<std::string, std::string> flavors;
    const Flavors& given = one.ask.reserved ? one.ask.flavors : one.given;
    if (const auto said = given.find(task.name); said != given.end()) flavors = said->second;
    for (const QuotaEntry& entry : cluster_queue->quota) {
      if (task.shape.count(InEngine(entry.resource)) != 0)
        flavors.try_emplace(entry.resource, entry.flavor);
    }
    const std::string node = NodeFor(flavors);
    if (node.empty()) return false;
    for (int rank = 0; rank < task.count; ++rank) adopt.seats.push_back({task.name, rank, node});
  }
  return TakeEvent(std::move(adopt)) && in();
}

void QuotaCore::Leave(One& one, bool finished) {
  if (one.at == At::kOut) return;
  const bool was_in = one.at == At::kIn;
  if (was_in) --admitted_;
  one.to_admit.reset();
  one.at = At::kOut;
  if (rebuild_) return;
  TakeEvent(sched::JobEnd{one.ask.meta.uid,
                          finished && was_in ? sched::JobVerb::kFinish : sched::JobVerb::kCancel});
}

}  // namespace muster::kueue
