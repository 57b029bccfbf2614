// The smallest change that would start a waiting job, found by trying it on the state itself and
// taking it back: what is proposed has been seen to work, with the jobs ahead served first.
#include <algorithm>
#include <set>

#include "sched/engine.h"
#include "sched/eviction.h"

namespace muster::sched {

namespace {
constexpr size_t kMostAhead = 32;     // kinds in front that are served first in a trial
constexpr size_t kMostCancelled = 8;  // running jobs that are tried
constexpr int kSmallNodes = 256;      // up to here a proposal is carried out on a copy
constexpr size_t kSmallJobs = 1000;
constexpr int kTinyNodes = 64;  // up to here a dozen copies are made for one proposal
constexpr size_t kTinyJobs = 200;
constexpr size_t kMostNodes = 64;  // nodes that are tried
}  // namespace

// With the change made: the jobs ahead that could start now do, then this one must still fit. The
// state is left as it was.
bool Engine::StartsAfterThoseAhead(int job) {
  if (!CouldStart(job, kAnywhere, true)) return false;
  const PendingKey key = KeyOfJob(job);
  std::vector<std::pair<PendingKey, int>> ahead;
  for (const int kind : pending_.active) {
    const PendingKey& head = *pending_.kinds[static_cast<size_t>(kind)].jobs.begin();
    if (head < key) ahead.emplace_back(head, kind);
  }
  if (ahead.size() > kMostAhead) return false;  // not proven
  std::sort(ahead.begin(), ahead.end());
  struct Started {
    int job;
    Assignment assignment;
    std::vector<int> counts;
    PlaceAsk ask;
    std::vector<PlacedRank> placed;
  };
  std::vector<Started> started;
  const size_t mark = cluster_.Mark();
  Placer placer(cluster_, classes_);
  bool proven = true;
  for (const auto& [head, kind_id] : ahead) {
    for (const PendingKey& other : pending_.kinds[static_cast<size_t>(kind_id)].jobs) {
      if (!(other < key) || !proven || !CouldStart(other.job, kAnywhere)) break;
      if (MayEvict(other.job)) proven = false;  // it would do more than take free room
      const Gang& gang = gangs_[static_cast<size_t>(other.job)];
      PendingKind& kind = pending_.kinds[static_cast<size_t>(kind_id)];
      for (const Assignment& assignment : Assignments(kind, other.job)) {
        Started s{other.job, assignment, CountsFor(gang, MostRanks(gang)), {}, {}};
        s.ask = AskFor(gang, assignment, s.counts);
        if (!QuotaFits(gang.queue, assignment, s.counts) || !placer.Place(s.ask, s.placed)) {
          if (MostRanks(gang) != LeastRanks(gang)) proven = false;
          continue;
        }
        ChargeCounts(gang.queue, assignment, s.counts, 1);
        started.push_back(std::move(s));
        break;
      }
    }
  }
  const bool starts = proven && CouldStart(job, kAnywhere, true);
  for (size_t i = started.size(); i-- > 0;) {
    const Started& s = started[i];
    ChargeCounts(gangs_[static_cast<size_t>(s.job)].queue, s.assignment, s.counts, -1);
    placer.GiveBack(s.placed, s.ask);
  }
  cluster_.Rewind(mark);
  return starts;
}

bool Engine::CanBeCopied() const {
  return cluster_.node_count() <= kSmallNodes && gangs_.size() <= kSmallJobs;
}

// Where the cluster is small enough to be copied, the proposal is carried out on a copy.
bool Engine::HelpsInAFork(int job, const std::vector<Event>& change) const {
  if (!CanBeCopied()) return true;
  Engine fork = Fork();
  std::vector<Decision> ignored;
  for (Event event : change) {
    event.t = now_;
    if (!fork.Take(event, ignored).ok()) return false;
  }
  fork.Settle(ignored);
  const Gang* gang = fork.FindJob(gangs_[static_cast<size_t>(job)].name);
  return gang->state == JobState::kRunning;
}

std::vector<Event> Engine::WouldStartIf(int job, const std::vector<Because>& because) {
  MaskFor(job);
  auto change = FindChange(job, because);
  Unmask();
  if (!change.empty() && !HelpsInAFork(job, change)) change.clear();
  const bool tiny = cluster_.node_count() <= kTinyNodes && gangs_.size() <= kTinyJobs;
  if (!change.empty() || !tiny) return change;
  const auto has = [&](const char* code) {
    return std::any_of(because.begin(), because.end(),
                       [&](const Because& b) { return b.code == code; });
  };
  if (has("TAINT")) change = TryTolerating(job);
  if (change.empty() && has("SELECTOR")) change = TrySelecting(job);
  if (change.empty() && (has("GANG") || has("TOPOLOGY") || has("HEALTH")))
    change = TryNewNodes(job);
  return change;
}

std::vector<Event> Engine::FindChange(int job, const std::vector<Because>& because) {
  const auto has = [&](const char* code) {
    return std::any_of(because.begin(), because.end(),
                       [&](const Because& b) { return b.code == code; });
  };
  if (has("ORDER")) return {};
  std::vector<Event> change;
  if (queues_.any()) change = TryMoreQuota(job);
  if (change.empty() && has("HEALTH")) change = TryMoreNodes(job);
  if (change.empty() && !has("SELECTOR") && !has("TAINT") && !has("SHAPE"))
    change = TryCancelling(job);
  if (change.empty() && (has("GANG") || has("TOPOLOGY"))) change = TryMoreNodes(job);
  return change;
}

std::vector<Event> Engine::TryMoreQuota(int job) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  PendingKind& kind =
      pending_.kinds[static_cast<size_t>(pending_.kind_of[static_cast<size_t>(job)])];
  const auto counts = CountsFor(gang, LeastRanks(gang));
  for (const Assignment& assignment : Assignments(kind, job)) {
    std::map<int, int64_t> raised;  // item -> nominal before
    std::map<int, int64_t> asked;
    for (size_t g = 0; g < counts.size(); ++g) {
      for (const Charge& charge : assignment.groups[g].charges)
        asked[charge.item] += charge.amount * counts[g];
    }
    for (const auto& [item, amount] : asked) {
      const int64_t lacking = amount - queues_.Available(gang.queue, item);
      if (queues_.Admits(gang.queue, item, amount)) continue;
      raised[item] = queues_.Nominal(gang.queue, item);
      queues_.TrialNominal(gang.queue, item, raised[item] + lacking);
    }
    const bool starts = !raised.empty() && StartsAfterThoseAhead(job);
    std::vector<Event> change;
    for (const auto& [item, before] : raised) {
      QuotaChange quota;
      quota.queue = queues_.Name(gang.queue);
      quota.flavor = queues_.Item(item).flavor, quota.resource = queues_.Item(item).resource;
      quota.nominal = queues_.Nominal(gang.queue, item);
      change.push_back({now_, quota});
    }
    for (const auto& [item, before] : raised) queues_.TrialNominal(gang.queue, item, before);
    if (starts) return change;
  }
  return {};
}

