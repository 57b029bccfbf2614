// Waiting with a promise: a blocked job whose start can be reckoned from the run times of others
// gets it reserved, and nobody who would still run then may take what it needs. A job with a known
// end before that start may use the nodes in between: backfill.
#include <algorithm>
#include <set>
#include <utility>

#include "sched/engine.h"

namespace muster::sched {

namespace {
constexpr size_t kMostReservations = 16;
}

TimeMs Engine::EndIfStartedNow(const Gang& gang) const {
  TimeMs end = -1;
  if (gang.left) end = now_ + *gang.left;
  if (gang.limit && (end < 0 || now_ + *gang.limit < end)) end = now_ + *gang.limit;
  return end;
}

// A job of higher priority that came after the promise was made goes first, if it is known when it
// ends: for only then can the promise be made anew, with the reason. One beyond its max_wait goes
// first whatever it does.
bool Engine::MayPass(const Gang& gang, const Reservation& reservation) const {
  const Gang& holder = gangs_[static_cast<size_t>(reservation.job)];
  if (gang.overdue) return true;
  return gang.priority > holder.priority && gang.waiting_since >= reservation.made_at &&
         EndIfStartedNow(gang) >= 0;
}

// Another job may go first by its max_wait before then; whether it will, nobody knows.
bool Engine::MayBeOvertaken(int job, TimeMs start) {
  for (const auto& [deadline, other] : deadlines_) {
    if (deadline > start) return false;
    if (other != job && !IsHopeless(other)) return true;
  }
  return false;
}

bool Engine::Binds(const Reservation& reservation, int job) const {
  if (reservation.job == job) return false;
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  const bool runs = gang.state == JobState::kRunning;  // and grows
  const TimeMs end = runs ? gang.ends : EndIfStartedNow(gang);
  return (end < 0 || end > reservation.start) && (runs || !MayPass(gang, reservation));
}

// The known and the learned ends of what runs, in order, with the job; until < 0: all of them.
std::vector<std::pair<TimeMs, int>> Engine::EndsUntil(TimeMs until) const {
  std::vector<std::pair<TimeMs, int>> ends;
  for (const Timer& timer : timers_) {
    if (until >= 0 && timer.t > until) break;
    const bool end = timer.kind == TimerKind::kEnd || timer.kind == TimerKind::kExpected;
    if (end) ends.emplace_back(timer.t, timer.job);
  }
  return ends;
}

// Hides from the job what is kept for others; -1 = hides what is kept for anybody.
void Engine::MaskFor(int job) {
  if (reservations_.empty() && blocker_ < 0 && classes_.mask().empty()) return;
  std::set<int> nodes;
  for (const auto& [holder, reservation] : reservations_) {
    if (job < 0 || Binds(reservation, job))
      nodes.insert(reservation.nodes.begin(), reservation.nodes.end());
  }
  AddBlocked(job, nodes);
  classes_.SetMask(cluster_, {nodes.begin(), nodes.end()});
}

// What will be kept for others then.
std::vector<int> Engine::KeptAt(int job, TimeMs at) {
  std::set<int> nodes;
  for (const auto& [holder, reservation] : reservations_) {
    const TimeMs end = EndOf(reservation);
    if (holder != job && (end < 0 || end > at))
      nodes.insert(reservation.nodes.begin(), reservation.nodes.end());
  }
  AddBlocked(-1, nodes);
  return {nodes.begin(), nodes.end()};
}

void Engine::AddBlocked(int job, std::set<int>& nodes) {
  // Behind an overdue job that could not start nobody takes a node that it could use.
  const auto own = reservations_.find(job);
  const bool due = own != reservations_.end() && own->second.start <= now_;
  if (blocker_ >= 0 && blocker_ != job && !due &&
      (job < 0 || !gangs_[static_cast<size_t>(job)].overdue)) {
    for (const GangGroup& group : gangs_[static_cast<size_t>(blocker_)].groups) {
      const ShapeClass& c = classes_.Synced(cluster_, group.shape_class);
      for (int node = 0; node < cluster_.node_count(); ++node) {
        if (c.match[static_cast<size_t>(node)] != 0 && cluster_.present(node)) nodes.insert(node);
      }
    }
  }
}

void Engine::Unmask() {
  if (!classes_.mask().empty()) classes_.SetMask(cluster_, {});
}

// Whether, with the job started in this choice of flavors, every reservation that binds it still
// finds its quota at its start.
bool Engine::LeavesQuota(int job, const Assignment& assignment, const std::vector<int>& counts) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  for (const auto& [holder, reservation] : reservations_) {
    if (!Binds(reservation, job)) continue;
    const Gang& other = gangs_[static_cast<size_t>(holder)];
    if (queues_.Root(other.queue) != queues_.Root(gang.queue)) continue;
    std::vector<int> ended;
    for (const auto& [end, running] : EndsUntil(reservation.start)) {
      if (queues_.Root(gangs_[static_cast<size_t>(running)].queue) == queues_.Root(gang.queue))
        ended.push_back(running);
    }
    for (const int running : ended) ChargeBound(running, -1);
    ChargePromises(holder, job, reservation.start, 1);
    ChargeCounts(gang.queue, assignment, counts, 1);
    const bool fits =
        QuotaFits(other.queue, reservation.assignment, CountsFor(other, LeastRanks(other)));
    ChargeCounts(gang.queue, assignment, counts, -1);
    ChargePromises(holder, job, reservation.start, -1);
    for (const int running : ended) ChargeBound(running, 1);
    if (!fits) return false;
  }
  return true;
}

