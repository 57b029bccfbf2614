// The gang scheduler's mind on Kubernetes: what the watches brought goes in, what is to be written
// comes out. Values alone: no client, no clock, no threads. The pods are the truth; everything here
// can be made again from them (Rebuild), which is what a start after `kill -9` is.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "backend/kubernetes/sched/facts.h"
#include "manifest/queue_holds.h"
#include "sched/engine.h"

namespace muster::kubesched {

struct CoreOptions {
  std::set<std::string> schedulers = {"muster"};                              // whose pods are ours
  std::vector<std::string> levels = {"muster.dev/spine", "muster.dev/leaf"};  // node labels
  int64_t say_waiting_after_ms = 10'000;
  int64_t keep_seat_ms = 30'000;  // of a pod that failed, for the one that comes in its place
  // So long quota waits for pods that were told to leave: the usual grace and a little. Then one
  // that hangs holds up its own node alone.
  int64_t hold_quota_ms = 35'000;
};

// What is to be written, in this order.
struct BindPod {
  Identity pod;
  std::string node;
};
struct DeletePod {
  Identity pod;
  std::string gang, why;
};
// About the group's own object where it has one (then `group` is set and the success is written as
// a condition), else about one of its pods.
struct SayGang {
  Identity about;
  Dialect dialect = Dialect::kNone;
  bool is_pod = true;
  std::string gang, reason, message;  // GangScheduled, GangWaiting, GangEvicted, GangRefused
  std::string ignored;                // what the gang asks for that is not acted on
  bool warning = false;
};
using Act = std::variant<BindPod, DeletePod, SayGang>;

// What becomes of a gang of which some pods are bound and others are not: pure, and the whole rule.
// `bound` includes pods whose binding is under way; `ended` pods ran to their end or failed.
enum class HalfBound : uint8_t {
  kWhole,     // its minimum runs: the rest is placed when there is room
  kComplete,  // caught between binds: the rest is placed beside it now; where that is not possible
              // the whole gang is evicted (the engine's repair decides)
  kWait,      // too few pods exist: a controller owes us some, or they run on without those
  kEvict,     // too few, some never ran, and nobody makes the others: an eviction was broken off
};
HalfBound JudgeHalfBound(int bound, int waiting, int ended, int min, bool owed);

// What of the cluster's queues and classes is no amount.
struct QueueWords : QueueHolds {
  // Queues of several kinds that share a name: (kind as ToString(Dialect), name) -> in the model.
  std::map<std::pair<std::string, std::string>, std::string> renamed;
  std::map<std::string, int> priorities;  // by class; Kueue's as "kueue/NAME"
  bool operator==(const QueueWords&) const = default;
};

struct CoreStats {
  uint64_t gangs_placed = 0, binds_asked = 0, evicted = 0, rebuilds = 0, refused_pods = 0;
};

class Core {
 public:
  explicit Core(CoreOptions options = {});
  ~Core();
  Core(Core&&) = default;
  Core& operator=(Core&&) = default;

  void SetNode(std::shared_ptr<const NodeFacts> node);
  void RemoveNode(const std::string& name);
  void SetPod(std::shared_ptr<const PodFacts> pod);
  void RemovePod(const std::string& uid);
  void SetGroup(const GroupFacts& group);
  void RemoveGroup(Dialect dialect, const std::string& key);
  void SetQueues(std::vector<Queue> queues, std::vector<Flavor> flavors, QueueWords words = {});
  // By API group, why its queues are not known. Gangs that name such a queue wait: what quota would
  // say is unknown.
  void SetUnreadableQueues(std::map<std::string, std::string> why);

  // The answer to a BindPod. `refusal`: why the server did not take it, so that the pod is known to
  // be unbound; empty: it may have been written or not. Either is asked again a second after `now`;
  // a `final` one (400, 403, 422) twice, then its gang gives back what it holds and rests.
  void Bound(const std::string& uid);
  void NotBound(const std::string& uid, const std::string& refusal, bool final, int64_t now_ms);

