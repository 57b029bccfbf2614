// The scheduler core: events in, decisions out. Pure and deterministic: no clock, no I/O, no
// threads, no floating point in any order; the same events give the same decisions, byte for byte,
// on every machine. A value: a copy of it is a fork of the cluster, and what is asked of the copy
// did not happen.
//
// At one t: run times that end free first, then all events of t are applied in their order, then
// decisions are made with all of them known.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "sched/cluster.h"
#include "sched/decision.h"
#include "sched/event.h"
#include "sched/gang.h"
#include "sched/pending.h"
#include "sched/placement.h"
#include "sched/queues.h"
#include "sched/shape_class.h"

namespace muster::sched {

struct VictimUnit;

class Engine {
 public:
  Engine() = default;

  // Time goes on to event.t: everything due before is decided, then the event is applied. Its own t
  // is decided when time goes on again, or by Settle. kInvalid ("line 7: ..."): time went back, or
  // the event cannot be (a node that is not there); nothing of it was applied.
  Status Take(const Event& event, std::vector<Decision>& out);
  // Decides everything that is known at the present t.
  void Settle(std::vector<Decision>& out);
  // Settles, then lets time run to `until`, or (< 0) until nothing more will happen. After an End
  // event time stands still.
  void Run(TimeMs until, std::vector<Decision>& out);

  TimeMs now() const { return now_; }
  bool ended() const { return ended_; }
  int64_t running_jobs() const { return running_count_; }
  int64_t pending_jobs() const { return pending_count_; }

  // For tests, benchmarks and what reads the state beside the decisions.
  const Cluster& cluster() const { return cluster_; }
  const Queues& queues() const { return queues_; }
  const Gang* FindJob(std::string_view name) const;
  std::vector<std::string> PendingNames() const;  // in order of submission
  // A copy at which time may go on after an end, and which neither answers nor says what would
  // help.
  Engine Fork() const;

 private:
  enum class TimerKind : uint8_t { kEnd, kMaxWait, kReservation, kGrow, kExpected };
  struct Timer {
    TimeMs t;
    TimerKind kind;
    int job;
    int generation;
    auto operator<=>(const Timer&) const = default;
  };

  // engine.cc: time and order.
  void AdvanceTo(TimeMs t);
  void FireTimers();
  void Emit(DecisionBody body) { out_->push_back({now_, std::move(body)}); }

  // engine_events.cc: what each event does to the state.
  Status Apply(const Event& event);
  Status Apply(const TopologyLevels& levels) { return cluster_.SetLevels(levels.levels); }
  Status Apply(const NodeAdd& node);
  Status Apply(const NodeChange& change);
  Status Apply(const NodeHealth& health);
  Status Apply(const FlavorAdd& flavor);
  Status Apply(const QueueAdd& queue);
  Status Apply(const QuotaChange& change);
  Status Apply(const JobSubmit& submit);
  Status Apply(const JobEnd& end);
  Status Apply(const TaskFail& fail);
  Result<int> NewGang(const Job& job);
  Result<int> FlatRank(int job, const std::string& task, int rank) const;

  // engine_adopt.cc: what runs already, and ranks that end one by one.
  Status Apply(const JobAdopt& adopt);
  Status Apply(const TaskEnd& end);
  Status Apply(const TaskAgain& again);
  const Assignment& AssignmentOf(int job, const std::vector<std::pair<int, int>>& seats);
  Result<std::vector<std::pair<int, int>>> SeatsOf(const JobAdopt& adopt, int job) const;
  Status Apply(const AskWhy& ask);
  Status Apply(const AskWhatIf& ask);
  Status Apply(const End&);
  Result<int> NodeNamed(const std::string& name) const;
  Result<int> ActiveJob(const std::string& name) const;
  void LoseNode(int node);

  // engine_jobs.cc: what a job holds, its life.
  void Release(int job, int flat_rank);
  void Hold(int job, int flat_rank, const Slot& slot);
  void ReleaseAll(int job);
  void Resized(int job, int bound_before);
  void StartClock(int job);
  void StopClock(int job);  // counts the checkpoints made
  void FinishJob(int job, const char* why);
  void Requeue(int job);
  int GroupOf(const Gang& gang, int flat_rank) const;
  void EmitBind(int job, int flat_rank);
  void EmitAdmit(int job);
  void Gained(int node);

  // engine_learn.cc: run times that nobody declared.
  int RunKindOf(const Gang& gang);
  void LearnRun(const Gang& gang);
  void ExpectEnd(int job);
  void ForgetEnd(int job);
  void OutlivesItsKind(int job);

