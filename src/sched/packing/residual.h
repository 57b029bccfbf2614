// What is free on a node and what one pod asks for, as plain values: the words in which every
// packing policy of this room speaks. A pod asks for CPU, memory, and whole GPUs or a share of one.
#pragma once

#include <array>
#include <cstdint>

namespace muster::packing {

constexpr int kMaxGpus = 16;     // of one node
constexpr int kMaxModels = 32;   // GPU models of one cluster
constexpr int kWholeGpu = 1000;  // thousandths

struct Residual {
  int64_t cpu_milli = 0;
  int64_t memory_mib = 0;
  int gpus = 0;
  int model = 0;                                // index of the GPU model, below kMaxModels
  std::array<int16_t, kMaxGpus> gpu_left = {};  // thousandths free of each of the `gpus` devices
  bool operator==(const Residual&) const = default;
};

struct Demand {
  int64_t cpu_milli = 0;
  int64_t memory_mib = 0;
  int gpus = 0;         // 0 = CPU only
  int gpu_milli = 0;    // of each GPU; below kWholeGpu only where gpus is 1
  uint32_t models = 0;  // bit i = model i is allowed; 0 = any
  bool operator==(const Demand&) const = default;
  bool IsShare() const { return gpus == 1 && gpu_milli < kWholeGpu; }
  int64_t gpu_total() const { return static_cast<int64_t>(gpus) * gpu_milli; }  // thousandths
  bool Allows(int model) const { return models == 0 || ((models >> model) & 1u) != 0; }
};

// How much a policy likes a node for a demand; higher is better. `gpu` is the device of a share,
// and means nothing for other demands.
struct Choice {
  double score = 0;
  int gpu = -1;
};

inline bool Fits(const Residual& node, const Demand& demand) {
  if (node.cpu_milli < demand.cpu_milli || node.memory_mib < demand.memory_mib) return false;
  if (demand.gpus == 0) return true;
  if (!demand.Allows(node.model)) return false;
  int able = 0;
  for (int i = 0; i < node.gpus; ++i) able += node.gpu_left[i] >= demand.gpu_milli ? 1 : 0;
  return able >= demand.gpus;
}

// Takes what a demand that fits asks for: a share from device `gpu`, whole GPUs from the first
// free.
inline void Take(Residual& node, const Demand& demand, int gpu) {
  node.cpu_milli -= demand.cpu_milli;
  node.memory_mib -= demand.memory_mib;
  if (demand.IsShare()) {
    node.gpu_left[gpu] = static_cast<int16_t>(node.gpu_left[gpu] - demand.gpu_milli);
    return;
  }
  int wanted = demand.gpus;
  for (int i = 0; i < node.gpus && wanted > 0; ++i) {
    if (node.gpu_left[i] != kWholeGpu) continue;
    node.gpu_left[i] = 0;
    --wanted;
  }
}

inline int64_t GpuLeft(const Residual& node) {
  int64_t sum = 0;
  for (int i = 0; i < node.gpus; ++i) sum += node.gpu_left[i];
  return sum;
}
inline int IdleGpus(const Residual& node) {
  int idle = 0;
  for (int i = 0; i < node.gpus; ++i) idle += node.gpu_left[i] == kWholeGpu ? 1 : 0;
  return idle;
}

}  // namespace muster::packing
