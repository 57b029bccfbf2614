// Who is let in, decided by quota alone, before there are pods: ClusterQueues, Cohorts, borrowing,
// priority, fair share and preemption are the scheduler engine's own (sched/engine.h), asked about
// nodes that have no end. Values alone: no client, no clock. What was let in before is read from
// the objects, so a start after `kill -9` is the same as any other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "backend/kubernetes/kueue/facts.h"
#include "backend/kubernetes/kueue/pods_ready.h"
#include "backend/kubernetes/kueue/rooms.h"
#include "manifest/queue_holds.h"
#include "sched/engine.h"

namespace muster::kueue {

struct Queues {
  std::vector<Queue> queues;  // ClusterQueues, LocalQueues ("namespace/name"), Cohorts
  std::vector<Flavor> flavors;
  QueueHolds holds;
  std::set<std::string> checked;                   // ClusterQueues with admission checks
  std::map<std::string, std::string> topology_of;  // flavor -> its Topology
  std::map<std::string, std::vector<std::string>> topologies;  // levels, outermost first
  bool operator==(const Queues&) const = default;
};

// What is to be written. `uid` is of an Ask that was set.
struct Admit {
  std::string uid, cluster_queue;
  Flavors flavors;
  Counts counts;  // of sets that may be smaller
  Places places;
  PodUpdate pods;        // of the flavors
  bool checked = false;  // others have their say before it is admitted
};
struct Evict {
  std::string uid, reason, message;  // Preempted, Deactivated, ClusterQueueStopped, ...
  std::optional<Requeue> requeue;    // it waits so long before it asks again
};
struct Hold {  // a Job that runs and was never let in
  std::string uid;
  std::optional<int> parallelism;  // what it has again
};
struct Start {  // a Job whose Workload was let in
  std::string uid;
  PodUpdate pods;
  std::optional<int> parallelism;  // where fewer were let in
};
struct Finish {  // a Workload whose Job has ended
  std::string uid;
  bool succeeded = false;
};
struct SayWaiting {  // it cannot be admitted as things stand
  std::string uid, reason, message;
};
struct SayDeactivation {  // it is about to be deactivated, and why
  std::string uid, reason, message;
};
struct Deactivate {
  std::string uid;
};
struct SayRequeued {  // it has backed off long enough
  std::string uid;
};
struct SayPodsReady {  // of a Workload whose Job Muster runs
  std::string uid;
  PodsReady ready;
};
using Act = std::variant<Admit, Evict, Hold, Start, Finish, SayWaiting, SayDeactivation, Deactivate,
                         SayRequeued, SayPodsReady>;

// What a Workload's condition PodsReady is to say.
PodsReady ReadinessOf(const Ask& workload, bool pods_are_ready);

// Quota is in plain amounts: for the engine a resource with a slash is devices of a node, each with
// a number. No resource has a '!' in its name.
std::string InEngine(std::string resource);
std::string FromEngine(std::string resource);
Resources InEngine(const Resources& amounts);
// Label and taint of the nodes without end.
inline constexpr const char* kEndlessKey = "muster.dev/endless";
// The node label by which the engine knows who may have a flavor.
std::string FlavorLabel(const std::string& flavor);
bool Tolerated(const Taint& taint, const std::vector<Toleration>& tolerate);

class QuotaCore {
 public:
  // Queues that are as before change nothing: making the engine again takes O(cluster).
  void SetQueues(Queues queues);
  // By class, "kueue/NAME" or "pod/NAME": of Jobs, whose priority is not in them.
  void SetPriorities(std::map<std::string, int> priorities);
  void Set(const Ask& ask);
  void Remove(const std::string& uid);

  // Of flavors with a topology: asked when the first names one, and told of what changes then.
  void SetRoomSource(RoomSource source) { source_ = std::move(source); }
  bool follows_rooms() const { return rooms_.used(); }
  void SetNode(const sched::NodeAdd& node, bool usable);
  void RemoveNode(const std::string& name);
  void SetPod(const RoomPod& pod);
  void RemovePod(const std::string& uid);

  // The answer to an act. Until then what the watch brings of that object is kept, not followed;
  // and afterwards nothing older than `version`, which is the object's after the write.
  void Done(const std::string& uid, uint64_t version);
  // It may or may not have been written: the object is looked at once more, from a second later on.
  void Failed(const std::string& uid, int64_t now_ms);

  // Before the first Decide. Without it nobody is asked whether pods are ready.
  void SetWaitForPodsReady(WaitForPodsReady wait) { wait_ = wait; }

  // `now_ms` never goes back; `wall` is what objects' times are held against. Evictions come before
  // the admissions that need their room.
  void Decide(int64_t now_ms, TimePoint wall, std::vector<Act>& acts);
  int64_t NextAt() const;
  // Writes that are to be looked at once more.
  bool repeats() const { return !again_.empty(); }