  // engine_queue.cc: who is next.
  void AddPending(int job);
  void DropPending(int job);
  int KindFor(int job);
  void WakeKinds();
  void WakeFresh();
  bool IsAwake(PendingKind& kind);
  const PendingJobs::ClassGain& GainOf(int shape_class);
  bool HeadOfQueue(int job) const;
  bool WaitsItsTurn(int job) const;
  int ToTry(const PendingKind& kind) const;
  int PickNext();
  std::set<std::pair<PendingKey, int>>::iterator PickFair();

  // engine_decide.cc: one round.
  void Decide();
  bool Round(std::set<int>& failed);
  bool Start(int job);
  bool TryStart(int job);
  bool StartWith(int job, const Assignment& assignment, const std::vector<int>& counts);
  bool QuotaFits(int queue, const Assignment& assignment, const std::vector<int>& counts) const;
  bool WouldBorrow(int queue, const Assignment& assignment, const std::vector<int>& counts) const;
  bool StartFlavorByFlavor(int job);
  PlaceAsk AskFor(const Gang& gang, const Assignment& assignment,
                  const std::vector<int>& counts) const;
  std::vector<int> CountsFor(const Gang& gang, int ranks) const;
  int LeastRanks(const Gang& gang) const;
  int MostRanks(const Gang& gang) const;
  const std::vector<Assignment>& Assignments(PendingKind& kind, int job);
  static bool MergeFlavor(const Flavor* flavor, LabelPairs& labels);
  void Commit(int job, const Assignment& assignment, const std::vector<PlacedRank>& placed);
  void Grow();
  bool GrowOne(int job);

  // engine_evict.cc: making room.
  friend class EvictionSearch;
  std::vector<int> ItemsOf(int job);
  bool StaysWithinNominal(int job);
  void TrialRelease(int job, const std::vector<int>& ranks);
  void TrialTakeBack(int job, const std::vector<int>& ranks);
  bool CouldStart(int job, int within, bool beside_promises = false);
  bool HoldsWithin(int job, const std::vector<int>& ranks, int where) const;
  std::vector<int> WhereAt(int job, const std::vector<int>& ranks, int level) const;
  bool MayEvict(int job) const;
  bool TryEvict(int job);
  void Shrink(const VictimUnit& unit, const std::string& for_job);

  // engine_reserve.cc: promised starts.
  struct Reservation {
    int job = -1;
    TimeMs start = 0, made_at = 0;
    std::vector<int> nodes;  // sorted
    Assignment assignment;
  };
  PendingKey KeyOfJob(int job) const;
  TimeMs EndIfStartedNow(const Gang& gang) const;
  bool MayPass(const Gang& gang, const Reservation& reservation) const;
  bool MayBeOvertaken(int job, TimeMs start);
  bool Binds(const Reservation& reservation, int job) const;
  void MaskFor(int job);
  std::vector<int> KeptAt(int job, TimeMs at);
  void AddBlocked(int job, std::set<int>& nodes);
  void Unmask();
  bool LeavesQuota(int job, const Assignment& assignment, const std::vector<int>& counts);
  void ChargeCounts(int queue, const Assignment& assignment, const std::vector<int>& counts,
                    int sign);
  std::vector<std::pair<TimeMs, int>> EndsUntil(TimeMs until) const;
  TimeMs EndOf(const Reservation& reservation) const;
  void ChargePromise(const Reservation& reservation, int sign);
  void ChargePromises(int but, int and_but, TimeMs at, int sign);
  void ChargeBound(int job, int sign);
  bool ReckonStart(int job, Reservation& found, TimeMs latest);
  bool StillHolds(const Reservation& reservation);
  bool KeepFor(int job, Reservation& found);
  void Reserve(int job);
  void SayReserved(const Reservation& reservation, const std::string& why);
  void DropReservation(int job);
  void CheckReservations();
  bool IsHopeless(int job);

  // engine_whatif.cc: forks.
  std::vector<TimeMs> StartsOf(const std::vector<std::string>& jobs);
  void AnswerWhatIf(const AskWhatIf& ask);

  // engine_repair.cc: gangs that lost ranks.
  struct LostRank {
    int job, flat_rank, node;
    auto operator<=>(const LostRank&) const = default;
  };
  void RepairAll();
  void Repair(int job, const std::vector<LostRank>& lost);
  // Room for a rank beside those of its gang that are bound: on `node`, else in its leaf, else in
  // wider domains as far as the wishes and `widest` allow.
  bool PlaceBeside(int job, int flat_rank, int node, int widest, Slot& slot);
  bool IsLegal(const Gang& gang) const;