// Nodes that are there and not usable, brought back: the fewest found.
std::vector<Event> Engine::TryMoreNodes(int job) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  std::vector<int> out;
  for (int node = 0; node < cluster_.node_count() && out.size() < kMostNodes; ++node) {
    if (!cluster_.present(node) || cluster_.usable(node)) continue;
    for (const GangGroup& group : gang.groups) {
      if (Matches(cluster_.Spec(node), group.select) &&
          Untolerated(cluster_.Spec(node), group.tolerate) == nullptr &&
          cluster_.FitEmpty(group.shape, node) > 0) {
        out.push_back(node);
        break;
      }
    }
  }
  std::vector<int> back;
  bool starts = false;
  for (const int node : out) {
    cluster_.TrialUsable(node, true);
    back.push_back(node);
    if ((starts = CouldStart(job, kAnywhere))) break;
  }
  for (size_t i = 0; starts && i < back.size();) {
    cluster_.TrialUsable(back[i], false);
    if (CouldStart(job, kAnywhere)) {
      back.erase(back.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      cluster_.TrialUsable(back[i++], true);
    }
  }
  starts = starts && StartsAfterThoseAhead(job);
  for (const int node : back) cluster_.TrialUsable(node, false);
  if (!starts) return {};
  std::vector<Event> change;
  for (const int node : back) {
    const std::string& name = cluster_.NodeName(node);
    if (cluster_.health(node) != Health::kAccepted)
      change.push_back({now_, NodeHealth{name, Health::kAccepted}});
    if (cluster_.cordoned(node) ||
        (cluster_.failed(node) && cluster_.health(node) == Health::kAccepted))
      change.push_back({now_, NodeChange{name, NodeVerb::kUncordon}});
  }
  return change;
}

// One running job less: the smallest that is enough.
std::vector<Event> Engine::TryCancelling(int job) {
  // Enough to free what is missing: those that hold least of that, first.
  std::vector<int> order;
  for (auto at = running_by_size_.lower_bound({MissingRanks(job), -1});
       at != running_by_size_.end() && order.size() < kMostCancelled; ++at)
    order.push_back(at->second);
  for (const int running : order) {
    const Gang& gang = gangs_[static_cast<size_t>(running)];
    std::vector<int> ranks;
    for (size_t flat = 0; flat < gang.slots.size(); ++flat)
      if (gang.slots[flat].node >= 0) ranks.push_back(static_cast<int>(flat));
    const size_t mark = cluster_.Mark();
    TrialRelease(running, ranks);
    const bool starts = StartsAfterThoseAhead(job);
    TrialTakeBack(running, ranks);
    cluster_.Rewind(mark);
    if (starts) return {{now_, JobEnd{gang.name, JobVerb::kCancel}}};
  }
  return {};
}

// A lower bound of the ranks that others must give up: one of theirs makes room for at most as many
// as fit on a node.
int Engine::MissingRanks(int job) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  const auto counts = CountsFor(gang, LeastRanks(gang));
  int missing = 1;
  Placer placer(cluster_, classes_);
  for (size_t g = 0; g < counts.size(); ++g) {
    const int64_t lacking = counts[g] - placer.Total(gang.groups[g].shape_class);
    const ClassStanding& s = StandingOf(gang.groups[g].shape_class);
    const int64_t each = s.able > 0 ? std::max<int64_t>(1, s.most) : 1;
    missing = std::max<int>(missing, static_cast<int>((lacking + each - 1) / each));
  }
  return missing;
}

}  // namespace muster::sched
