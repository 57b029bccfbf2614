// Kueue's admission beside an API server: watches Workloads, Jobs that name a queue, and the
// queues; lets QuotaCore decide; writes. For clusters that have Kueue's kinds and not its
// controllers, or its controllers without its scheduler. One write lets a Workload in, one lets a
// Job in.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/kubernetes/kueue/quota.h"
#include "kube/client.h"
#include "kube/reflector.h"

namespace muster::kueue {

struct AdmissionStats {
  uint64_t admitted = 0, evicted = 0, held = 0, started = 0, finished = 0, said = 0;
  uint64_t timed = 0;  // deactivations, ends of back-offs, PodsReady
  uint64_t conflicts = 0, failed = 0;
};

class Admission {
 public:
  using OnNote = std::function<void(const std::string&)>;
  // Borrowed: the client. `leads` is asked before each write.
  Admission(kube::Client& client, std::function<bool()> leads, OnNote on_note = {},
            std::optional<WaitForPodsReady> wait = {});
  ~Admission();
  void Start();
  // Decides what changed and writes. Call it after each Poll.
  void Turn();
  bool synced() const;
  bool idle() const;
  // A Job that runs and was not let in is being held: its pods must not be placed meanwhile.
  bool holding() const { return holding_ > 0; }
  // When to call Turn again though nothing came, in milliseconds of the monotonic clock; < 0:
  // never.
  int64_t NextAt() const { return core_.NextAt(); }
  const AdmissionStats& stats() const { return stats_; }
  const QuotaCore& core() const { return core_; }

 private:
  struct Kind;  // a kind that may be served in an older version, or not at all
  void FollowKind(const std::string& plural, const std::string& kind, bool namespaced);
  void Follow(const kube::Change<Ask>& change);
  void Restart(Kind& kind);
  void ReadQueues();
  void FollowRooms();
  void ReadPriorities();
  void Do(const Act& act);
  void Write(kube::Request request, const std::string& uid, uint64_t AdmissionStats::* counter);
  void SayOfJob(const Ask& ask, const SayWaiting& say);
  void DecideDue();
  void SendHeldBack();
  kube::Request Patch(const Ask& ask, std::string body, const char* part = "status") const;
  int64_t NowMs() const;
  void Note(const std::string& text);

  kube::Client& client_;
  std::function<bool()> leads_;
  OnNote on_note_;
  QuotaCore core_;
  std::vector<std::unique_ptr<Kind>> kinds_;
  std::unique_ptr<kube::Reflector<Ask>> jobs_;
  std::unique_ptr<kube::Reflector<kube::Object>> priority_classes_, namespaces_;
  // Where a flavor names a topology: else nobody needs them.
  std::unique_ptr<kube::Reflector<RoomNode>> nodes_;
  std::unique_ptr<kube::Reflector<RoomPod>> pods_;
  AdmissionStats stats_;
  bool changed_ = false, queues_changed_ = false, priorities_changed_ = false;
  size_t under_way_ = 0, evictions_ = 0, holding_ = 0, troubles_said_ = 0;
  std::deque<Act> due_;        // decided and not sent
  std::deque<Act> held_back_;  // admissions that need the room of evictions under way
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::kueue
