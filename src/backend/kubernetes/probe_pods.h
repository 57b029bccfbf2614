// The nodes' own tools, run by short privileged pods: one pod a node brings what will be asked in
// one go and then tells the node's clock; what was not foreseen gets a pod of its own. Pods are
// pinned by node name past every scheduler, their logs are read, and they are removed and looked
// for. What a killed look left carries a label, and the next one removes it first.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/kubernetes/probe_script.h"
#include "kube/client.h"
#include "model/site.h"
#include "world/world.h"

namespace muster::kubernetes {

inline constexpr std::string_view kProbeLabel = "muster.dev/probe";

struct ProbePodsOptions {
  muster::ProbePods site;
  std::string site_name;
  std::string state_folder;  // where the lock lies that lets one look at a time have pods out
  Duration until_gone = std::chrono::seconds(60);
  Duration lock_within = std::chrono::minutes(2);
  Duration every = std::chrono::milliseconds(300);
  size_t at_once = 64;
};

// Safe for threads.
class ProbePods {
 public:
  // Borrowed. `client_mutex` guards `client`, which is one thread's at a time.
  ProbePods(kube::Client& client, std::mutex& client_mutex, Files& files, ProbePodsOptions options);
  ~ProbePods();  // removes what is still out

  using Answers = std::vector<Result<CommandResult>>;
  // By node: the answers in order, each or why there is none. With `clock` the pod goes on telling
  // the node's time until Remove().
  std::map<std::string, Answers> Run(const std::map<std::string, std::vector<Command>>& commands,
                                     bool clock);
  // The node's time now, as `date +%s.%N` prints it, not older than some hundredths of a second.
  // kUnavailable where no pod tells it: a pod's start takes longer than a clock may be off.
  Result<std::string> Time(const std::string& node);
  // A pod that runs the command until it is killed. It runs when this returns.
  Result<std::unique_ptr<Child>> Start(const std::string& node, const Command& command);
  // Removes every pod of this object and looks until all are gone. kTimeout names what stays.
  Status Remove();

 private:
  // One pod and what it is to bring.
  struct Flight {
    std::string node, name, mark;
    std::vector<Command> commands;
    int ticks = 0;
    Duration created{}, longest{};  // `longest`: all its commands may take, one after the other
    std::optional<Duration> running;
    bool over = false;
    bool there = false, has_run = false;  // as it was last listed, with what follows
    std::string phase, word;
    Answers answers;

    void End(Code code, const std::string& why);
    void End(const ProbeLog& log);
  };
  class Held;
  Status Prepare();
  Status Sweep();
  Result<std::vector<std::string>> Labelled(const std::string& selector);
  Status Delete(const std::string& pod);
  Flight Plan(const std::string& node, const std::vector<Command>& commands, int ticks);
  void Create(Flight& flight);
  Status Look(std::vector<Flight>& flights);
  void Step(Flight& flight);
  void ReadAnswers(Flight& flight);
  void Landed(const Flight& flight, bool clock);
  Result<std::string> Log(const std::string& pod, bool last_line);
  Result<std::string> Ask(kube::Request request);
  Duration Now() { return client_.clock().Monotonic(); }
  std::string Own() const;

  kube::Client& client_;
  std::mutex& client_mutex_;
  Files& files_;
  const ProbePodsOptions options_;
  const std::string run_;  // tells this object's pods from all others
  std::mutex mutex_;       // guards what follows
  std::unique_ptr<FileLock> lock_;
  std::optional<Status> prepared_;
  std::set<std::string> out_;                                          // pods that may be there
  std::map<std::string, std::pair<std::string, std::string>> clocks_;  // node: pod and mark
  int made_ = 0;
};

// The pod as it is sent to the API server; what `plan` tells of it is made from the same.
std::string ProbePodJson(const ProbePodsOptions& options, const std::string& run,
                         const std::string& name, const std::string& node,
                         const std::vector<std::string>& words, int64_t deadline_s);

}  // namespace muster::kubernetes