// When the job that is promised a start ends if it is kept; -1 = not known.
TimeMs Engine::EndOf(const Reservation& reservation) const {
  const TimeMs end = EndIfStartedNow(gangs_[static_cast<size_t>(reservation.job)]);
  return end < 0 ? -1 : reservation.start + (end - now_);
}

void Engine::ChargePromise(const Reservation& reservation, int sign) {
  const Gang& gang = gangs_[static_cast<size_t>(reservation.job)];
  ChargeCounts(gang.queue, reservation.assignment, CountsFor(gang, LeastRanks(gang)), sign);
}

// What all other promises will hold then; at < 0: all that were made.
void Engine::ChargePromises(int but, int and_but, TimeMs at, int sign) {
  for (const auto& [holder, reservation] : reservations_) {
    if (holder == but || holder == and_but) continue;
    const TimeMs end = EndOf(reservation);
    if (at >= 0 && (reservation.start > at || (end >= 0 && end <= at))) continue;
    ChargePromise(reservation, sign);
  }
}

void Engine::ChargeCounts(int queue, const Assignment& assignment, const std::vector<int>& counts,
                          int sign) {
  for (size_t g = 0; g < counts.size(); ++g) {
    for (const Charge& charge : assignment.groups[g].charges) {
      const int64_t amount = charge.amount * counts[g];
      if (amount == 0) continue;
      sign > 0 ? queues_.Charge(queue, charge.item, amount)
               : queues_.Refund(queue, charge.item, amount);
    }
  }
}

void Engine::ChargeBound(int job, int sign) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  const auto trial = trial_gone_.find(job);  // what a trial has refunded already
  for (const GangGroup& group : gang.groups) {
    if (group.charges.empty()) continue;
    int bound = 0;
    for (int rank = 0; rank < group.count; ++rank) {
      const int flat = group.first_rank + rank;
      const bool gone = trial != trial_gone_.end() && trial->second.contains(flat);
      bound += gang.slots[static_cast<size_t>(flat)].node >= 0 && !gone ? 1 : 0;
    }
    for (const Charge& charge : group.charges) {
      if (bound == 0) continue;
      sign > 0 ? queues_.Charge(gang.queue, charge.item, charge.amount * bound)
               : queues_.Refund(gang.queue, charge.item, charge.amount * bound);
    }
  }
}

// Lets the runs with known ends end one after another, until the job fits beside all reservations
// that are there. Leaves the state as it was.
bool Engine::ReckonStart(int job, Reservation& found, TimeMs latest) {
  auto ends = EndsUntil(latest);
  // Promised runs that end make room for what is promised later.
  if (latest < 0) {
    for (const auto& [holder, reservation] : reservations_) {
      if (holder != job && EndOf(reservation) >= 0) ends.emplace_back(EndOf(reservation), ~holder);
    }
    std::stable_sort(ends.begin(), ends.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (ends.empty()) return false;
  }
  const std::vector<int> mask = classes_.mask();
  const size_t mark = cluster_.Mark();
  ChargePromises(job, -1, latest, 1);
  std::vector<std::vector<int>> ranks(ends.size());
  size_t done = 0;
  // Of a promise it is asked whether it fits at all by then.
  bool fits = latest >= 0 && ends.empty() && CouldStart(job, kAnywhere);
  while (done < ends.size() && !fits) {
    const TimeMs t = ends[done].first;
    bool unmasks = false;
    for (; done < ends.size() && ends[done].first == t; ++done) {
      if (ends[done].second < 0) {
        ChargePromise(reservations_.at(~ends[done].second), -1);
        unmasks = true;
        continue;
      }
      const Gang& r = gangs_[static_cast<size_t>(ends[done].second)];
      for (size_t flat = 0; flat < r.slots.size(); ++flat)
        if (r.slots[flat].node >= 0) ranks[done].push_back(static_cast<int>(flat));
      TrialRelease(ends[done].second, ranks[done]);
    }
    if (latest >= 0 && done < ends.size()) continue;
    if (unmasks) classes_.SetMask(cluster_, KeptAt(job, t));
    if (!CouldStart(job, kAnywhere)) continue;
    fits = KeepFor(job, found);
    found.job = job, found.start = t;
  }
  while (done-- > 0) {
    if (ends[done].second < 0) {
      ChargePromise(reservations_.at(~ends[done].second), 1);
    } else {
      TrialTakeBack(ends[done].second, ranks[done]);
    }
  }
  classes_.SetMask(cluster_, mask);
  ChargePromises(job, -1, latest, -1);
  cluster_.Rewind(mark);
  return fits;
}

// The nodes and the flavors that the job would take now.
bool Engine::KeepFor(int job, Reservation& found) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  PendingKind& kind =
      pending_.kinds[static_cast<size_t>(pending_.kind_of[static_cast<size_t>(job)])];
  const auto counts = CountsFor(gang, LeastRanks(gang));
  Placer placer(cluster_, classes_);
  for (const Assignment& assignment : Assignments(kind, job)) {
    if (!QuotaFits(gang.queue, assignment, counts)) continue;
    const PlaceAsk ask = AskFor(gang, assignment, counts);
    std::vector<PlacedRank> placed;
    if (!placer.Place(ask, placed)) continue;
    std::set<int> nodes;
    for (const PlacedRank& rank : placed) nodes.insert(rank.slot.node);
    placer.GiveBack(placed, ask);
    found.nodes.assign(nodes.begin(), nodes.end());
    found.assignment = assignment;
    return true;
  }
  return false;
}

