// One round of decisions: every kind of job that something could have helped is tried once, in
// order; a job starts whole or not at all.
#include <algorithm>

#include "sched/amount.h"
#include "sched/engine.h"

namespace muster::sched {

namespace {
// Evictions free room for others, who are then tried again; a chain of them ends by itself, for
// each evicts only who is below it. This is the guard against a mistake in that.
constexpr int kMostRounds = 100;
}  // namespace

int Engine::LeastRanks(const Gang& gang) const {
  int least = 0;
  for (const GangGroup& group : gang.groups) least += group.min;
  return std::max(least, gang.elastic_min);
}
int Engine::MostRanks(const Gang& gang) const {
  int most = 0;
  for (const GangGroup& group : gang.groups) most += group.count;
  return gang.elastic_max > 0 ? std::min(most, gang.elastic_max) : most;
}

// `ranks` in all: the minimum of each group, then more in the order of the groups.
std::vector<int> Engine::CountsFor(const Gang& gang, int ranks) const {
  std::vector<int> counts;
  for (const GangGroup& group : gang.groups) counts.push_back(group.min), ranks -= group.min;
  for (size_t g = 0; g < counts.size() && ranks > 0; ++g) {
    const int more = std::min(ranks, gang.groups[g].count - counts[g]);
    counts[g] += more, ranks -= more;
  }
  return counts;
}

PlaceAsk Engine::AskFor(const Gang& gang, const Assignment& assignment,
                        const std::vector<int>& counts) const {
  PlaceAsk ask;
  ask.topology = gang.topology;
  for (size_t g = 0; g < counts.size(); ++g)
    ask.groups.push_back({static_cast<int>(g), assignment.groups[g].run_class, counts[g]});
  return ask;
}

std::map<int, int64_t> Asked(const Assignment& assignment, const std::vector<int>& counts) {
  std::map<int, int64_t> asked;
  for (size_t g = 0; g < counts.size(); ++g) {
    for (const Charge& charge : assignment.groups[g].charges)
      asked[charge.item] += charge.amount * counts[g];
  }
  return asked;
}

bool Engine::WouldBorrow(int queue, const Assignment& assignment,
                         const std::vector<int>& counts) const {
  const auto asked = Asked(assignment, counts);
  return std::any_of(asked.begin(), asked.end(), [&](const auto& entry) {
    return queues_.Usage(queue, entry.first) + entry.second > queues_.Subtree(queue, entry.first);
  });
}

bool Engine::QuotaFits(int queue, const Assignment& assignment,
                       const std::vector<int>& counts) const {
  const auto asked = Asked(assignment, counts);
  return std::all_of(asked.begin(), asked.end(), [&](const auto& entry) {
    return queues_.Admits(queue, entry.first, entry.second);
  });
}

// Every choice of flavors, in the order in which the chain of queues lists them. All charged
// resources of a task take the same flavor where one is listed for all of them.
const std::vector<Assignment>& Engine::Assignments(PendingKind& kind, int job) {
  if (kind.assignments_version == queues_.version()) return kind.assignments;
  constexpr size_t kMost = 64;
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  std::vector<Assignment> all(1);
  for (const GangGroup& group : gang.groups) {
    std::vector<Assignment::Group> choices(1);
    std::vector<LabelPairs> labels(1, group.select);
    for (const auto& [resource, amount] : cluster_.FromShape(group.shape)) {
      const auto items =
          queues_.any() ? queues_.ItemsFor(gang.queue, resource) : std::vector<int>();
      if (items.empty()) continue;
      std::vector<Assignment::Group> more;
      std::vector<LabelPairs> more_labels;
      for (size_t i = 0; i < choices.size(); ++i) {
        for (const int item : items) {
          LabelPairs merged = labels[i];
          if (!MergeFlavor(queues_.FlavorOf(item), merged) || more.size() >= kMost) continue;
          more.push_back(choices[i]);
          more.back().charges.push_back({item, amount});
          more_labels.push_back(std::move(merged));
        }
      }
      choices = std::move(more), labels = std::move(more_labels);
    }
    const auto flavors = [&](const Assignment::Group& g) {
      std::set<std::string> names;
      for (const Charge& charge : g.charges) names.insert(queues_.Item(charge.item).flavor);
      return names.size();
    };
    std::vector<size_t> order(choices.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return flavors(choices[a]) < flavors(choices[b]); });
    std::vector<Assignment> longer;
    for (const Assignment& before : all) {
      for (const size_t i : order) {
        if (longer.size() >= kMost) break;
        longer.push_back(before);
        longer.back().groups.push_back(choices[i]);
        longer.back().groups.back().run_class =
            classes_.IdOf(group.shape, labels[i], group.tolerate);
        longer.back().groups.back().calm_class =
            classes_.IdOf(group.shape, labels[i], group.tolerate, true);
      }
    }
    all = std::move(longer);
  }
  kind.assignments = std::move(all);
  kind.assignments_version = queues_.version();
  return kind.assignments;
}