  // Everything known is decided; so many of the bindings are given out as there is `room` for, the
  // others with the next calls. What was not given out is decided again when what it stands on
  // changes. `now_ms` never goes back.
  void Decide(int64_t now_ms, std::vector<Act>& acts, size_t room = SIZE_MAX);
  // When to call Decide again though nothing came; < 0: only when something comes.
  int64_t NextAt() const;
  // Bindings whose answer did not come and that will be asked for again.
  bool repeats() const { return !again_.empty(); }

  // For those who ask: the engine with all that is known decided.
  const sched::Engine& engine() const { return engine_; }
  sched::Engine& engine() { return engine_; }
  struct GangView {
    std::string name, state, queue;  // state: gathering, waiting, running
    Dialect dialect = Dialect::kNone;
    int min = 0, pods = 0, bound = 0, priority = 0;
    std::vector<std::string> nodes;
    std::string why;      // of one that waits
    std::string ignored;  // what it asks for that is not acted on
  };
  std::vector<GangView> Gangs() const;
  const PodFacts* FindPod(const std::string& uid) const;
  const std::vector<std::string>& troubles() const { return troubles_; }
  const CoreStats& stats() const { return stats_; }

 private:
  enum class At : uint8_t { kWaiting, kSeated, kBinding, kBound, kOver };
  struct Pod {
    std::shared_ptr<const PodFacts> facts;
    std::string gang;
    At at = At::kWaiting;
    std::string node;  // seat
    int task = -1, rank = -1;
    int failures = 0;
    bool asked = false;    // a binding is under way
    bool refused = false;  // the last one; it is not bound, then
    bool deleting = false;
  };
  struct KeptSeat {
    int64_t until = 0;
    std::string node;
    int index = -1;
  };
  enum class Phase : uint8_t { kGathering, kSubmitted, kPlaced };
  struct Gang {
    std::string name, ns, group;  // name: the engine's
    std::string queue;            // as it names it; its job in the engine has QuotaQueue of it
    Dialect dialect = Dialect::kNone;
    Phase phase = Phase::kGathering;
    std::set<std::string> pods;  // uids that are not over
    std::vector<std::string> task_names;
    std::vector<std::vector<std::string>> seats;  // by task and rank: uid, or empty
    std::map<std::pair<int, int>, KeptSeat> kept;
    std::set<std::string> to_bind;
    int64_t turn = 0;  // in binding_; 0: not there, below: some of it was given out
    int64_t waits_since = -1, said_at = -1;
    std::string said, why;
    int open = 0;   // seats whose binding is not known to be written
    int ended = 0;  // pods that ran to a good end
    bool placed_said = false;
    int refusals = 0;         // evictions of it because the server refused
    int64_t rests_until = 0;  // after one
    std::string condemned;    // why
    bool apart = false;       // its pods are held one by one: together they do not fit as we count
  };

  // core.cc: what changed.
  Gang& GangOf(const PodFacts& pod);
  int MinOf(const Gang& gang) const;
  const GroupFacts* GroupFactsOf(const Gang& gang) const;
  bool Ours(const PodFacts& pod) const { return options_.schedulers.count(pod.scheduler) != 0; }
  void SetForeign(Pod& pod, const PodFacts* before);
  void Join(const std::string& uid, Pod& pod);
  void Leave(const std::string& uid, Pod& pod);
  void EmptySeat(Gang& gang, Pod& pod);
  void SeatAnew(const std::string& uid, Pod& pod);
  void LeaveNode(const std::string& name);
  bool TakeKeptSeat(Gang& gang, const std::string& uid, Pod& pod);
  void GatherIfUnseated(Gang& gang);
  void DropIfEmpty(const std::string& name);
  bool NodeUsable(const std::string& name) const;
  sched::NodeAdd SpecOf(const NodeFacts& node) const;

  // core_queues.cc: what groups and queues ask for.
  std::string QueueName(Dialect of, const std::string& name) const;
  bool QueueThere(const std::string& name) const { return queue_at_.count(name) != 0; }
  std::string QuotaQueue(const std::string& name) const;
  template <typename Visit>
  void UpTheQueues(std::string name, Visit visit) const;
  void TakeWishes(const Gang& gang, Job& job) const;
  void TakeRoleMinima(const Gang& gang, const std::vector<const PodFacts*>& like, Job& job) const;
  std::string IgnoredOf(const Gang& gang) const;
  void EvictDrained(std::vector<Act>& acts);

