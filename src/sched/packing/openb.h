// Reads the node and pod lists of Alibaba's cluster-trace-gpu-v2023 ("openb", alibaba/clusterdata):
// comma-separated text with a header line. Nodes: sn, cpu_milli, memory_mib, gpu, model. Pods:
// name, cpu_milli, memory_mib, num_gpu, gpu_milli and, where the list has them, gpu_spec (models
// with `|` between them) and columns that are not looked at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sched/packing/residual.h"

namespace muster::packing {

struct OpenbNodes {
  std::vector<Residual> nodes;      // those with GPUs, in the order of the list, with all free
  std::vector<std::string> models;  // by Residual::model
  size_t without_gpus = 0;          // nodes that the published experiments leave out
};
// Errors are kParse and name line and column.
Result<OpenbNodes> ParseOpenbNodes(std::string_view text);
// Models that no node has are dropped from gpu_spec; a pod with none left is an error.
Result<std::vector<Demand>> ParseOpenbPods(std::string_view text,
                                           const std::vector<std::string>& models);

}  // namespace muster::packing