  // engine_explain.cc: why a job waits.
  struct ClassStanding {  // of a class among the nodes, whatever runs on them
    int64_t version = -1;
    int selected = 0, tolerated = 0, able = 0, usable = 0;
    int64_t room = 0, usable_room = 0;  // ranks on empty nodes
    int most = 0;                       // on one of them
    std::string taint;
  };
  const ClassStanding& StandingOf(int shape_class);
  bool RejectIfNeverFits(int job);
  void SayPending();
  using Causes = std::shared_ptr<const std::vector<Because>>;
  struct KindCauses {
    int job = -1;         // for whom they were found
    Causes causes, same;  // same: the last that were found to say the same
  };
  std::vector<Because> ExplainKind(int job);
  Causes Explain(int job, std::unordered_map<int, KindCauses>& by_kind);
  bool AddStaticCause(const Gang& gang, size_t group, int shape_class, int needed,
                      std::vector<Because>& because);
  void AddQuotaCauses(const Gang& gang, const std::vector<Assignment>& assignments,
                      std::vector<Because>& because);
  void AddRoomCauses(const Gang& gang, const Assignment& assignment, std::vector<Because>& because);
  void AddReservedCause(int job, std::vector<Because>& because);
  void Answer();

  // engine_counterfactual.cc: what would help.
  bool StartsAfterThoseAhead(int job);
  std::vector<Event> WouldStartIf(int job, const std::vector<Because>& because);
  bool HelpsInAFork(int job, const std::vector<Event>& change) const;
  std::vector<Event> FindChange(int job, const std::vector<Because>& because);
  std::vector<Event> TryMoreQuota(int job);
  std::vector<Event> TryMoreNodes(int job);
  std::vector<Event> TryCancelling(int job);
  bool CanBeCopied() const;

  // engine_proposals.cc: what is not there yet.
  Job JobOf(const Gang& gang) const;
  std::vector<Event> TryAgainAs(int job, Job changed) const;
  std::vector<Event> TryTolerating(int job);
  std::vector<Event> TrySelecting(int job);
  std::vector<Event> TryNewNodes(int job);
  int MissingRanks(int job);

  Cluster cluster_;
  ShapeClasses classes_;
  Queues queues_;
  std::vector<Gang> gangs_;
  std::unordered_map<std::string, int> job_ids_;           // the last job of that name
  std::vector<std::vector<std::pair<int, int>>> on_node_;  // job, flat rank
  std::set<Timer> timers_;
  std::unordered_map<std::string, int> run_kinds_;
  std::vector<std::vector<int64_t>> past_runs_;  // ms, by run kind, the last one last
  PendingJobs pending_;
  std::map<int, Reservation> reservations_;  // by job
  std::set<std::pair<TimeMs, int>>
      deadlines_;                        // max_wait of pending jobs that never ran, with the job
  std::set<PendingKey> unknown_starts_;  // blocked, and nobody knows until when
  std::string disturbed_;  // why promised starts must be reckoned again; empty = they hold
  std::map<int, std::set<int>> trial_gone_;  // ranks that a trial has released, by job
  int blocker_ = -1;                         // an overdue job that could not start
  std::set<int> running_;
  std::set<std::pair<int, int>> running_by_size_;  // ranks bound, job
  std::set<int> growable_;                         // running with fewer ranks than they could have
  std::vector<LostRank> lost_ranks_;               // since the last round
  std::vector<Event> asks_;                        // answered after the round
  std::vector<int> to_explain_;  // jobs that became pending, or whose kind was tried
  std::vector<ClassStanding> standings_;
  std::vector<Causes> said_;  // by job: the last `because`; null = none yet

  TimeMs now_ = 0;
  bool ended_ = false;
  bool explains_ = true;                   // says would_start_if
  bool dirty_ = false;                     // something changed since the last round
  bool gave_back_ = false;                 // room or quota, since the round began
  bool fair_queues_ = false;               // some queue shares fairly
  std::map<std::string, int64_t> totals_;  // capacity by resource name, for shares
  int64_t next_sequence_ = 0;
  int64_t running_count_ = 0, pending_count_ = 0;
  std::vector<Decision>* out_ = nullptr;
};

}  // namespace muster::sched
