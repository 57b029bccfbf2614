// The command of an all-reduce sweep and the environment that makes NCCL say what it did.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace muster {

struct SweepSpec {
  std::string program = "all_reduce_perf";
  uint64_t from_bytes = 8, to_bytes = uint64_t{8} << 30;
  int factor = 2;
  int gpus_per_rank = 1;
  int iterations = 0;                 // 0 = the program's own 20
  size_t nodes = 1;                   // that the gang spans
  std::vector<std::string> adapters;  // exact list for NCCL_IB_HCA ("mlx5_3"); empty = all that the
                                      // inventory or NCCL finds
  bool never_tcp = false;             // NCCL_NET=IB: fail instead of falling back
};
// The short one for localisation: 1 to 4 GiB, three rows.
SweepSpec ShortSweep(size_t nodes);

// all_reduce_perf -b 8 -e 8G -f 2 -g 1 -c 1
std::vector<std::string> AllReduceArgv(const SweepSpec& spec);
// NCCL_DEBUG=INFO with the subsystems that the log reader needs; NCCL_ALGO=Ring on two nodes, where
// a tree hides a dead rail.
std::map<std::string, std::string> AllReduceEnv(const SweepSpec& spec);

}  // namespace muster
