// The replay behind Check(): one object that walks through both files. Private to the .cc files of
// the checker; rules that need more than one line stand in rules_*.cc.
#pragma once

#include <algorithm>

#include "checker.h"
#include "placement.h"
#include "quota.h"

namespace sched_checker {

struct Line {
  int number = 0;
  int64_t t = 0;
  Json json;
};

class Replay {
 public:
  Replay(std::string_view script, std::string_view decisions, const Options& options);
  Report Run();

 private:
  // What is known of a waiting job beside its state.
  struct Waiting {
    int line = 0;  // of its last `pending`
    int64_t said_at = -1;
    std::vector<std::string> codes;
    Json would;
    bool fresh = false;  // said at this t
  };
  struct Reserved {
    int64_t start = 0, made_at = 0;
    int line = 0;
    std::vector<std::string> nodes;
  };
  struct Victim {
    std::string job;
    std::map<Rank, Bound> ranks;
    int line = 0;
    bool shrunk = false;
  };
  struct Eviction {  // all evictions for one job at one t
    std::vector<Victim> victims;
    std::optional<State> at_bind;  // the state when that job's binds began; small cases
  };

  // --- walking (replay.cc)
  void ReadDecisions(std::string_view text);
  int64_t NextTime() const;
  void Step(int64_t t);
  void Event(const Line& line);
  void Decision(const Line& line);
  void EndOfTime();
  void Summary(const Line& line);
  void Finish(const Line& line);
  void Say(const std::string& rule, const std::string& text, const Job* job = nullptr,
           int line = 0);
  Job* Named(const Line& line, const char* key = "job");
  bool Small() const;

  // --- binds (rules_bind.cc)
  void Admit(const Line& line);
  void Bind(const Line& line);
  void CheckDevices(const Job& job, const Task& task, const Node& node, const Bound& bound);
  void CheckPlace(const Job& job, const Task& task, const Node& node);
  void CheckNuma(const Task& task, const Node& node, const Bound& bound);
  void Charge(const Job& job, const Task& task, Bound* bound);
  void CloseGang();
  void CheckTopology(const Job& job);
  void SetEnd(Job& job);

  // --- evictions (rules_evict.cc)
  void Evict(const Line& line);
  void Shrink(const Line& line);
  void CheckPolicy(const Job& victim, const Json& why);
  void CheckUseful();

  // --- waiting (rules_wait.cc)
  void Pending(const Line& line);
  void Reject(const Line& line);
  void Reserve(const Line& line);
  void CheckBecause(const Job& job, const Waiting& waiting);
  void CheckWaiting();
  void CheckReserved();
  void CheckWould(const Job& job, const Waiting& waiting);

  Options options_;
  Report report_;
  State state_;
  std::vector<Line> events_, decisions_;
  size_t next_event_ = 0, next_decision_ = 0;
  int line_ = 0;  // of decisions, the last one read
  std::optional<int64_t> end_at_;
  int64_t horizon_ = 0;
  std::string digest_input_;
  bool summed_ = false;
  std::map<std::string, std::vector<int64_t>> finish_lines_;  // job -> times

  std::map<std::string, std::string> owed_;  // finish lines that this t owes: job -> why
  std::set<std::string> hurt_;               // jobs that lost ranks at this t
  std::set<std::string> became_pending_;
  std::map<std::string, Eviction> evictions_;
  std::set<std::string> bound_now_;
  std::vector<std::pair<int, std::string>> asked_;  // script line, job
  std::set<std::string> answered_;

  std::string gang_;  // the job whose binds are being read
  ChainUse gang_before_;
  bool gang_repairs_ = false;
  bool gang_starts_ = false;

  std::map<std::string, Waiting> waiting_;
  std::map<std::string, Reserved> reserved_;
  int64_t disturbed_at_ = -1;       // last time something happened that may move a reserved start
  std::map<int, int64_t> arrived_;  // priority -> last time such a job was submitted or put back
};

}  // namespace sched_checker