bool Engine::MergeFlavor(const Flavor* flavor, LabelPairs& labels) {
  if (flavor == nullptr) return true;  // nobody described it: any node will do
  for (const auto& [key, value] : flavor->labels) {
    const auto at = std::find_if(labels.begin(), labels.end(),
                                 [&](const auto& label) { return label.first == key; });
    if (at == labels.end()) {
      labels.emplace_back(key, value);
    } else if (at->second != value) {
      return false;
    }
  }
  std::sort(labels.begin(), labels.end());
  return true;
}

void Engine::Commit(int job, const Assignment& assignment, const std::vector<PlacedRank>& placed) {
  DropPending(job);
  Gang& gang = gangs_[static_cast<size_t>(job)];
  for (size_t g = 0; g < gang.groups.size(); ++g) {
    gang.groups[g].charges = assignment.groups[g].charges;
    gang.groups[g].run_class = assignment.groups[g].run_class;
  }
  gang.state = JobState::kRunning;
  running_.insert(job);
  --pending_count_, ++running_count_;
  if (gang.first_started < 0) gang.first_started = now_;
  gang.overdue = false;
  gang.promised = -1;
  EmitAdmit(job);
  for (const PlacedRank& rank : placed) {
    const int flat = gang.groups[static_cast<size_t>(rank.group)].first_rank + rank.rank;
    Hold(job, flat, rank.slot);
    EmitBind(job, flat);
  }
  running_by_size_.insert({gang.bound, job});
  gang.bound_at = now_;
  StartClock(job);
  if (gang.bound < MostRanks(gang)) growable_.insert(job);
  said_[static_cast<size_t>(job)] = nullptr;
}

bool Engine::StartWith(int job, const Assignment& assignment, const std::vector<int>& counts) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  if (!QuotaFits(gang.queue, assignment, counts) || !LeavesQuota(job, assignment, counts))
    return false;
  std::vector<PlacedRank> placed;
  Placer placer(cluster_, classes_);
  PlaceAsk ask = AskFor(gang, assignment, counts);
  bool found = false;
  if (cluster_.prefers()) {
    for (GroupAsk& group : ask.groups)
      group.shape_class = assignment.groups[static_cast<size_t>(group.group)].calm_class;
    found = placer.Place(ask, placed);
  }
  if (!found && !placer.Place(AskFor(gang, assignment, counts), placed)) return false;
  Commit(job, assignment, placed);
  return true;
}

bool Engine::TryStart(int job) {
  PendingKind& kind =
      pending_.kinds[static_cast<size_t>(pending_.kind_of[static_cast<size_t>(job)])];
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  const int most = MostRanks(gang), least = LeastRanks(gang);
  const auto& assignments = Assignments(kind, job);
  const auto all = CountsFor(gang, most);
  if (queues_.Spec(gang.queue).borrows_last) {
    for (const Assignment& assignment : assignments) {
      if (!WouldBorrow(gang.queue, assignment, all) && StartWith(job, assignment, all)) return true;
    }
  }
  for (const Assignment& assignment : assignments) {
    if (StartWith(job, assignment, all)) return true;
  }
  if (least >= most) return false;
  for (const Assignment& assignment : assignments) {
    const auto fits = [&](int ranks) {
      const auto counts = CountsFor(gang, ranks);
      return QuotaFits(gang.queue, assignment, counts) && LeavesQuota(job, assignment, counts) &&
             Placer(cluster_, classes_).Fits(AskFor(gang, assignment, counts));
    };
    if (!fits(least)) continue;
    int low = least, high = most;  // low fits, high does not
    while (high - low > 1) {
      const int middle = low + (high - low) / 2;
      (fits(middle) ? low : high) = middle;
    }
    if (StartWith(job, assignment, CountsFor(gang, low))) return true;
  }
  return false;
}