// After a try in vain. Promises are made in order: behind a job whose start nobody knows there are
// none, for it could come at any time.
void Engine::Reserve(int job) {
  if (reservations_.contains(job)) return;
  const PendingKey key = KeyOfJob(job);
  if (!unknown_starts_.empty() && *unknown_starts_.begin() < key) return;
  if (reservations_.size() >= kMostReservations || IsHopeless(job)) return;
  MaskFor(-1);
  Reservation found;
  const bool known = ReckonStart(job, found, -1);
  if (!known || MayBeOvertaken(job, found.start)) {
    unknown_starts_.insert(key);
    return;
  }
  unknown_starts_.erase(key);
  found.made_at = now_;
  SayReserved(found, "a run time that was not known");
  reservations_.emplace(job, std::move(found));
}

void Engine::SayReserved(const Reservation& reservation, const std::string& why) {
  ReserveDecision say;
  say.job = gangs_[static_cast<size_t>(reservation.job)].name;
  say.start = reservation.start;
  for (const int node : reservation.nodes) say.nodes.push_back(cluster_.NodeName(node));
  TimeMs& promised = gangs_[static_cast<size_t>(reservation.job)].promised;
  if (promised >= 0 && reservation.start > promised) say.why = why;
  promised = reservation.start;
  timers_.insert({reservation.start, TimerKind::kReservation, reservation.job, 0});
  Emit(std::move(say));
}

// The job starts, ends or leaves: what was kept for it is free for all.
void Engine::DropReservation(int job) {
  unknown_starts_.erase(KeyOfJob(job));
  if (blocker_ == job) {
    blocker_ = -1, dirty_ = true;
    for (const int kind : pending_.active)
      pending_.kinds[static_cast<size_t>(kind)].blocked = false;
  }
  const auto found = reservations_.find(job);
  if (found == reservations_.end()) return;
  for (const int node : found->second.nodes) Gained(node);
  ++pending_.refunds[static_cast<size_t>(queues_.Root(gangs_[static_cast<size_t>(job)].queue))];
  reservations_.erase(found);
}

// Whether the job still finds its nodes and its quota at its promised start.
bool Engine::StillHolds(const Reservation& reservation) {
  if (reservation.start < now_) return false;
  Reservation found;
  std::vector<int> others;
  for (int node = 0; node < cluster_.node_count(); ++node) {
    if (!std::binary_search(reservation.nodes.begin(), reservation.nodes.end(), node))
      others.push_back(node);
  }
  classes_.SetMask(cluster_, std::move(others));
  return ReckonStart(reservation.job, found, reservation.start);
}

// After something that may have moved promised starts: those that still hold stay; the others are
// reckoned again, in order. A later one is said with its reason; one that cannot be reckoned any
// more is taken back, which is said too.
void Engine::CheckReservations() {
  if (disturbed_.empty() || reservations_.empty()) {
    disturbed_.clear();
    return;
  }
  std::map<PendingKey, Reservation> broken;
  for (auto& [job, reservation] : reservations_) {
    if (!StillHolds(reservation)) broken.emplace(KeyOfJob(job), reservation);
  }
  for (const auto& [key, old] : broken) {
    reservations_.erase(key.job);
    for (const int node : old.nodes) Gained(node);
    ++pending_
          .refunds[static_cast<size_t>(queues_.Root(gangs_[static_cast<size_t>(key.job)].queue))];
  }
  // What was promised is promised anew even behind an overdue job: it may start when its time
  // comes.
  const int blocker = std::exchange(blocker_, -1);
  for (const auto& [key, old] : broken) {
    MaskFor(-1);
    Reservation found;
    if (!ReckonStart(key.job, found, -1)) {
      unknown_starts_.insert(key);
      gangs_[static_cast<size_t>(key.job)].promised = -1;
      to_explain_.push_back(key.job);  // in a strict queue it waits its turn again
      Emit(ReserveDecision{gangs_[static_cast<size_t>(key.job)].name, -1, {}, disturbed_});
      continue;
    }
    found.made_at = now_;
    if (found.start != old.start) SayReserved(found, disturbed_);
    reservations_.emplace(key.job, std::move(found));
  }
  blocker_ = blocker;
  disturbed_.clear();
}

}  // namespace muster::sched
