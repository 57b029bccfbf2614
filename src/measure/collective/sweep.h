// The command of an all-reduce sweep and the environment that makes NCCL say
// what it did.
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
// NCCL_DEBUG=INFO with the subsystems that the log reader needs; NCCL_ALGO=Ring
// on two nodes, where a tree hides a dead rail.
std::map<std::string, std::string> AllReduceEnv(const SweepSpec& spec);

// One mpirun that starts `ranks_per_host` ranks on each host, as Open MPI takes
// it: --host a:8,b:8,
// --map-by ppr:8:node, -x NAME=VALUE for the environment of the ranks. `mpirun`
// is the program with what the site adds to it; `hosts` as mpirun reaches them.
std::vector<std::string> MpirunArgv(const std::vector<std::string>& mpirun,
                                    const std::vector<std::string>& hosts, int ranks_per_host,
                                    const std::map<std::string, std::string>& env,
                                    const std::vector<std::string>& program);

}  // namespace muster