// What can be evicted for the first choice of flavors goes before the second is looked at. The kind
// knows one choice at a time meanwhile. Kinds may move in memory: they are named by number.
bool Engine::StartFlavorByFlavor(int job) {
  const size_t k = static_cast<size_t>(pending_.kind_of[static_cast<size_t>(job)]);
  const std::vector<Assignment> all = Assignments(pending_.kinds[k], job);
  const auto counts =
      CountsFor(gangs_[static_cast<size_t>(job)], MostRanks(gangs_[static_cast<size_t>(job)]));
  const int queue = gangs_[static_cast<size_t>(job)].queue;
  std::vector<Assignment> later;
  bool started = false;
  for (const Assignment& assignment : all) {
    if (queues_.Spec(queue).borrows_last && WouldBorrow(queue, assignment, counts)) {
      later.push_back(assignment);
      continue;
    }
    pending_.kinds[k].assignments = {assignment};
    started = TryStart(job) || TryEvict(job);
    if (started) break;
  }
  if (!started && !later.empty()) {
    pending_.kinds[k].assignments = later;
    started = TryStart(job) || TryEvict(job);
  }
  pending_.kinds[k].assignments = all;
  return started;
}

// Starts the job now if it can be: in room that is free and not kept for others, else by eviction.
bool Engine::Start(int job) {
  MaskFor(job);
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  bool passes = false;
  for (const auto& [holder, reservation] : reservations_)
    passes = passes || (holder != job && MayPass(gang, reservation));
  const bool in_turn = queues_.Spec(gang.queue).evicts_first;
  if (in_turn ? !StartFlavorByFlavor(job) : !TryStart(job) && !TryEvict(job)) return false;
  if (passes) disturbed_ = "a higher-priority job";
  return true;
}

// Tries every kind that may start now, in order; true when something was given back meanwhile that
// could help others.
bool Engine::Round(std::set<int>& failed) {
  gave_back_ = false;
  Unmask();
  WakeKinds();
  for (int kind_id = PickNext(); kind_id >= 0; WakeFresh(), kind_id = PickNext()) {
    const size_t k = static_cast<size_t>(kind_id);
    if (pending_.kinds[k].jobs.empty()) continue;
    const int job = ToTry(pending_.kinds[k]);
    if (WaitsItsTurn(job)) continue;
    if (RejectIfNeverFits(job) || Start(job)) {
      failed.erase(kind_id);
      if (!pending_.kinds[k].jobs.empty()) pending_.fresh.push_back(kind_id);
      continue;
    }
    if (gangs_[static_cast<size_t>(job)].overdue && blocker_ < 0 && !IsHopeless(job))
      blocker_ = job;
    Reserve(job);
    PendingKind& kind = pending_.kinds[k];  // not before: a try may add kinds
    const size_t root = static_cast<size_t>(queues_.Root(kind.queue));
    kind.blocked = true;
    kind.gains_seen = pending_.gains_end();
    kind.refunds_seen = pending_.refunds[root];
    kind.charges_seen = pending_.charges[root];
    kind.quota_seen = queues_.version();
    kind.standing_seen = cluster_.standing_version();
    failed.insert(kind_id);
  }
  CheckReservations();
  return gave_back_;
}

void Engine::Decide() {
  if (!dirty_) return;
  RepairAll();
  CheckReservations();
  std::set<int> failed;  // kinds that were tried in vain
  for (int rounds = 0; Round(failed) && rounds < kMostRounds; ++rounds) {
  }
  MaskFor(-1);
  Grow();
  Unmask();
  for (const int kind : failed) {
    for (const PendingKey& key : pending_.kinds[static_cast<size_t>(kind)].jobs)
      to_explain_.push_back(key.job);
  }
  SayPending();
  pending_.TrimGains();
  dirty_ = false;
}

}  // namespace muster::sched
