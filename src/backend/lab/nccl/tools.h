// The collective benchmark of a lab as one program of one host, and the modelled run that stands
// for a gang where a process a rank would be too many.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/lab/nccl/job.h"
#include "backend/lab/state/tool.h"

namespace muster::lab {

// all_reduce_perf over the GPUs of one host (-g). It prints NCCL's INFO lines always: a tool call
// has no environment.
std::span<const Tool> NcclTools();

// The output of all ranks of a gang, joined, as text alone: rank 0's table and every rank's log,
// with no process and no data. Exit codes as the program's. `args` are all_reduce_perf's; by
// default the sweep of gate 6 with NCCL_ALGO=Ring.
CommandResult ModelledAllReduce(const LabState& state, const std::vector<std::string>& nodes,
                                int ranks_per_node, TimePoint now,
                                std::span<const std::string> args, const NcclEnv& env);
CommandResult ModelledAllReduce(const LabState& state, const std::vector<std::string>& nodes,
                                int ranks_per_node, TimePoint now);

// The same for one rank of the gang, for callers that keep the outputs of ranks apart.
CommandResult ModelledRank(const Job& job, int rank);

}  // namespace muster::lab
