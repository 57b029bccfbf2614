// Running a gang: all ranks start together or none does. A rank is a real process on a node with
// the identity that torchrun users know: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "world/processes.h"

namespace muster {

struct GangSpec {
  std::string name;                // labels everything it leaves behind
  std::vector<std::string> nodes;  // in rank order
  int ranks_per_node = 1;
  int gpus_per_rank =
      1;  // what each rank asks for; more than a node has is refused before any start
  std::vector<std::string> argv;           // the same for all ranks
  std::map<std::string, std::string> env;  // added to the rank identity
  Duration timeout = std::chrono::minutes(5);

  // What only a cluster's ranks can mean; elsewhere the ranks of a node are its processes anyway,
  // and `nodes` says where they run.
  bool pod_a_node = false;     // one pod on each node holds its ranks, and their output is read
  bool exactly_there = false;  // the pods go to `nodes`, in order, past the scheduler
  std::string image = {};      // empty = the site's
};

struct RankResult {
  int rank = 0;
  std::string node;
  Duration started_after{};  // from the gang's start
  CommandResult result;
};
struct GangResult {
  std::vector<RankResult> ranks;  // in rank order, one for each that was started
  bool all_started = false;
  Duration took{};
};

class Jobs {
 public:
  virtual ~Jobs() = default;
  // kRefused (with the reason, nothing started) when the gang cannot be placed whole. A rank that
  // fails, or never starts, is in the result. Everything it started has ended, or was ended, when
  // it returns.
  virtual Result<GangResult> RunGang(const GangSpec& spec) = 0;
  // What of a gang's is still there: processes, files, pods. Empty means proven gone.
  virtual Result<std::vector<std::string>> Leftovers(const std::string& gang_name) = 0;
};

}  // namespace muster
