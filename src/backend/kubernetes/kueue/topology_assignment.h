// Where the pods of a pod set go, as Kueue writes it into a Workload's status: so many to each
// domain of the lowest level of a topology. v1beta2 writes slices of values by level, v1beta1 a
// list of domains; both are read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::kueue {

struct TopologyAssignment {
  struct Domain {
    std::vector<std::string> values;  // one a level
    int count = 0;                    // pods
    bool operator==(const Domain&) const = default;
  };
  std::vector<std::string> levels;  // node labels, outermost first
  std::vector<Domain> domains;
  bool operator==(const TopologyAssignment&) const = default;
};

// kParse for what is of neither form; more than 100,000 domains are refused.
Result<TopologyAssignment> DecodeTopologyAssignment(std::string_view json);
// `version`: "v1beta1" or "v1beta2" of kueue.x-k8s.io.
std::string EncodeTopologyAssignment(const TopologyAssignment& assignment,
                                     std::string_view version);

}  // namespace muster::kueue
