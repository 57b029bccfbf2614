// The bus bandwidth that a topology can give at most, so that a measured plateau is held to this
// very cluster and not to a number that somebody else's cluster once reached.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"

namespace muster {

// What a GPU model gives, from catalogue/gpus.yaml.
struct GpuSpec {
  std::string match;  // a part of the name that nvidia-smi prints; the first that fits counts
  double nvlink_gbyte_per_s = 0;          // all links, one direction; 0 = none
  double node_allreduce_gbyte_per_s = 0;  // plateau that healthy nodes of eight show; 0 = not known
  double bf16_flops = 0;                  // dense peak
  double memory_bytes = 0;
  std::string source;
};
// Nothing when the table does not have the model.
const GpuSpec* FindGpuSpec(std::span<const GpuSpec> table, std::string_view gpu_model);

struct FabricKind {
  bool roce = false;
  int mtu = 4096;  // of the path, as ibv_devinfo's active_mtu says
};
// Data over bytes on the wire for full packets, 0 to 1. InfiniBand adds 26 B to a packet (LRH 8,
// BTH 12, ICRC 4, VCRC 2; IBTA vol. 1), RoCEv2 82 (Ethernet 38 with preamble and gap, IPv4 20, UDP
// 8, BTH 12, ICRC 4): 99.4 %, 98.0 % and, at MTU 1024, 92.6 %.
double PayloadShare(const FabricKind& fabric);

struct Ceiling {
  double gbyte_per_s = 0;
  std::string basis;  // "8 rails x 400 Gb/s x 0.994 (InfiniBand, MTU 4096), ring"
};
// Ceiling of an all-reduce's bus bandwidth (10^9 B/s, as nccl-tests computes it) over these nodes
// with as many ranks on each. Between nodes: a ring crosses every adapter once with each byte that
// busbw counts, so adapters in use times rate times payload share (NVIDIA/nccl-tests
// doc/PERFORMANCE.md); the slowest adapter sets the pace of all. Inside one node: what healthy
// nodes of this GPU show, or its NVLink. kInvalid for unknown nodes, kNotFound (with what is
// missing) where the inventory cannot tell.
Result<Ceiling> CeilingOf(const Cluster& cluster, std::span<const std::string> nodes,
                          int ranks_per_node, const FabricKind& fabric,
                          std::span<const GpuSpec> gpus);

// Over exactly two nodes a tree moves each byte over the adapters once where busbw counts 2(n-1)/n,
// so it prints more than the adapters carry (470 to 480 over 400 GB/s: NVIDIA/nccl-tests issue 309,
// NVIDIA/nccl issue 1576) and passes with a dead rail. True unless the algorithm is known to be
// Ring alone.
bool HidesAdapters(size_t nodes, std::string_view algorithm);

}  // namespace muster
