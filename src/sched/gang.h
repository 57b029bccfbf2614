// A job as the scheduler core counts it: groups of ranks with shape classes, wishes, times, and
// what its ranks hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sched/event.h"
#include "sched/shape.h"
#include "sched/shape_class.h"

namespace muster::sched {

// What one rank costs in quota.
struct Charge {
  int item;  // a flavor and a resource (queues.h)
  int64_t amount;
  bool operator==(const Charge&) const = default;
};

enum class JobState : uint8_t { kPending, kRunning, kFinished, kRejected };

struct GangGroup {
  std::string name;
  int count = 1, min = 1;
  int first_rank = 0;  // of this group in Gang::slots
  Shape shape;
  LabelPairs select;
  std::vector<Toleration> tolerate;
  int shape_class = -1;         // without a flavor's labels
  std::vector<Charge> charges;  // of one rank, in the flavors chosen last
  int run_class = -1;           // with the labels of those flavors
};

// Levels as numbers; -1 = no wish.
struct GangTopology {
  int required = -1, preferred = -1, slice_level = -1, slice_size = 0;
};

struct Gang {
  std::string name;
  int queue = -1;
  int priority = 0;
  bool preemptible = true;
  std::vector<GangGroup> groups;
  GangTopology topology;
  int elastic_min = 0, elastic_max = 0;
  std::optional<int64_t> duration, limit, checkpoint_every, max_wait;

  int64_t sequence = 0;  // order of submission
  TimeMs submitted = 0;
  TimeMs waiting_since = 0;  // when it became pending last
  TimeMs first_started = -1;
  bool kept_waiting = false;  // started because of max_wait: equals that are older leave it alone
  bool overdue = false;       // max_wait has passed before the first start

  JobState state = JobState::kPending;
  std::vector<Slot> slots;  // by group's first_rank + rank; node -1 = not bound
  int bound = 0;
  TimeMs lost_at = -1;          // when it last lost ranks and went on without them
  TimeMs promised = -1;         // the reserved start that was said last
  TimeMs bound_at = 0;          // of this run
  TimeMs run_began = 0;         // the same, or its last repair
  TimeMs ends = -1;             // -1 = not known
  TimeMs expected = -1;         // where the end is not known: learned from earlier runs
  std::optional<int64_t> left;  // of duration
  int generation = 0;           // of timers
};

}  // namespace muster::sched
