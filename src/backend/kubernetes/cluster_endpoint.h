// The endpoint of gate 8 on a cluster whose site file says how it is served: one pod of the site's
// image and command, asked at the pod's address, removed and looked for when it was measured.
#pragma once

#include "backend/endpoints.h"
#include "backend/kubernetes/cluster_jobs.h"
#include "model/site.h"
#include "world/world.h"

namespace muster::kubernetes {

class ClusterEndpoint final : public Endpoints {
 public:
  // Borrowed, all of them.
  ClusterEndpoint(const Site& site, ClusterJobs& jobs, World local)
      : site_(site), jobs_(jobs), local_(local) {}
  // Waits until the pod runs and /health answers, at most inference.ready_within. kRefused and
  // kTimeout as RunGang says them; kUnavailable with the end of its log when the server ended.
  Result<std::unique_ptr<ServedModel>> Open(const std::string& checkpoint) override;

 private:
  const Site& site_;
  ClusterJobs& jobs_;
  World local_;
};

}  // namespace muster::kubernetes
