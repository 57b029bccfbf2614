// The valid shapes of an inventory: which GPU counts each class of nodes admits and why it refuses
// the others, from the nodes of a cluster script.
#pragma once

#include <string>
#include <vector>

#include "sched/numa/describe.h"
#include "sched/numa/shapes.h"
#include "world/files.h"

namespace muster {

struct ShapesRequest {
  std::string file;                   // a cluster script; only its node.add lines count
  std::string resource;               // empty = every resource of whole GPUs
  std::vector<std::string> per_unit;  // "rdma/ib=1", "cpu=12", "memory=64Gi" with each of it
};
// Nodes that are alike: same zones, devices, managers.
struct NodeClassShapes {
  std::vector<std::string> nodes;
  numa::ShapeSheet sheet;
  std::string unknown;  // why nothing can be said of these nodes; the sheet is then empty
};
struct ShapesReport {
  std::vector<NodeClassShapes> classes;  // most nodes first
  std::vector<std::string> without;      // nodes that have no such resource
};
// kInvalid with line and column for a script that does not read, kNotFound where no node has one.
Result<ShapesReport> NodeShapes(Files& files, const ShapesRequest& request);
Result<ShapesReport> NodeShapesOf(const std::vector<numa::NodeFacts>& nodes,
                                  const ShapesRequest& request);

}  // namespace muster
