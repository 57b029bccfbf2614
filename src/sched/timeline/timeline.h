// What happened, as a cluster script and the decisions made on it tell it: which rank held which
// GPUs of which node from when to when, who waited, how much was used. Read from the two files
// alone, so that a live hour, a trace and a simulation are drawn alike.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::timeline {

struct Node {
  std::string name;
  std::vector<std::string> path;  // domains, outermost first: spine, leaf
  int gpus = 0;                   // devices of the resource ending in "/gpu"
  int64_t since = 0, until = -1;  // virtual ms there; -1 = to the end. A failed node is not there.
};

// One rank on one node, from its bind to its end, loss, shrink or eviction.
struct Stay {
  size_t job = 0, node = 0;    // indexes into Timeline
  int64_t start = 0, end = 0;  // virtual ms
  double gpus = 0;             // whole devices, or a share of one
  std::vector<int> devices;    // ids
};

struct Job {
  std::string name, queue;
  int64_t submitted = 0;
  int64_t first_start = -1;  // -1 = never
  int64_t over = -1;         // finished, cancelled or rejected; -1 = not by the end
  int evictions = 0;
  double gpus = 0;  // of all ranks asked for
  // Spans in which it waited: before its start, and after an eviction.
  std::vector<std::pair<int64_t, int64_t>> waits;
};

struct Timeline {
  std::vector<Node> nodes;  // by path, then name
  std::vector<Job> jobs;    // in the order of submission
  std::vector<Stay> stays;  // by start
  int64_t end = 0;          // last time named in either file
};

// Errors are kParse and name the file's kind and the line. Lines of decisions that name a job or
// node that the script does not have are errors.
Result<Timeline> ReadTimeline(std::string_view script, std::string_view decisions);

// The state at one time.
struct Moment {
  int64_t t = 0;
  double gpus = 0, used = 0;  // present, in use
  // Idle GPUs on nodes that are partly in use: what a gang of whole nodes cannot have.
  double stranded = 0;
  int running = 0, waiting = 0;
  double gpus_waited_for = 0;
  std::vector<double> used_by_queue;  // by Queues()
};
std::vector<std::string> Queues(const Timeline& timeline);  // sorted
// At each change, or at most `most` evenly spaced times; the last is the end.
std::vector<Moment> Moments(const Timeline& timeline, size_t most);
Moment At(const Timeline& timeline, int64_t t);

// Who sits on each device of a node at `t`: an index into jobs, or -1 for idle.
struct Seats {
  size_t node = 0;
  std::vector<int> jobs;
};
std::vector<Seats> SeatsAt(const Timeline& timeline, int64_t t);  // of the nodes present then

}  // namespace muster::timeline