  const Ask* Find(const std::string& uid) const;
  // "waiting", "admitted", "inadmissible" and why; empty for whoever is not known.
  std::string StateOf(const std::string& uid) const;
  size_t admitted() const { return admitted_; }
  const std::vector<std::string>& troubles() const { return troubles_; }

 private:
  enum class At : uint8_t { kOut, kSubmitted, kIn };  // as the engine has it
  struct One {
    Ask ask;
    At at = At::kOut;
    bool busy = false;              // a write is under way
    uint64_t ignore_below = 0;      // what is older is what we wrote over
    std::optional<Evict> evicting;  // until its object says that it is out
    std::optional<Admit> to_admit;  // once that is said
    Flavors given;                  // with which it was let in, until its object says so
    Places placed;                  // the same
    Counts counts;                  // the same
    int64_t wake_at = -1;           // its entry in wake_
    std::string why, said;
  };

  void Rebuild();
  void AddNodes();
  // rooms of flavors with a topology: quota_rooms.cc
  void ChooseTopology();
  void AddRooms();
  void AddRoom(const sched::NodeAdd& node, bool usable);
  bool IsRoom(const sched::NodeAdd& node) const;
  void NoteSeats(const std::vector<sched::Decision>& decisions);
  Places TakePlaces(const std::string& uid);
  bool HasRooms(const Queue& cluster_queue) const;
  std::string TopologyTrouble(const Ask& ask, const Queue& cluster_queue) const;
  bool SeatInRooms(const One& one, const Job& job, std::vector<sched::JobAdopt::Seat>& seats) const;
  // In the next round; and at the Job that a Workload stands for, since what that waits for may be
  // the Workload's write.
  void LookAgainAt(const std::string& uid);
  void Look(One& one, std::vector<Act>& acts);
  void LookAtActive(One& one, std::vector<Act>& acts);
  // quota_time.cc: what runs out.
  void WakeAt(One& one, TimePoint wall);
  bool TimeIsUp(One& one, std::vector<Act>& acts);
  void PodsAreLate(One& one, std::vector<Act>& acts);
  bool BacksOff(One& one, std::vector<Act>& acts);
  void SayReadiness(const One& job, One& workload, std::vector<Act>& acts);
  void CountSeats(const std::vector<sched::Decision>& decisions);
  void FixCounts(One& one);
  void LookAtOwner(One& job, One& workload, std::vector<Act>& acts);
  void Submit(One& one, std::vector<Act>& acts);
  bool Adopt(One& one);
  void Leave(One& one, bool finished);
  void Follow(const sched::Decision& decision, std::vector<Act>& acts);
  std::string Inadmissible(const One& one) const;
  std::optional<Evict> StoppedUnder(const Ask& ask) const;
  void Refuse(One& one, std::string why, std::vector<Act>& acts);
  Job JobOf(const Ask& ask, const Counts& counts) const;
  const Queue* QueueNamed(const std::string& name) const;
  std::string NodeFor(const std::map<std::string, std::string>& flavors) const;
  const Flavor* FlavorNamed(const std::string& name) const;
  PodUpdate UpdateFor(const Flavors& flavors) const;
  std::string NoFlavorFor(const Queue& cluster_queue, const PodSetAsk& set,
                          const std::string& resource) const;
  std::string ObstacleOf(const Flavor& flavor, const PodSetAsk& set) const;
  bool TakeEvent(sched::EventBody body);

  Queues queues_;
  std::map<std::string, size_t> queue_at_;  // name -> index in queues_.queues
  std::map<std::string, int> priorities_;
  std::set<std::string> flavor_keys_;                   // node labels that flavors speak of
  std::map<std::string, std::set<std::string>> nodes_;  // endless node -> its flavors
  Rooms rooms_;
  RoomSource source_;
  std::set<std::string> with_rooms_;        // flavors of the topology that is followed
  std::map<std::string, bool> usable_;      // real node -> as last told
  std::set<std::string> pods_;              // uids of pods that hold room
  std::map<std::string, Resources> taken_;  // node -> by those pods
  std::map<std::string, std::pair<std::string, Resources>> taken_by_;  // uid -> node, of those
  // Decided in this round: uid -> pod set -> node -> pods.
  std::map<std::string, std::map<std::string, std::map<std::string, int>>> seats_;
  std::unordered_map<std::string, One> all_;        // by uid
  std::map<std::string, std::string> workload_of_;  // uid of a Job -> of its Workload
  std::set<std::string> touched_;
  std::set<std::pair<int64_t, std::string>> again_, wake_;
  std::optional<WaitForPodsReady> wait_;
  TimePoint wall_{};
  // Decided in this round, of those who may get fewer: uid -> pod set -> pods.
  std::map<std::string, Counts> seated_;
  sched::Engine engine_;
  std::vector<sched::Decision> decisions_;
  std::vector<std::string> troubles_;
  int64_t now_ = 0;
  size_t admitted_ = 0;
  bool rebuild_ = true;
};

}  // namespace muster::kueue
