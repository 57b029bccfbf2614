// What a job holds and its life: bound, released, finished, requeued.
#include <algorithm>
#include <bit>

#include "sched/engine.h"

namespace muster::sched {

int Engine::GroupOf(const Gang& gang, int flat_rank) const {
  int group = 0;
  while (group + 1 < static_cast<int>(gang.groups.size()) &&
         gang.groups[static_cast<size_t>(group) + 1].first_rank <= flat_rank)
    ++group;
  return group;
}

void Engine::Gained(int node) {
  pending_.gains.push_back(node);
  gave_back_ = true;
  dirty_ = true;
}

// The slot was taken in the cluster before.
void Engine::Hold(int job, int flat_rank, const Slot& slot) {
  Gang& gang = gangs_[static_cast<size_t>(job)];
  gang.slots[static_cast<size_t>(flat_rank)] = slot;
  ++gang.bound;
  Resized(job, gang.bound - 1);
  on_node_[static_cast<size_t>(slot.node)].push_back({job, flat_rank});
  const GangGroup& group = gang.groups[static_cast<size_t>(GroupOf(gang, flat_rank))];
  for (const Charge& charge : group.charges) queues_.Charge(gang.queue, charge.item, charge.amount);
  if (!group.charges.empty()) ++pending_.charges[static_cast<size_t>(queues_.Root(gang.queue))];
}

void Engine::Release(int job, int flat_rank) {
  Gang& gang = gangs_[static_cast<size_t>(job)];
  Slot& slot = gang.slots[static_cast<size_t>(flat_rank)];
  const GangGroup& group = gang.groups[static_cast<size_t>(GroupOf(gang, flat_rank))];
  cluster_.Give(group.shape, slot);
  cluster_.Forget(slot);
  auto& here = on_node_[static_cast<size_t>(slot.node)];
  const auto at = std::find(here.rbegin(), here.rend(), std::pair{job, flat_rank});
  *at = here.back();
  here.pop_back();
  Gained(slot.node);
  for (const Charge& charge : group.charges) queues_.Refund(gang.queue, charge.item, charge.amount);
  if (!group.charges.empty()) ++pending_.refunds[static_cast<size_t>(queues_.Root(gang.queue))];
  slot = Slot{};
  --gang.bound;
  Resized(job, gang.bound + 1);
}

void Engine::Resized(int job, int bound_before) {
  if (running_by_size_.erase({bound_before, job}) > 0)
    running_by_size_.insert({gangs_[static_cast<size_t>(job)].bound, job});
}

void Engine::ReleaseAll(int job) {
  for (size_t rank = 0; rank < gangs_[static_cast<size_t>(job)].slots.size(); ++rank) {
    if (gangs_[static_cast<size_t>(job)].slots[rank].node >= 0)
      Release(job, static_cast<int>(rank));
  }
}

void Engine::StartClock(int job) {
  Gang& gang = gangs_[static_cast<size_t>(job)];
  gang.run_began = now_;
  gang.ends = -1;
  if (gang.left) gang.ends = now_ + *gang.left;
  if (gang.limit && (gang.ends < 0 || gang.bound_at + *gang.limit < gang.ends))
    gang.ends = gang.bound_at + *gang.limit;
  ++gang.generation;
  if (gang.ends >= 0) timers_.insert({gang.ends, TimerKind::kEnd, job, gang.generation});
  ExpectEnd(job);
}

void Engine::StopClock(int job) {
  Gang& gang = gangs_[static_cast<size_t>(job)];
  if (gang.ends >= 0) timers_.erase({gang.ends, TimerKind::kEnd, job, gang.generation});
  ForgetEnd(job);
  ++gang.generation;
  gang.ends = -1;
  if (gang.left && gang.checkpoint_every) {
    const int64_t every = *gang.checkpoint_every;
    *gang.left = std::max<int64_t>(0, *gang.left - (now_ - gang.run_began) / every * every);
  }
}

void Engine::FinishJob(int job, const char* why) {
  Gang& gang = gangs_[static_cast<size_t>(job)];
  StopClock(job);
  if (std::string_view(why) == "DONE") LearnRun(gang);
  running_by_size_.erase({gang.bound, job});
  ReleaseAll(job);
  gang.state = JobState::kFinished;
  --running_count_;
  growable_.erase(job);
  running_.erase(job);
  Emit(FinishDecision{gang.name, why});
  dirty_ = true;
}

// A running job loses all it holds and waits again, in its old place in the order.
void Engine::Requeue(int job) {
  StopClock(job);
  running_by_size_.erase({gangs_[static_cast<size_t>(job)].bound, job});
  ReleaseAll(job);
  gangs_[static_cast<size_t>(job)].state = JobState::kPending;
  growable_.erase(job);
  running_.erase(job);
  --running_count_, ++pending_count_;
  AddPending(job);
  said_[static_cast<size_t>(job)] = nullptr;
  to_explain_.push_back(job);
}

void Engine::EmitAdmit(int job) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  AdmitDecision admit;
  admit.job = gang.name;
  for (const GangGroup& group : gang.groups) {
    for (const Charge& charge : group.charges) {
      const QuotaItem& item = queues_.Item(charge.item);
      admit.flavors[group.name][item.resource] = item.flavor;
    }
  }
  if (!admit.flavors.empty()) Emit(std::move(admit));
}

void Engine::EmitBind(int job, int flat_rank) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  const GangGroup& group = gang.groups[static_cast<size_t>(GroupOf(gang, flat_rank))];
  const Slot& slot = gang.slots[static_cast<size_t>(flat_rank)];
  BindDecision bind;
  bind.job = gang.name, bind.task = group.name, bind.rank = flat_rank - group.first_rank;
  bind.node = cluster_.NodeName(slot.node);
  const auto ids = [](uint64_t mask) {
    std::vector<int> list;
    for (; mask != 0; mask &= mask - 1) list.push_back(std::countr_zero(mask));
    return list;
  };
  for (size_t k = 0; k < group.shape.devices.size(); ++k)
    bind.devices.emplace_back(cluster_.resources()[group.shape.devices[k].resource],
                              ids(slot.devices[k]));
  if (slot.milli_device >= 0)
    bind.devices.emplace_back(cluster_.resources()[cluster_.gpu_resource(slot.node)],
                              std::vector<int>{slot.milli_device});
  std::sort(bind.devices.begin(), bind.devices.end());
  bind.numa = cluster_.ZonesOf(group.shape, slot);
  Emit(std::move(bind));
}

}  // namespace muster::sched
