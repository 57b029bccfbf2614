// Events in: what the scheduler core is told, as plain values. A live watch, a trace and a cluster
// script are all turned into these, so a recorded hour can be decided again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/workload.h"

namespace muster::sched {

using TimeMs = int64_t;  // virtual time, milliseconds

struct NumaZoneSpec {
  Resources amounts;  // cpu, memory
  std::map<std::string, std::vector<int>> devices;
};
// As the kubelet's configuration spells its values.
struct TopologyManagerSpec {
  std::string policy = "none", scope = "container", cpu_manager = "none", memory_manager = "none";
  Resources reserved;
};

struct TopologyLevels {
  std::vector<std::string> levels;  // outermost first, ends with "node"
};
struct NodeAdd {
  std::string name;
  std::vector<std::string> at;  // one name a level above "node"; empty = in no domain
  std::map<std::string, std::string> labels;
  std::vector<Taint> taints;
  Resources capacity;
  std::vector<NumaZoneSpec> numa;
  TopologyManagerSpec topology_manager;
};
enum class NodeVerb : uint8_t { kRemove, kCordon, kUncordon, kFail };
struct NodeChange {
  std::string name;
  NodeVerb verb;
};
enum class Health : uint8_t { kAccepted, kSuspect, kOut };
struct NodeHealth {
  std::string name;
  Health value;
};
struct FlavorAdd {
  Flavor flavor;
};
struct QueueAdd {
  Queue queue;
};
struct QuotaChange {
  std::string queue;
  std::string flavor, resource;
  std::optional<int64_t> nominal, borrow, lend;  // absent = as it was
};
struct JobSubmit {
  Job job;
};
enum class JobVerb : uint8_t { kCancel, kFinish };
struct JobEnd {
  std::string name;
  JobVerb verb;
};
struct TaskFail {
  std::string name, task;
  int rank = 0;
};
// A job that runs already, as a scheduler finds it that was started again: its ranks hold what they
// hold, whatever quota and priority say. Ranks without a seat have ended (TaskAgain brings them
// back). kInvalid, and nothing is taken, where a seat does not fit its node.
struct JobAdopt {
  struct Seat {
    std::string task;
    int rank = 0;
    std::string node;
  };
  Job job;
  std::vector<Seat> seats;
};
// The rank's work is over: it gives its room back and is not placed again. With its last rank a job
// is done.
struct TaskEnd {
  std::string name, task;
  int rank = 0;
};
// A rank that had ended asks for a place once more, beside its gang.
struct TaskAgain {
  std::string name, task;
  int rank = 0;
};
struct AskWhy {
  std::string name;
};
struct Event;
struct AskWhatIf {
  std::vector<Event> change;
  std::vector<std::string> about;
};
struct End {};

using EventBody =
    std::variant<TopologyLevels, NodeAdd, NodeChange, NodeHealth, FlavorAdd, QueueAdd, QuotaChange,
                 JobSubmit, JobAdopt, JobEnd, TaskFail, TaskEnd, TaskAgain, AskWhy, AskWhatIf, End>;
struct Event {
  TimeMs t = 0;
  EventBody body;
  int line = 0;  // in the script, from 1; 0 = from nowhere
};

}  // namespace muster::sched
