// One node behind probe pods, as ports. While reads are foreseen it notes what they ask and answers
// with nothing; then it answers from what the pod brought, and sends another pod for what was not
// foreseen.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/kubernetes/probe_pods.h"
#include "world/world.h"

namespace muster::kubernetes {

// `kubectl get --raw PATH`: a question to the API server, not to a node.
bool IsRawGet(const Command& command);

class ProbeNode final : public Processes {
 public:
  // `pods`, `api` (which answers raw gets) and `clock` are borrowed.
  ProbeNode(ProbePods& pods, Processes& api, std::string name, Clock& clock);

  Result<CommandResult> Run(const Command& command) override;
  Result<std::unique_ptr<Child>> Start(const Command& command, const std::string& log) override;
  Files& files() { return *files_; }
  Http& http() { return *http_; }

  void Note(bool noting) { noting_ = noting; }
  bool asks_the_time() const { return asks_the_time_; }
  std::vector<Command> TakeNoted();
  void Learn(const std::vector<Command>& commands, ProbePods::Answers answers);
  void Forget();

 private:
  using Key = std::vector<std::string>;
  static Key KeyOf(const Command& command);
  Result<CommandResult> Time();

  ProbePods& pods_;
  Processes& api_;
  const std::string name_;
  std::unique_ptr<Files> files_;
  std::unique_ptr<Http> http_;
  bool noting_ = false, asks_the_time_ = false;  // set while nobody else asks
  std::mutex mutex_;                             // guards what follows
  std::map<Key, Result<CommandResult>> known_;
  std::map<Key, Command> noted_;
};

}  // namespace muster::kubernetes
