// Decisions out: what the scheduler core wants done and says, as plain values, in the order in
// which they are to be done.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sched/event.h"

namespace muster::sched {

// Figures of a reason, in the order in which they are written: {"queue","ml-prod"},{"short","8"}.
using DetailValue = std::variant<int64_t, std::string, std::vector<int64_t>>;
using Detail = std::vector<std::pair<std::string, DetailValue>>;

struct Because {
  std::string code;  // QUOTA GANG TOPOLOGY SHAPE HEALTH TAINT SELECTOR ORDER RESERVED LIMIT
  Detail detail;
  bool operator==(const Because&) const = default;
};

// For a person: "queue=ml-prod short=8", "QUOTA queue=ml-prod short=8".
std::string TextOf(const Detail& detail);
std::string TextOf(const Because& because);

struct AdmitDecision {
  std::string job;
  std::map<std::string, std::map<std::string, std::string>> flavors;  // task -> resource -> flavor
};
struct BindDecision {
  std::string job, task;
  int rank = 0;
  std::string node;
  std::vector<std::pair<std::string, std::vector<int>>> devices;  // resource -> ids, by name
  std::vector<int> numa;  // zones that the devices and CPUs are from; empty = not known
};
struct EvictDecision {
  std::string job;
  std::string code;     // PREEMPT RECLAIM REPAIR HEALTH ORDER MAX_WAIT
  std::string for_job;  // empty = for none
};
struct ShrinkDecision {
  std::string job, task;
  std::vector<int> ranks;
  std::string code, for_job;
};
struct PendingDecision {
  std::string job;
  std::vector<Because> because;
  std::vector<Event> would_start_if;
};
struct RejectDecision {
  std::string job;
  Because why;
};
struct ReserveDecision {
  std::string job;
  TimeMs start = 0;  // -1 = the promise is taken back
  std::vector<std::string> nodes;
  std::string why;  // only where it is later than before, or taken back
};
struct FinishDecision {
  std::string job;
  std::string why;  // DONE LIMIT CANCELLED FAILED
};
struct AnswerDecision {
  std::string ask, about;  // "whatif" | "why"
  // whatif: -1 = it does not start.
  TimeMs start = -1, was = -1;
  std::string state;  // why: "pending" | "running" | "finished" | "rejected" | "unknown"
  std::vector<Because> because;
  std::vector<Event> would_start_if;
};

using DecisionBody =
    std::variant<AdmitDecision, BindDecision, EvictDecision, ShrinkDecision, PendingDecision,
                 RejectDecision, ReserveDecision, FinishDecision, AnswerDecision>;
struct Decision {
  TimeMs t = 0;
  DecisionBody body;
};

}  // namespace muster::sched
