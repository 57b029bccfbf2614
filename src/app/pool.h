// The readiness sheet of a pool (P10), from the inventory: for each class of nodes how many GPUs a
// NUMA domain has, which adapter is nearest, which shapes are valid and why the others are not,
// which policy enforces it. What the inventory cannot tell is UNKNOWN, with who could.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "evidence/verdict.h"
#include "model/site.h"

namespace muster {

// What a KubeletConfiguration says of the managers; absent fields are the kubelet's defaults.
struct KubeletPolicy {
  std::string policy = "none", scope = "container", cpu_manager = "none", memory_manager = "none";
  std::string source;  // the file
};
// kInvalid for text that is no KubeletConfiguration.
Result<KubeletPolicy> ReadKubeletPolicy(std::string text, const std::string& path);

struct PoolAnswer {
  std::string question, answer;
  Level level = Level::kUnknown;  // pass: answered and sound; warn: it will hurt; unknown: not told
  std::string who;                // of unknown: what would tell it
};
struct PoolSheet {
  std::string name;                // "NVIDIA H100 80GB HBM3, 2x4, 8 adapters"
  std::vector<std::string> nodes;  // of this class
  std::vector<int> valid;          // GPUs a pod
  std::map<int, std::string> refused;
  std::vector<PoolAnswer> answers;
};

// One sheet for each class of nodes that are alike in GPUs, NUMA domains and adapters. Without
// `kubelet` the shapes are those of single-numa-node and a whole node: what never ends in a
// TopologyAffinityError whatever the policy.
std::vector<PoolSheet> PoolSheets(const Site& site, const std::optional<KubeletPolicy>& kubelet);

// The shapes of one node: valid counts of GPUs, and the reason for each that is not.
struct NodeShapes {
  std::vector<int> valid;
  std::map<int, std::string> refused;
};
Result<NodeShapes> ShapesOf(const Node& node, const KubeletPolicy& kubelet);

}  // namespace muster
