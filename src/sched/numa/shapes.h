// Which sizes a node class takes, and why it refuses the others: what is told to a person at
// submit, before a kubelet refuses the pod. Decided by asking Admit on the empty node, never by a
// rule of thumb.
#pragma once

#include <string>
#include <vector>

#include "sched/numa/topology_manager.h"

namespace muster::numa {

struct ShapeVerdict {
  int count = 0;          // of the resource that is asked about
  bool admitted = false;  // on the empty node
  int per_node = 0;       // how many such pods the empty node takes
  int zones = 0;          // that it spreads over; 0 = the managers do not say
  std::string why;        // of a refusal: "no NUMA zone has more than 4"
  std::string kubelet;    // of a refusal: the reason that the kubelet would give
};

struct ShapeSheet {
  std::string resource;
  std::string layout;  // "2x4": zones x devices; "3+5" where they differ; "8 without topology"
  Policy policy = Policy::kNone;
  std::vector<ShapeVerdict> verdicts;  // 1 .. all
  std::vector<int> valid;
  struct Other {  // what another policy would take on the same hardware
    Policy policy;
    std::vector<int> valid;
  };
  std::vector<Other> others;
};

// `per_unit` is what goes with each device: {"rdma/ib": 1, "cpu": 12000, "memory": ...}. kNotFound:
// the machine has none of `resource`, or lacks one of per_unit.
Result<ShapeSheet> ValidShapes(const Machine& machine, const std::string& resource,
                               const Resources& per_unit = {});

// "6 nvidia.com/gpu on 2x4 under single-numa-node: no NUMA zone has more than 4; valid 1, 2, 3, 4";
// empty where `count` is valid.
std::string RefusalAtSubmit(const ShapeSheet& sheet, int count);

std::string FormatCounts(const std::vector<int>& counts);  // "1, 2, 3, 4"; "none"

}  // namespace muster::numa
