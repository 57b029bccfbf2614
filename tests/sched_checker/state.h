// The state of the cluster as the checker keeps it: nodes, devices, queues, jobs and who holds
// what, driven by the events of a script and by the lines of a decisions file. It is written from
// the definition of the cluster script alone and shares no code with the scheduler that it judges.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace sched_checker {

using Json = nlohmann::ordered_json;
using Amounts = std::map<std::string, int64_t>;
using Labels = std::map<std::string, std::string>;
constexpr int kWholeDevice = 1000;  // thousandths of one device

// An input that cannot be read at all; the checker ends with exit code 2.
struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Taint {
  std::string key, value, effect;
};
struct Toleration {
  std::string key, op = "Equal", value, effect;
};

struct Zone {
  int64_t cpu = 0;  // milli
  std::map<std::string, std::set<int>> devices;
};

struct Node {
  std::string name;
  int script_line = 0;
  std::vector<std::string> at;
  Labels labels;
  std::vector<Taint> taints;
  Amounts capacity, used;                             // sums: cpu (milli), memory (bytes), others
  std::map<std::string, std::map<int, int>> devices;  // resource -> id -> thousandths in use
  std::vector<Zone> zones;
  std::string policy = "none", cpu_manager = "none";
  bool cordoned = false, failed = false;
  std::string health = "accepted";
  bool usable() const { return !cordoned && !failed && health == "accepted"; }
  std::string GpuResource() const;  // the one ending in "/gpu", or empty
};

struct QuotaEntry {
  int64_t nominal = 0;
  std::optional<int64_t> borrow, lend;
};
using FlavorResource = std::pair<std::string, std::string>;
struct Queue {
  std::string name, parent;
  std::string order = "best-effort-fifo", within = "never", reclaim = "never", borrow = "never";
  std::map<FlavorResource, QuotaEntry> quota;
};

struct Task {
  std::string name;
  int count = 1, min = 1;
  Amounts shape;
  Labels select;
  std::vector<Toleration> tolerate;
};

struct Bound {
  std::string node;
  std::map<std::string, std::vector<int>> devices;
  std::vector<int> numa;
  std::vector<std::pair<FlavorResource, int64_t>> charged;
};
using Rank = std::pair<int, int>;  // index of the task, rank in it

struct Job {
  std::string name, queue = "default";
  int priority = 0, order = 0, script_line = 0;
  bool preemptible = true;
  std::vector<Task> tasks;
  std::string required, slice_level;
  int slice_size = 0;
  std::optional<int64_t> duration, limit, checkpoint_every, max_wait;
  int elastic_min = 0, elastic_max = 0;

  enum class Status { kPending, kRunning, kFinished, kRejected } status = Status::kPending;
  int64_t submitted = 0, started = 0;  // started: of this run
  std::optional<int64_t> first_start, left, ends;
  int64_t gang_bound = 0;  // when the gang was bound, before any repair
  std::map<Rank, Bound> ranks;
  std::set<Rank> lost;  // at `lost_at`
  int64_t lost_at = -1;
  bool rank_failed = false;  // lost by task.fail or with a node, at lost_at
  std::map<std::string, std::map<std::string, std::string>> flavors;  // task -> resource -> flavor
  bool Legal() const;  // min of every task and of elastic are bound
  bool elastic() const { return elastic_max > 0; }
};

struct State {
  int64_t now = 0;
  std::vector<std::string> levels;
  std::map<std::string, Node> nodes;
  std::map<std::string, Labels> flavors;
  std::map<std::string, Queue> queues;
  std::map<std::string, std::vector<std::string>> children;
  std::map<std::string, Job> jobs;
  std::map<std::pair<std::string, FlavorResource>, int64_t>
      direct_use;  // by jobs of the queue itself
  int submitted = 0;

  // Applies one event of a script. Jobs that it ended are added to `ended` with the word of their
  // finish line, those that lost ranks to `hurt`. Throws BadInput.
  void Apply(const Json& event, int line, std::map<std::string, std::string>* ended,
             std::set<std::string>* hurt);
  // Ends the run times that are over at `t`; like Apply.
  void EndRuns(int64_t t, std::map<std::string, std::string>* ended);

  void Take(Job& job, const Rank& rank, const Bound& bound);  // books it, whatever the sum is then
  void Free(Job& job, const Rank& rank);
  void FreeAll(Job& job);
  // What is left of the duration after an interruption at `t`.
  static std::optional<int64_t> LeftAfter(const Job& job, int64_t t);

  // The domain of a node at a level: a path prefix as text; nothing when the node has none there.
  std::optional<std::string> Domain(const Node& node, const std::string& level) const;
  // The queues from `queue` to its root; empty when it is not declared.
  std::vector<const Queue*> Chain(const std::string& queue) const;
};

// "96" -> 96000 for cpu, "1Ti" -> bytes for all else; JSON numbers too. Throws BadInput.
int64_t ParseAmount(const std::string& resource, const Json& value);
bool IsDevice(const std::string& resource);
bool Tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);
bool HasLabels(const Labels& have, const Labels& want);

}  // namespace sched_checker
