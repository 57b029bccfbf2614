// The jobs that wait, by kind: jobs that ask the same of the same queue stand or fall together, so
// one failed try answers for all of them until something changes that could help.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/gang.h"

namespace muster::sched {

// One choice of flavors for a gang: what a rank of each group is charged, and its shape class with
// the flavors' labels.
struct Assignment {
  struct Group {
    std::vector<Charge> charges;
    int run_class = -1;
    int calm_class = -1;  // the same without nodes that had better be left alone
  };
  std::vector<Group> groups;
};
// What so many ranks of each group are charged, by item.
std::map<int, int64_t> Asked(const Assignment& assignment, const std::vector<int>& counts);

// Overdue (max_wait) first, then priority, then order of submission.
struct PendingKey {
  bool on_time = true;
  int64_t negative_priority = 0;
  int64_t sequence = 0;
  int job = -1;
  auto operator<=>(const PendingKey&) const = default;
};

struct PendingKind {
  int queue = -1;
  std::set<PendingKey> jobs;
  std::vector<Assignment> assignments;
  int64_t assignments_version = -1;  // of the queues
  // Of the last failed try; blocked = false: nothing was tried yet.
  bool blocked = false;
  int64_t gains_seen = 0, refunds_seen = 0, charges_seen = 0, quota_seen = 0, standing_seen = 0;
};

struct PendingJobs {
  std::vector<PendingKind> kinds;
  std::unordered_map<std::string, int> kind_ids;
  std::vector<int> kind_of;                    // by job; -1 = not pending
  std::vector<int> fresh;                      // kinds that have become ready
  std::set<int> active;                        // kinds with jobs
  std::vector<std::set<PendingKey>> by_queue;  // by queue
  std::set<std::pair<PendingKey, int>> awake;  // heads of kinds to try in this round, with the kind

  // Nodes where room was given back, oldest first. A class remembers how far it has looked and
  // where it last found room for itself.
  std::vector<int> gains;
  int64_t gains_begin = 0;
  struct ClassGain {
    int64_t looked = 0, found = -1;  // found: with room for a rank now
    int64_t matched = -1;            // on a node that it may use at all
  };
  std::vector<ClassGain> by_class;
  // How often quota was given back and taken in the tree of a root, by queue id.
  std::vector<int64_t> refunds, charges;

  void Grow(int queues) {
    const size_t n = static_cast<size_t>(queues);
    if (by_queue.size() < n) by_queue.resize(n), refunds.resize(n, 0), charges.resize(n, 0);
  }
  // Forgets gains of long ago; who has not looked at them yet is treated as helped by them.
  void TrimGains() {
    if (gains.size() < 65536) return;
    gains_begin = gains_end();
    gains.clear();
  }
  int64_t gains_end() const { return gains_begin + static_cast<int64_t>(gains.size()); }
};

}  // namespace muster::sched
