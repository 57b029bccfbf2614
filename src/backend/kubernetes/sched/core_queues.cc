// What groups and queues ask for beyond amounts: whose queue a name means, queues that are held or
// drained, priority classes, tiers, roles' minima; and what of it is not acted on.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/kubernetes/sched/core.h"
#include "base/strings.h"
#include "manifest/gangs.h"

namespace muster::kubesched {

void Core::SetQueues(std::vector<Queue> queues, std::vector<Flavor> flavors, QueueWords words) {
  queues_ = std::move(queues);
  flavors_ = std::move(flavors);
  words_ = std::move(words);
  queue_at_.clear();
  for (size_t i = 0; i < queues_.size(); ++i) queue_at_[queues_[i].name] = i;
  rebuild_ = true;
  drain_ = !words_.drained.empty();
}

std::string Core::QueueName(Dialect of, const std::string& name) const {
  const auto found = words_.renamed.find({std::string(ToString(of)), name});
  return found == words_.renamed.end() ? name : found->second;
}

// Gangs of a LocalQueue count in its ClusterQueue, and wait and preempt as that one says.
std::string Core::QuotaQueue(const std::string& name) const {
  const auto at = queue_at_.find(name);
  return at == queue_at_.end() ? name : QuotaQueueOf(queues_[at->second]);
}

// The queue and all above it, as long as `visit` says true; cycles end.
template <typename Visit>
void Core::UpTheQueues(std::string name, Visit visit) const {
  for (size_t depth = 0; depth <= queues_.size(); ++depth) {
    if (name.empty() || !visit(name)) return;
    const auto at = queue_at_.find(name);
    if (at == queue_at_.end()) return;
    name = queues_[at->second].parent;
  }
}

// Why a gang of this queue must wait whatever is free; empty = it need not.
std::string Core::QueueTrouble(const Gang& gang) const {
  const std::string& queue = gang.queue;
  if (queue.empty()) return "";
  const bool there = QueueThere(queue), local = IsLocalQueue(queue);
  const char* group = local                               ? "kueue.x-k8s.io"
                      : gang.dialect == Dialect::kVolcano ? "scheduling.volcano.sh"
                      : gang.dialect == Dialect::kKai     ? "scheduling.run.ai"
                                                          : "";
  if (const auto unreadable = unreadable_.find(group); unreadable != unreadable_.end())
    return fmt::format("the quota of queue {} is not known: {}", queue, unreadable->second);
  if (!there && local) return fmt::format("LocalQueue {} is not there", queue);
  if (const std::string quota = QuotaQueue(queue); local && !QueueThere(quota))
    return fmt::format("ClusterQueue {} of LocalQueue {} is not there", quota, queue);
  // Volcano makes a queue called default by itself.
  if (!there &&
      ((gang.dialect == Dialect::kVolcano && queue != "default") || gang.dialect == Dialect::kKai))
    return fmt::format("its {} Queue {} is not there",
                       gang.dialect == Dialect::kKai ? "KAI" : "Volcano", queue);
  std::string why;
  UpTheQueues(queue, [&](const std::string& name) {
    const auto held = words_.held.find(name);
    if (held != words_.held.end()) why = held->second;
    return why.empty();
  });
  return why;
}

// What the group's object says counts before what its pods say.
void Core::TakeWishes(const Gang& gang, Job& job) const {
  std::string priority_class;
  for (const std::string& uid : gang.pods) {
    const PodFacts& facts = *pods_.at(uid).facts;
    if (!facts.queue.empty()) job.queue = QueueName(facts.queue_of, facts.queue);
    if (facts.topology != TopologyWish{}) job.topology = facts.topology;
    if (!facts.priority_class.empty()) priority_class = facts.priority_class;
  }
  if (const GroupFacts* group = GroupFactsOf(gang)) {
    if (!group->queue.empty()) job.queue = QueueName(gang.dialect, group->queue);
    if (group->topology != TopologyWish{}) job.topology = group->topology;
    if (!group->priority_class.empty()) priority_class = group->priority_class;
    if (group->priority) job.priority = *group->priority;
    job.preemptible = group->preemptible;
  }
  const auto known = words_.priorities.find(priority_class);
  if (known != words_.priorities.end()) job.priority = known->second;
  for (std::string* level : {&job.topology.required, &job.topology.preferred})
    *level = LevelOfTier(*level, options_.levels);
}

// Pods of one role that differ make several tasks: then the gang's own minimum counts alone.
void Core::TakeRoleMinima(const Gang& gang, const std::vector<const PodFacts*>& like,
                          Job& job) const {
  const GroupFacts* group = GroupFactsOf(gang);
  if (group == nullptr) return;
  for (size_t t = 0; t < like.size(); ++t) {
    const std::string& role = like[t]->role;
    const auto min = group->role_min.find(role);
    const auto tasks = std::count_if(like.begin(), like.end(),
                                     [&](const PodFacts* pod) { return pod->role == role; });
    if (min != group->role_min.end() && tasks == 1)
      job.tasks[t].min = std::min(min->second, job.tasks[t].count);
  }
}

std::string Core::IgnoredOf(const Gang& gang) const {
  std::vector<std::string> all;
  const auto add = [&](const std::string& text) {
    if (!text.empty() && std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
  };
  const GroupFacts* group = GroupFactsOf(gang);
  std::string priority_class = group == nullptr ? "" : group->priority_class;
  if (group != nullptr) {
    for (const std::string& text : group->ignored) add(text);
  }
  for (const std::string& uid : gang.pods) {
    const PodFacts& facts = *pods_.at(uid).facts;
    add(facts.ignored);
    if (priority_class.empty()) priority_class = facts.priority_class;
  }
  if (!priority_class.empty() && words_.priorities.count(priority_class) == 0)
    add(fmt::format("priority class {}, which is not there", priority_class));
  return fmt::format("{}", fmt::join(all, ", "));
}

// HoldAndDrain: what runs through the queue leaves as well.
void Core::EvictDrained(std::vector<Act>& acts) {
  if (!std::exchange(drain_, false)) return;
  for (auto& [name, gang] : gangs_) {
    if (gang.phase != Phase::kPlaced) continue;
    Job job;
    job.queue.clear();
    TakeWishes(gang, job);
    std::string why;
    UpTheQueues(job.queue, [&](const std::string& queue) {
      if (words_.drained.count(queue) != 0) why = words_.held.at(queue);
      return why.empty();
    });
    if (!why.empty()) Evict(gang, why, acts);
  }
}

}  // namespace muster::kubesched
