// A gang that works: one pod on each node with all of its ranks, placed by the site's scheduler or,
// where nodes are measured, bound to them by us; followed until its ranks have ended, with their
// output read through the API server before the pods go.
#pragma once

#include "backend/kubernetes/cluster_jobs.h"

namespace muster::kubernetes {

// The job that is rendered for it.
Result<render::JobRequest> WorkingRequest(const ClusterJobsOptions& options, const GangSpec& spec);

// Follows the job of `request`, which is there, to its end. kRefused: not bound in the patience, or
// refused by a kubelet, with who said so; kTimeout: bound and never started, with what its
// containers wait for; kUnavailable: a log is missing or cut and no failed rank explains it.
Result<GangResult> WatchWorking(kube::Client& client, const ClusterJobsOptions& options,
                                const GangSpec& spec, const render::JobRequest& request);

// GET pods/NAME/log of the container "main". `cut`: it has as many bytes as were asked for, or
// more.
struct LogText {
  std::string text;
  bool cut = false;
};
Result<LogText> ReadPodLog(kube::Client& client, const std::string& ns, const std::string& pod,
                           int64_t most_bytes = int64_t{64} << 20);

}  // namespace muster::kubernetes
