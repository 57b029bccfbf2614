// What runs already when a scheduler begins, and ranks that end one by one: the events of a live
// cluster, where the pods are the truth and not our decisions.
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "sched/engine.h"

namespace muster::sched {

// Seats as flat ranks and nodes; every one of them can be.
Result<std::vector<std::pair<int, int>>> Engine::SeatsOf(const JobAdopt& adopt, int job) const {
  std::vector<std::pair<int, int>> seats;
  for (const JobAdopt::Seat& seat : adopt.seats) {
    TRY(const int node, NodeNamed(seat.node));
    TRY(const int flat, FlatRank(job, seat.task, seat.rank));
    seats.emplace_back(flat, node);
  }
  std::sort(seats.begin(), seats.end());
  for (size_t i = 1; i < seats.size(); ++i) {
    if (seats[i].first == seats[i - 1].first)
      return Fail(Code::kInvalid,
                  fmt::format("job {}: a rank sits on two nodes", Printable(adopt.job.name)));
  }
  return seats;
}

// The flavors that it was most likely admitted with: the first choice whose labels every node of it
// carries, else the first.
const Assignment& Engine::AssignmentOf(int job, const std::vector<std::pair<int, int>>& seats) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  PendingKind& kind = pending_.kinds[static_cast<size_t>(KindFor(job))];
  const auto& all = Assignments(kind, job);
  const auto matches = [&](const Assignment& assignment) {
    return std::all_of(seats.begin(), seats.end(), [&](const auto& seat) {
      const size_t group = static_cast<size_t>(GroupOf(gang, seat.first));
      return Matches(cluster_.Spec(seat.second),
                     classes_[assignment.groups[group].run_class].select);
    });
  };
  const auto found = std::find_if(all.begin(), all.end(), matches);
  return found == all.end() ? all.front() : *found;
}

Status Engine::Apply(const JobAdopt& adopt) {
  if (adopt.seats.empty())
    return Fail(Code::kInvalid, fmt::format("job {} sits nowhere", Printable(adopt.job.name)));
  TRY(const int job, NewGang(adopt.job));
  Gang& gang = gangs_[static_cast<size_t>(job)];
  gang.state = JobState::kFinished;  // until all of it is known to be right
  TRY(const auto seats, SeatsOf(adopt, job));
  if (pending_.kind_of.size() <= static_cast<size_t>(job))
    pending_.kind_of.resize(static_cast<size_t>(job) + 1, -1);
  const Assignment assignment = AssignmentOf(job, seats);
  std::vector<Slot> taken;
  for (const auto& [flat, node] : seats) {
    const Shape& shape = gang.groups[static_cast<size_t>(GroupOf(gang, flat))].shape;
    Slot slot;
    if (cluster_.Take(shape, node, slot)) {
      taken.push_back(slot);
      continue;
    }
    for (size_t i = 0; i < taken.size(); ++i) {
      cluster_.Give(gang.groups[static_cast<size_t>(GroupOf(gang, seats[i].first))].shape,
                    taken[i]);
      cluster_.Forget(taken[i]);
    }
    return Fail(Code::kInvalid,
                fmt::format("job {}: what it holds does not fit node {} as its kubelet counts",
                            Printable(gang.name), Printable(cluster_.NodeName(node))));
  }
  for (size_t g = 0; g < gang.groups.size(); ++g) {
    gang.groups[g].charges = assignment.groups[g].charges;
    gang.groups[g].run_class = assignment.groups[g].run_class;
  }
  gang.state = JobState::kRunning;
  gang.first_started = gang.bound_at = now_;
  running_.insert(job);
  ++running_count_;
  for (Slot& slot : gang.slots) slot.node = kEndedRank;
  for (size_t i = 0; i < seats.size(); ++i) Hold(job, seats[i].first, taken[i]);
  running_by_size_.insert({gang.bound, job});
  StartClock(job);
  disturbed_ = "a job that runs already";
  return {};
}

Status Engine::Apply(const TaskEnd& end) {
  TRY(const int job, ActiveJob(end.name));
  TRY(const int flat, FlatRank(job, end.task, end.rank));
  Gang& gang = gangs_[static_cast<size_t>(job)];
  if (gang.state != JobState::kRunning) return {};
  Slot& slot = gang.slots[static_cast<size_t>(flat)];
  if (slot.node >= 0) Release(job, flat);
  slot.node = kEndedRank;
  if (gang.bound == 0) FinishJob(job, "DONE");
  dirty_ = true;
  return {};
}

Status Engine::Apply(const TaskAgain& again) {
  TRY(const int job, ActiveJob(again.name));
  TRY(const int flat, FlatRank(job, again.task, again.rank));
  Gang& gang = gangs_[static_cast<size_t>(job)];
  Slot& slot = gang.slots[static_cast<size_t>(flat)];
  if (gang.state != JobState::kRunning || slot.node != kEndedRank) return {};
  const auto beside = std::find_if(gang.slots.begin(), gang.slots.end(),
                                   [](const Slot& other) { return other.node >= 0; });
  slot.node = -1;
  // With all the others lost at this very t, their repair has the word.
  if (beside != gang.slots.end()) lost_ranks_.push_back({job, flat, beside->node});
  dirty_ = true;
  return {};
}

}  // namespace muster::sched
