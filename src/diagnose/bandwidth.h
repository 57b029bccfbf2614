// A matrix of copy bandwidths, as nvbandwidth measures them between the CPUs and GPUs of a machine,
// and what it says of each GPU.
#pragma once

#include <string>
#include <vector>

#include "diagnose/section.h"

namespace muster::diagnose {

struct BandwidthMatrix {
  std::string title;                      // the line above it, or the test's name
  bool host = false;                      // rows are CPUs, not GPUs
  std::vector<std::vector<double>> rows;  // GB/s; below zero where there is no such path
};

// "bandwidth.host_low", "bandwidth.peer_low": a GPU whose best path is far below that of most.
// Fewer than four GPUs tell nothing. O(cells).
void JudgeMatrix(const Section& s, const BandwidthMatrix& matrix, FactStore& facts);

}  // namespace muster::diagnose
