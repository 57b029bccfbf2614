// Makes the pods of Volcano Jobs on a cluster that has Volcano's kinds and not its controllers:
// watches Jobs and their pods, and does what volcano_job.h plans. The writes are those of a
// controller: each may be repeated, for what is there already is not made again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "backend/kubernetes/sched/volcano_job.h"
#include "kube/client.h"
#include "kube/core.h"
#include "kube/reflector.h"

namespace muster::kubesched {

class VolcanoJobs {
 public:
  using OnNote = std::function<void(const std::string&)>;
  // `leads` is asked before each write.
  using MakeKeys = std::function<Result<SshKeys>()>;
  VolcanoJobs(kube::Client& client, std::function<bool()> leads, OnNote on_note = {},
              MakeKeys make_keys = MakeSshKeys);
  void Start();
  // Plans what changed. Call it after each Poll.
  void Turn();
  bool idle() const { return synced() && dirty_.empty() && under_way_ == 0; }

 private:
  bool synced() const { return (jobs_.synced() || jobs_.stopped()) && pods_.synced(); }
  void Look(const std::string& key);
  std::vector<VolcanoPod> PodsOf(const std::string& key);
  void SayNotes(const kube::Object& job, const VolcanoJobPlan& plan, const std::string& key);
  void MakeObjects(const kube::Object& job, const VolcanoJobPlan& plan, const std::string& key);
  void LookAgainAt(TimePoint at, const std::string& key);
  void Create(const kube::Resource& resource, const std::string& ns, const std::string& body,
              const std::string& key);
  void Ask(kube::Request request, const std::string& key);

  kube::Client& client_;
  std::function<bool()> leads_;
  OnNote on_note_;
  kube::Reflector<kube::Object> jobs_;
  kube::Reflector<VolcanoPodSeen> pods_;
  MakeKeys make_keys_;
  std::map<std::string, std::set<std::string>> pods_of_;  // Job's key -> pods' keys
  std::map<std::string, int> busy_;                       // writes under way, by Job's key
  std::map<std::string, std::set<std::string>> leaving_;  // uids that were told to go
  // By Job's key, what vanished without an end and without our word: evicted by somebody.
  std::map<std::string, std::map<std::string, VolcanoPod>> vanished_;
  std::map<std::string, TimePoint> look_at_;
  std::set<std::string> made_;  // uids of Jobs whose group is made
  std::set<std::string> noted_;
  std::set<std::string> dirty_;
  size_t under_way_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::kubesched