  // core_unsent.cc: what is decided and not written yet.
  static bool Unsent(const Pod& pod);
  bool Unsent(const Gang& gang) const;
  void Unseat(Pod& pod);
  void Unseat(Gang& gang);
  bool TakeBack(Gang& gang);
  void QueueToBind(Gang& gang, const std::string& uid);
  void UnqueueToBind(Gang& gang);
  bool MayBind(const Gang& gang) const;
  void EmitBinds(size_t room, std::vector<Act>& acts);

  // core_decide.cc: one round; core_acts.cc: what it writes.
  void Rebuild();
  void AddNode(const NodeFacts& node);
  bool HoldForeign(const PodFacts& pod);
  void AddForeign(const PodFacts& pod);
  void AdoptGang(Gang& gang);
  int Need(const Gang& gang) const;
  TimePoint Age(const Gang& gang) const;
  std::string QueueTrouble(const Gang& gang) const;
  Job JobFor(Gang& gang, const std::vector<std::string>& uids);
  void Submit(Gang& gang);
  void Withdraw(Gang& gang);
  bool TakeEvent(sched::EventBody body);
  void Follow(const sched::Decision& decision, std::vector<Act>& acts);
  void FollowAll(std::vector<Act>& acts);
  void Evict(Gang& gang, const std::string& why, std::vector<Act>& acts);
  void RepeatBinds(std::vector<Act>& acts);
  void EvictCondemned(std::vector<Act>& acts);
  void TellToLeave(const Gang& gang, Pod& pod, const std::string& why, std::vector<Act>& acts);
  std::string QuotaTree(const std::string& queue) const;
  void Seat(const sched::BindDecision& bind);
  void SayAll(std::vector<Act>& acts);
  void Say(const Gang& gang, const char* reason, std::string message, bool warning,
           std::vector<Act>& acts);
  void ForgetKept();
  void Trouble(std::string text);

  CoreOptions options_;
  sched::Engine engine_;
  std::vector<sched::Decision> decisions_;
  int64_t now_ = 0;
  bool rebuild_ = true;
  std::map<std::string, std::shared_ptr<const NodeFacts>> nodes_;
  std::set<std::string> suspect_nodes_;
  // Nodes that are not there and may hold pods: one that comes back is not empty.
  std::set<std::string> lost_nodes_;
  std::unordered_map<std::string, Pod> pods_;      // by uid
  std::map<std::string, Gang> gangs_;              // by name
  std::map<std::string, std::string> gang_names_;  // GroupKey -> name
  std::map<std::string, GroupFacts> groups_;       // by GroupKey
  std::vector<Queue> queues_;
  std::map<std::string, size_t> queue_at_;  // in queues_, by name
  QueueWords words_;
  bool drain_ = false;  // gangs of drained queues are to be looked for
  std::vector<Flavor> flavors_;
  std::map<std::string, std::string> unreadable_;  // by API group
  std::set<std::string> touched_;                  // gangs to look at
  std::map<int64_t, std::string> binding_;         // gangs with to_bind, by turn
  int64_t turns_ = 0;                              // the last one given
  std::set<std::string> waiting_;                  // gangs in Phase::kSubmitted
  std::map<std::string, int> leaving_on_;          // node -> pods of ours that were told to go
  std::map<std::string, std::map<std::string, int64_t>> leaving_in_;  // quota tree -> uid, when
  std::set<std::string> keeping_;                                     // gangs with kept seats
  std::set<std::pair<int64_t, std::string>> again_;                   // binds to repeat
  std::set<std::string> rejected_;   // no node of the cluster could ever hold them
  std::set<std::string> condemned_;  // gangs with a pod that the server will not bind
  std::set<std::pair<int64_t, std::string>> resting_;  // gangs, until then
  std::vector<SayGang> to_say_;
  int64_t look_at_waiting_ = 0;
  std::vector<std::string> troubles_;
  CoreStats stats_;
};

}  // namespace muster::kubesched
