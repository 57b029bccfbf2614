// One rank of all_reduce_perf in a lab: a process of its own that meets its peers, moves and checks
// real data, and (rank 0) prints the table whose times come from the modelled fabric, saying so.
#pragma once

#include <span>
#include <string>

#include "world/world.h"

namespace muster::lab {

// Reads RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT, MUSTER_LAB (the lab's folder),
// MUSTER_NODE, and if set NCCL_ALGO, NCCL_IB_HCA, NCCL_DEBUG and MUSTER_RENDEZVOUS_TIMEOUT_S (20).
// Prints on stdout as the program does. Returns nccl-tests' own exit codes: 0, 1 for bad use or
// wrong results, 3 when a peer is missing or lost, 5 when there are not enough GPUs.
int AllReduceRankMain(std::span<const std::string> args, World& world);

}  // namespace muster::lab
