// The cluster's objects as a Core knows them: lists and watches (or one look) of nodes, pods, Jobs,
// and of every dialect's groups and queues where their kinds are served.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/kubernetes/sched/core.h"
#include "kube/client.h"
#include "kube/reflector.h"
#include "manifest/gangs.h"

namespace muster::kubesched {

// What an object asks for that is not acted on.
struct FieldsNote {
  kube::Resource resource;
  Identity about;
  std::string message;
};

class Mirror {
 public:
  using OnNote = std::function<void(const std::string&)>;
  enum class Reads { kFollow, kOnce };  // once: nothing is watched, and the right to is not needed
  // Borrowed: client and core.
  Mirror(kube::Client& client, Core& core, OnNote on_note = {}, Reads reads = Reads::kFollow);
  ~Mirror();
  void Start();
  // Everything that is served was listed.
  bool synced() const;
  // What is known and cannot be followed just now: changes may have been missed since then
  // (Client's monotonic clock). Of several the one that was lost first.
  struct Lost {
    std::string what;
    Duration since;
  };
  std::optional<Lost> lost() const;
  // Tells the core of queues that changed. Before each Core::Decide. True: they were read again,
  // and queue_notes() with them.
  bool Prepare();
  // As of the last Prepare.
  const std::vector<FieldsNote>& queue_notes() const { return queue_notes_; }
  // What the scheduler cannot do without (nodes, pods, Jobs) cannot be read.
  const std::optional<Error>& fatal() const { return fatal_; }
  // The groups and queues that we may not read, each with the rule that would allow it.
  std::vector<std::string> Unread() const;
  // Something changed since the last call.
  bool TakeChanged() { return std::exchange(changed_, false); }
  size_t pods() const { return pods_->known().all().size(); }
  size_t nodes() const { return nodes_->known().all().size(); }

 private:
  struct Optional;  // a kind that may not be served
  struct Told {     // to the core
    std::vector<Queue> queues;
    std::vector<Flavor> flavors;
    QueueWords words;
    bool operator==(const Told&) const = default;
  };
  void AddGroupKind(const kube::Resource& resource, kube::KnownObjects<GroupFacts>::Decode decode,
                    Dialect dialect);
  void AddQueueKind(const kube::Resource& resource, std::vector<std::string> older);
  kube::Followed All(const kube::Resource& resource) const;
  void Note(const std::string& text);
  std::vector<ManifestFile> QueueFiles() const;
  void NoteQueues(const Gangs& gangs);
  QueueWords WordsFrom(const Gangs& gangs) const;

  kube::Client& client_;
  Core& core_;
  OnNote on_note_;
  const Reads reads_;
  std::optional<Error> fatal_;
  bool changed_ = false, queues_changed_ = false;
  std::unique_ptr<kube::Reflector<NodeSeen>> nodes_;
  std::unique_ptr<kube::Reflector<PodSeen>> pods_;
  std::unique_ptr<kube::Reflector<GroupFacts>> jobs_;
  std::vector<std::unique_ptr<Optional>> optional_;
  std::vector<FieldsNote> queue_notes_;
  Told told_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::kubesched
