// The gang scheduler beside an API server: one of several leads, by a Lease; it watches, lets the
// core decide, and writes. Nothing is written by one who does not lead.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "backend/kubernetes/kueue/admission.h"
#include "backend/kubernetes/sched/mirror.h"
#include "backend/kubernetes/sched/volcano_jobs.h"
#include "kube/event.h"
#include "kube/lease.h"

namespace muster::kubesched {

struct ServeOptions {
  CoreOptions core;
  kube::LeaseOptions lease;
  bool kueue = false;  // let Kueue's Workloads and Jobs in, where Kueue does not
  std::optional<kueue::WaitForPodsReady> wait_for_pods_ready;  // with `kueue`
  bool volcano_jobs = false;    // make the pods of Volcano Jobs, where Volcano's controllers do not
  size_t writes_at_once = 200;  // what two connections carry
};

struct ServeStats {
  uint64_t bound = 0, conflicts = 0, failed = 0, deleted = 0, said = 0;
  Duration longest_turn{};  // from the end of a Poll to that of its decisions and their requests
};

class Serve {
 public:
  using OnNote = std::function<void(const std::string&)>;
  Serve(kube::Client& client, ServeOptions options, OnNote on_note = {});
  ~Serve();

  void Start();
  // Waits for what comes, at most `longest`, decides and writes.
  void Turn(Duration longest);
  // Leads, knows everything, and has nothing under way.
  bool idle() const;
  bool leading() const { return elector_.Leading(); }
  // Of one that leads: the cluster's objects are known.
  bool known() const { return mirror_ != nullptr && mirror_->synced(); }
  // When (monotonic) the server last answered about the Lease.
  std::optional<Duration> heard_at() const { return elector_.heard_at(); }
  // What cannot be read or held, so that serving is pointless.
  std::optional<Error> fatal() const;
  // Gives the lease back; `done` comes from a Poll.
  void Stop(std::function<void()> done);
  const ServeStats& stats() const { return stats_; }
  const Core* core() const { return core_.get(); }
  const kueue::Admission* kueue() const { return kueue_.get(); }

 private:
  void OnLeading(bool leading);
  // Something that decisions rest on cannot be followed just now.
  bool Held();
  void DecideAndWrite();
  void WriteDue();
  int64_t NowMs() const;
  void Do(const BindPod& bind);
  void Do(const DeletePod& gone);
  void Do(const SayGang& say);
  void SayQueueNotes();
  void Ask(kube::Request request, kube::Client::Done done);
  void NoteOnce(const std::string& what, const Error& error);

  kube::Client& client_;
  const ServeOptions options_;
  OnNote on_note_;
  kube::LeaderElector elector_;
  std::unique_ptr<Core> core_;
  std::unique_ptr<Mirror> mirror_;
  std::unique_ptr<VolcanoJobs> volcano_;
  std::unique_ptr<kueue::Admission> kueue_;
  ServeStats stats_;
  std::deque<Act> due_;  // decided and not sent
  size_t under_way_ = 0, troubles_said_ = 0;
  std::set<std::string> noted_;  // writes that were refused: each is said once a term
  std::string lease_trouble_;    // the last one said
  std::set<std::string> queue_notes_said_;
  bool lost_said_ = false, said_synced_ = false, answered_ = false, decided_ = false;
  // Of one term of leadership: answers to an earlier one are dropped.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// What the Event of a gang says, and the status patch of its group; empty where the dialect's
// object has no place for it (then the Event says it). `now` is RFC 3339.
kube::Saying SayingOf(const SayGang& say);
std::string GroupStatusBody(const SayGang& say, const std::string& now);
// The Event of fields that are not acted on; the same is not said twice.
kube::Request FieldsEvent(const FieldsNote& note, TimePoint now);
// Of the dialect's own objects.
kube::Resource GroupResource(Dialect dialect);

}  // namespace muster::kubesched
