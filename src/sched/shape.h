// What one rank asks and what it holds, in numbers: the smallest values that cluster, kubelets and
// placement hand to each other.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace muster::sched {

inline constexpr int kMostDeviceKinds = 4;  // of one shape

// Sums and device counts by resource id, sorted by id; amounts are positive.
struct Shape {
  struct Ask {
    int resource;
    int64_t amount;
    bool operator==(const Ask&) const = default;
  };
  std::vector<Ask> sums, devices;
  int gpu_milli = 0;  // thousandths of one GPU; 0 = no share
  bool operator==(const Shape&) const = default;
};

inline constexpr int kEndedRank = -2;

// What one rank holds on a node.
struct Slot {
  int node = -1;                                     // -1 = nothing; kEndedRank = nor will it
  std::array<uint64_t, kMostDeviceKinds> devices{};  // masks, in the order of Shape::devices
  int milli_device = -1;                             // the GPU that a share is of
  int grant = -1;                                    // in Kubelets, where the node has one
};

}  // namespace muster::sched
