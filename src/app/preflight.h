// Preflight (P1): what must be so right before an expensive job, looked at now: GPUs, RDMA ports,
// NCCL's transport, rank 0's name, admission, shape, checkpoint path. Each check has a code
// (catalogue/preflight.yaml). It leaves nothing behind and changes nothing.
#pragma once

#include <string>
#include <vector>

#include "app/bringup.h"
#include "model/workload.h"

namespace muster {

struct PreflightOptions {
  std::vector<std::string> nodes;  // the job's; empty = all of the site
  std::vector<std::string> only;   // codes; empty = all
  std::vector<Job> jobs;           // what is to run, as its manifest says; empty = not asked
  std::string checkpoint;          // folder of the checkpoints; empty = not asked
  std::string rendezvous;          // rank 0's name; empty = the first node's
  bool collective = true;          // false: PRE-003 is left out, and UNKNOWN
};

struct PreflightCheck {
  std::string code, title, why, fix, source;
  Level level = Level::kUnknown;
  std::string text;                // what was found, in one line
  std::vector<std::string> found;  // one line for each thing that does not pass
  Origin origin = Origin::kLive;
  Duration took{};
};

struct Preflight {
  std::vector<PreflightCheck> checks;  // in the order of their codes
  Level level = Level::kUnknown;       // the worst that applies
};

// kInvalid for a node or a code that is not there.
Result<Preflight> RunPreflight(SiteContext& context, const PreflightOptions& options,
                               Progress& progress);

// The parts that need no site. Ranks of these shapes that the nodes take at once, greedily, a group
// after the other; a group that finds no room is named. Nodes are their GPUs only.
struct AdmissionAnswer {
  Level level = Level::kUnknown;
  std::string text;
};
AdmissionAnswer FitsWhole(const Job& job, const std::vector<Node>& nodes);
// Whether the GPUs of each group's shape lie within one NUMA domain, or are the whole node.
AdmissionAnswer FitsNuma(const Job& job, const std::vector<Node>& nodes);

// "Avail" of `df -P -B1 PATH`; nothing when it is no such answer.
std::optional<int64_t> FreeBytesOfDf(std::string_view text);

}  // namespace muster
