// One all-reduce of the lab: which nodes and rails take part, what NCCL would decide, and how fast
// the modelled fabric lets it run. The real rank program, the single-host tool and the modelled run
// of large labs all print from here, so they tell one story.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/lab/nccl/sweep_args.h"
#include "backend/lab/state/lab_state.h"

namespace muster::lab {

// What of NCCL's environment the lab obeys.
struct NcclEnv {
  std::string algo;   // NCCL_ALGO: "Ring", or empty
  std::string hca;    // NCCL_IB_HCA: "=mlx5_3", "mlx5_0,mlx5_1", "^mlx5_4", or empty
  bool debug = true;  // NCCL_DEBUG=INFO
};

// NCCL_IB_HCA takes prefixes; "=" makes them exact, "^" turns the choice around, empty takes all.
bool HcaWanted(std::string_view filter, std::string_view device);

struct Job {
  const LabState* state = nullptr;
  std::vector<std::string> nodes;  // in rank order
  int ranks_per_node = 1;
  std::vector<int> rails;  // that it uses, empty for one node
  SweepArgs sweep;
  NcclEnv env;
  TimePoint now;

  int world() const { return static_cast<int>(nodes.size()) * ranks_per_node; }
  const Node& NodeOf(int rank) const;
};

// kInvalid when a node is not of the lab or has fewer GPUs that answer than ranks_per_node.
Result<Job> MakeJob(const LabState& state, std::vector<std::string> nodes, int ranks_per_node,
                    SweepArgs sweep, NcclEnv env, TimePoint now);

// Ring or Tree for this size; the choice is NCCL's only in kind: Tree for small messages, and on
// two nodes for all of them unless the environment forces Ring (then a tree sends every byte over
// the adapters once, not 2(n-1)/n times).
std::string_view AlgorithmFor(const Job& job, uint64_t bytes);
// Bus bandwidth in 10^9 B/s as nccl-tests computes it; 0 for one rank.
double ModelledBusBandwidth(const Job& job, uint64_t bytes);
// Results that the job's faults make wrong, over all ranks, for one message.
int64_t ModelledWrong(const Job& job);

// nccl-tests' text, after src/util.cu of version 2.17.
std::string TableHead(const Job& job, std::string_view note);
std::string TableColumns();
struct RowWrong {
  bool checked = true;
  int64_t count = 0;
};
std::string TableRow(const Job& job, uint64_t bytes, RowWrong wrong);
std::string TableFoot(const Job& job, int64_t wrong);

// NCCL's INFO lines of one rank up to its first collective, after the sources of NCCL 2.26, and the
// line of the TUNING subsystem that rank 0 prints for a message.
std::string RankLog(const Job& job, int rank, int pid);
std::string TuningLine(const Job& job, int pid, uint64_t bytes);

}  // namespace muster::lab
