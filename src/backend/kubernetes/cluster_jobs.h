// Gangs on a cluster, as real jobs that the site's own scheduler places or refuses: rendered as a
// user's would be, watched until all or none of their pods are bound, removed and proven gone. What
// a killed run left behind carries a label, and the next run removes it first.
#pragma once

#include <string>
#include <vector>

#include "backend/jobs.h"
#include "kube/client.h"
#include "render/job_request.h"

namespace muster::kubernetes {

inline constexpr std::string_view kProofLabel = "muster.dev/proof";

struct ClusterJobsOptions {
  render::Dialect dialect = render::Dialect::kJob;
  std::string ns = "default", queue, scheduler;
  std::string image;  // by digest; what every rank runs in
  std::string gpu_resource = "nvidia.com/gpu";
  Duration patience = std::chrono::seconds(30);  // until a gang of which no pod is bound counts
                                                 // as refused
  Duration until_gone = std::chrono::seconds(60);
  Duration every = std::chrono::milliseconds(500);
};
// From the site's pins: gang_dialect, proof_namespace, proof_queue, proof_scheduler, proof_image,
// gang_patience. kInvalid for a word that cannot be meant.
Result<ClusterJobsOptions> OptionsFromPins(const std::map<std::string, std::string>& pins);

class ClusterJobs final : public Jobs {
 public:
  // `client` is borrowed.
  ClusterJobs(kube::Client& client, ClusterJobsOptions options)
      : client_(client), options_(std::move(options)) {}

  // The ranks are pods; spec.nodes says how many, the scheduler chooses which. kRefused: no pod was
  // bound in all of the patience, with the scheduler's word. kInvalid without an image.
  Result<GangResult> RunGang(const GangSpec& spec) override;
  // Jobs, Services and pods with the gang's label, "Pod default/x".
  Result<std::vector<std::string>> Leftovers(const std::string& gang_name) override;

 private:
  Result<std::vector<std::string>> Labelled(const std::string& selector);
  Status Sweep();
  Result<GangResult> Watch(const std::string& gang, int wanted, Duration timeout);

  kube::Client& client_;
  const ClusterJobsOptions options_;
};

}  // namespace muster::kubernetes
