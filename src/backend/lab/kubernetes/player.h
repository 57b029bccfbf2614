// Plays the kubelets of many nodes against an API server: registers them, keeps their leases,
// admits or refuses what is bound to them, moves pods through their phases, runs commands where a
// pod asks for it and the person allowed it, and finishes deletions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/lab/kubernetes/played_node.h"
#include "backend/lab/kubernetes/pod_names.h"
#include "backend/lab/kubernetes/pod_shell.h"
#include "backend/lab/kubernetes/pod_status.h"
#include "kube/client.h"
#include "kube/reflector.h"
#include "world/files.h"
#include "world/processes.h"

namespace muster::lab {

struct PlayerOptions {
  std::vector<PlayedNodeSpec> nodes;
  // Pods with muster.dev/run: "true" then run their command on this machine, as this user.
  bool run_commands = false;
  std::string log_folder;  // of those commands; needed with run_commands
  PodShell shell;          // how they run
  bool play_pods = true;
  // Borrowed, both may be absent: where the names of pods behind headless Services go, and where
  // the reason of a command that could not be started is read.
  DnsZone* zone = nullptr;
  Files* files = nullptr;
  // Before the second restart of a container; doubled with each further one, at most five minutes,
  // as a kubelet does (its MaxContainerBackOff). The first restart comes at once.
  Duration restart_backoff = std::chrono::seconds(10);
};

struct PlayerStats {
  uint64_t nodes = 0, leases = 0, running = 0, ended = 0, rejected = 0, deleted = 0;
  uint64_t failed_writes = 0, restarts = 0;
};

class Player {
 public:
  using OnNote = std::function<void(const std::string&)>;
  // Borrowed: client and processes. kInvalid for a node that cannot be (sched/numa says why).
  static Result<std::unique_ptr<Player>> Make(kube::Client& client, Processes& processes,
                                              PlayerOptions options, OnNote on_note = {});
  ~Player();

  // Everything after this happens in Client::Poll and in Tick.
  void Start();
  // Looks at the commands that run. Call it after each Poll.
  void Tick();
  // Every node is registered and the pods are known.
  bool ready() const;
  const PlayerStats& stats() const { return stats_; }

 private:
  // What we know of a pod beside its object: by uid.
  struct Played {
    std::string node, ip;
    bool begun = false, again = false;  // begun: taken by its node, its command started
    bool writing = false, ended = false;
    bool unsaid = false;           // it changed while a write was under way
    std::optional<PodStatus> end;  // what its end is written as, until it is
    TimePoint started;
    uint64_t timer = 0;
    // Of a pod that really runs: which container has its turn (init containers, then the first
    // container), and how often that one was restarted.
    std::unique_ptr<Child> process;
    size_t turn = 0;
    int restarts = 0;
    std::string waiting;
    std::optional<int> last_exit;
    Duration turn_began{};
  };

  Player(kube::Client& client, Processes& processes, PlayerOptions options, OnNote on_note);
  void Register(const PlayedNode& node);
  void RenewLease(const std::string& node, bool create);
  void OnPod(const kube::Change<kube::Pod>& change);
  void Look(const kube::Pod& pod);
  void Begin(const kube::Pod& pod, Played& played);
  void Adopt(const kube::Pod& pod, Played& played);
  void EndLater(const std::string& key, const std::string& uid, Duration delay, int exit_code);
  void End(const std::string& key, const std::string& uid, int exit_code,
           const std::string& reason);
  void WriteEnd(const kube::Pod& pod, Played& played, PodStatus status);
  void FinishDeletion(const kube::Pod& pod);
  void Forget(const std::string& uid);
  void Write(const kube::Pod& pod, const PodStatus& status);
  // player_run.cc: pods that really run.
  bool Runs(const kube::Pod& pod) const;
  bool StartTurn(const kube::Pod& pod, Played& played);
  void TurnEnded(const kube::Pod& pod, Played& played, int exit_code);
  void StartAgainLater(const kube::Pod& pod, Played& played, int exit_code);
  void StartFailed(const kube::Pod& pod, Played& played, const std::string& why);
  std::string StartError(const std::string& uid) const;
  void TakeUp(const kube::Pod& pod, Played& played);
  std::string AddressHere();
  void Say(const kube::Pod& pod, Played& played);
  void Note(const std::string& text);
  // The client outlives the player: what it answers after the player's end is dropped.
  void Ask(kube::Request request, kube::Client::Done done);
  uint64_t After(Duration delay, std::function<void()> then);

  kube::Client& client_;
  Processes& processes_;
  const PlayerOptions options_;
  OnNote on_note_;
  std::map<std::string, PlayedNode> nodes_;
  std::unordered_map<std::string, Played> played_;             // by uid
  std::unordered_map<std::string, std::string> processes_of_;  // uid -> pod key, of those that run
  std::unique_ptr<kube::Reflector<kube::Pod>> pods_;
  std::unique_ptr<kube::Reflector<NamedService>> services_;
  std::unique_ptr<PodNamesOfCluster> names_;
  PlayerStats stats_;
  uint32_t next_ip_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::lab
