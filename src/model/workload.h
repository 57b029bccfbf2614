// Work that waits for hardware: gangs of tasks, the queues they wait in, the flavors of hardware
// they are charged to. The one model that every dialect (Volcano, Kueue, native, Slurm, a cluster
// script) is read into and that the scheduler places. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

// Amounts by resource name: "cpu" in milli-CPU, "memory" and "ephemeral-storage" in bytes,
// "gpu_milli" in thousandths of one device; everything else, devices ("nvidia.com/gpu") included, a
// plain count.
using Resources = std::map<std::string, int64_t>;

struct Taint {
  std::string key, value, effect;  // "NoSchedule" | "NoExecute" | "PreferNoSchedule"
  bool operator==(const Taint&) const = default;
};
struct Toleration {
  std::string key;            // empty with "Exists" tolerates every taint
  std::string op;             // "Equal" (also when empty) | "Exists"
  std::string value, effect;  // empty effect = every effect
  bool operator==(const Toleration&) const = default;
};

// Tasks of one role in a gang that are alike ("launcher", "worker"). Ranks are 0 to count - 1
// within the group.
struct TaskGroup {
  std::string name;
  int count = 1;
  int min = 1;                                // at least this many start together
  Resources shape;                            // of one task
  std::map<std::string, std::string> select;  // node labels that must be equal
  std::vector<Toleration> tolerate;
};

struct TopologyWish {
  std::string required, preferred;  // a level's name; empty = none
  int slice_size =
      0;  // ranks [k x size, (k+1) x size) of a group share a domain of slice_level; 0 = none
  std::string slice_level;
  bool operator==(const TopologyWish&) const = default;
};

struct Job {
  std::string name;
  std::string queue = "default";
  int priority = 0;  // higher goes first
  bool preemptible = true;
  std::vector<TaskGroup> tasks;
  TopologyWish topology;
  std::optional<int64_t> duration_ms;          // declared run time from the bind of the gang
  std::optional<int64_t> limit_ms;             // ended then, done or not
  std::optional<int64_t> checkpoint_every_ms;  // what an eviction does not lose
  std::optional<int64_t> max_wait_ms;          // from submit to first start
  int elastic_min = 0, elastic_max = 0;        // ranks in all; 0 = not elastic
};

struct Flavor {  // a kind of hardware that quota is given in: the nodes with these labels
  std::string name;
  std::map<std::string, std::string> labels;
  std::vector<Taint> taints = {};         // that its nodes have
  std::vector<Toleration> tolerate = {};  // that it gives to pods for them
  bool operator==(const Flavor&) const = default;
};

struct QuotaEntry {
  std::string flavor, resource;
  int64_t nominal = 0;
  std::optional<int64_t> borrow;  // limit above nominal; absent = none
  std::optional<int64_t> lend;    // limit of what others may take of nominal; absent = all
  bool operator==(const QuotaEntry&) const = default;
};

enum class QueueOrder { kFifo, kBestEffortFifo, kFair };
enum class PreemptWithin { kNever, kLowerPriority, kLowerOrNewerEqual };
enum class ReclaimPolicy { kNever, kLowerPriority, kAny };
enum class BorrowPolicy { kNever, kLowerPriority };

struct Queue {
  std::string name;
  std::string parent;  // empty = a root; a root borrows nothing
  int64_t weight = 1;
  QueueOrder order = QueueOrder::kBestEffortFifo;
  std::vector<QuotaEntry> quota;
  PreemptWithin within = PreemptWithin::kNever;
  ReclaimPolicy reclaim = ReclaimPolicy::kNever;
  BorrowPolicy borrow = BorrowPolicy::kNever;
  // Of several flavors: one that needs no borrowing before an earlier one that does; and evictions
  // for the first before the next is looked at.
  bool borrows_last = false, evicts_first = false;
  bool operator==(const Queue&) const = default;
};

}  // namespace muster
