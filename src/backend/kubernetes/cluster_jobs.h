// Gangs on a cluster, as real jobs that the site's own scheduler places or refuses: rendered as a
// user's would be, watched until all or none of their pods are bound, removed and proven gone. What
// a killed run left behind carries a label, and the next run removes it first.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend/jobs.h"
#include "kube/client.h"
#include "kube/core.h"
#include "render/job_request.h"

namespace muster::kubernetes {

inline constexpr std::string_view kProofLabel = "muster.dev/proof";

struct ClusterJobsOptions {
  render::Dialect dialect = render::Dialect::kJob;
  std::string ns = "default", queue, scheduler;
  std::string image;  // by digest; what every rank runs in
  std::string gpu_resource = "nvidia.com/gpu";
  // What a pod that works (not one that only stands there for a gang's sake) gets beside its GPUs.
  std::vector<std::pair<std::string, int>> devices;  // RDMA resources
  std::vector<std::string> networks;                 // attachments
  std::map<std::string, std::string> annotations;    // of every proof's pods
  int64_t cpu_milli = 0, memory_bytes = 0;           // 0: 1 core and 2 a GPU; memory not limited
  Duration patience = std::chrono::seconds(30);      // until a gang of which no pod is bound counts
                                                     // as refused
  Duration start_within = std::chrono::minutes(10);  // from bound to running: images are pulled
  Duration until_gone = std::chrono::seconds(60);
  Duration every = std::chrono::milliseconds(500);

  // Of a pod with so many GPUs.
  int64_t CpuMilliFor(int gpus) const {
    return cpu_milli > 0 ? cpu_milli : 1000 + 2000 * int64_t{gpus};
  }
};
// From the site's pins: gang_dialect, proof_namespace, proof_queue, proof_scheduler, proof_image,
// gang_patience, proof_start_within, proof_devices ("rdma/ib=8"), proof_networks ("rail-0,rail-1"),
// proof_annotations ("KEY=VALUE,..."), proof_cpu ("16"), proof_memory ("64Gi"). kInvalid for a word
// that cannot be meant.
Result<ClusterJobsOptions> OptionsFromPins(const std::map<std::string, std::string>& pins);

class ClusterJobs final : public Jobs {
 public:
  // `client` is borrowed.
  ClusterJobs(kube::Client& client, ClusterJobsOptions options)
      : client_(client), options_(std::move(options)) {}

  // The ranks are pods; spec.nodes says how many, the scheduler chooses which. kRefused: no pod was
  // bound in all of the patience, with the scheduler's word. kInvalid without an image. With
  // spec.pod_a_node the ranks' output is read through the API server; where it is not whole, and no
  // rank's failure says why, the run is kUnavailable. One gang at a time, whoever asks.
  Result<GangResult> RunGang(const GangSpec& spec) override;
  // Jobs, Services and pods with the gang's label, "Pod default/x".
  Result<std::vector<std::string>> Leftovers(const std::string& gang_name) override;

  // Removes what any earlier proof left, and looks until it is gone.
  Status Sweep();
  const ClusterJobsOptions& options() const { return options_; }
  kube::Client& client() { return client_; }

 private:
  Result<GangResult> RunWorking(const GangSpec& spec);
  Result<GangResult> Watch(const std::string& gang, int wanted, Duration timeout);

  kube::Client& client_;
  const ClusterJobsOptions options_;
  std::mutex mutex_;  // the client is one thread's at a time
};

// What the scheduler last said of pods that it does not place.
class SchedulerWord {
 public:
  void Hear(const kube::Pod& pod);
  std::string Text() const;  // at most 300 bytes, printable

 private:
  std::string word_ = "no scheduler said a word";
};

// An object's name for a gang's, which may be anything.
std::string ProofName(const std::string& gang);
// What every proof's job begins with: the site's words, our labels, no retry.
render::JobRequest ProofRequest(const ClusterJobsOptions& options, const std::string& gang);

}  // namespace muster::kubernetes
