// Replays a cluster script and the decisions that a scheduler made on it, and says each place where
// the decisions break the definition of the cluster script. It believes nothing: capacity, devices,
// quota, topology, run times and digests are all counted again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "state.h"

namespace sched_checker {

// The rules, by the word that a finding carries:
//   FORMAT     a line of decisions that is no such line, or names what does not exist
//   LINES      lines out of order, or binds of one gang that do not stand together
//   CAPACITY   cpu, memory or devices given twice or beyond the node
//   DEVICES    a bind names other devices than its shape asks for
//   USABLE     a bind on a node that is absent, cordoned, failed or not accepted
//   GANG       a gang that is bound, shrunk or left in part
//   PLACE      selector, taint, flavor labels
//   TOPOLOGY   required domain, slices
//   NUMA       what the node's topology manager would refuse (simple rules; off by default)
//   QUOTA      quota of a queue of the chain
//   FINISH     a run without its finish line, or one at a wrong time or for a wrong reason
//   PREEMPT    an eviction that no policy allows
//   USELESS    an eviction whose job does not start, or would have started without it
//   RESERVE    a reserved start that was not kept and not moved for a reason
//   PENDING    a waiting job that is not said to be waiting, or a line for one that is not
//   BECAUSE    a reason that does not hold
//   STARTABLE  a job that is left waiting for lack of room although it could start (small cases)
//   MAX_WAIT   a job beyond its longest wait although it could start (small cases)
//   WOULD      a would_start_if after which the job could not start (small cases)
//   REJECT     a rejection that some usable node refutes
//   ANSWER     a question without its answer
//   SUMMARY    digest or counts
struct Violation {
  std::string rule;
  int script_line = 0;    // the event it is about; 0 = none
  int decision_line = 0;  // the decision it is about, or the last one read
  std::string text;
};

struct Options {
  bool numa = false;       // the simple rules of NUMA
  bool deep = true;        // exact search on small cases
  size_t deep_nodes = 24;  // what counts as small
  size_t deep_jobs = 60;   // waiting and running together
};

struct Report {
  std::vector<Violation> violations;
  size_t events = 0, decisions = 0, binds = 0, evictions = 0;
  size_t searched = 0;  // exact searches that gave an answer
};

// Throws BadInput when a line of the script is not one ("line 3: ...").
Report Check(std::string_view script, std::string_view decisions, const Options& options);

}  // namespace sched_checker
