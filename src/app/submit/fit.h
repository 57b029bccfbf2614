// Whether an inventory can hold a shape at all: said before anything is created, with the shapes
// that it can hold, in place of a kubelet's TopologyAffinityError hours later.
#pragma once

#include <string>
#include <vector>

#include "app/sched_shapes.h"
#include "model/site.h"

namespace muster::submit {

struct Asked {
  int pods = 1, gpus = 0;  // GPUs of one pod
  std::string resource = "nvidia.com/gpu";
};

// Against node classes as their kubelets decide. kInvalid names the valid counts, or how many such
// pods the empty inventory takes where there are too few.
Status FitsNodes(const ShapesReport& report, const Asked& asked);
// Against a site file, which knows domains and no policies: GPUs of one NUMA domain, or of whole
// nodes, are the shapes that every policy but single-numa-node takes.
Status FitsSite(const Cluster& cluster, const Asked& asked);

}  // namespace muster::submit
