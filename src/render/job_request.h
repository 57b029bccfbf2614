// What a person asks for when a job is submitted, before it is anybody's dialect: groups of equal
// pods, what each needs, where it waits, what it leaves behind. Plain data; everything that needs
// an inventory or a catalogue was decided before it stands here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/workload.h"

namespace muster::render {

enum class Dialect {
  kJob,      // batch/v1 Indexed Job for Muster's own scheduler
  kJobSet,   // jobset.x-k8s.io/v1alpha2
  kVolcano,  // batch.volcano.sh/v1alpha1 Job
  kKueue,    // batch/v1 Indexed Job admitted by Kueue
  kSbatch,   // a script for Slurm
};
std::string_view ToString(Dialect dialect);
Result<Dialect> ParseDialect(std::string_view text);

// "2x8xH100" = 2 pods of 8 GPUs of that model; "2x8" = any model; "4" = 4 pods without GPUs.
struct Shape {
  int pods = 1, gpus = 0;
  std::string gpu;  // a model's short name; empty = any
};
Result<Shape> ParseShape(std::string_view text);

// On a twin: the name of the job whose contract it looks at.
inline constexpr std::string_view kTwinLabel = "muster.dev/twin-of";

// Pods that are alike. The first group of a request holds rank 0.
struct Group {
  std::string name = "trainer";
  int pods = 1, gpus = 0;            // GPUs of one pod
  int64_t cpu_milli = 1000;          // of one pod
  int64_t memory_bytes = 0;          // of one pod; 0 = not said
  std::vector<std::string> command;  // torchrun: the script and its arguments
};

struct JobRequest {
  Dialect dialect = Dialect::kJob;
  std::string name, ns = "default", image;
  std::string queue;           // empty = the dialect's default; a partition for sbatch
  std::string priority_class;  // empty = none
  std::string scheduler;       // empty = the dialect's own
  bool torchrun = true;        // ranks are started by torchrun, one a GPU
  std::vector<Group> groups;
  std::string gpu_resource = "nvidia.com/gpu";
  std::string gpu_product;  // value of the label nvidia.com/gpu.product; empty = any
  std::string gpu_type;     // as Slurm's GRES calls it; empty = any
  std::vector<std::pair<std::string, int>> devices;      // RDMA resources: count a pod with GPUs
  std::vector<std::string> networks;                     // attachments, "name" or "namespace/name"
  TopologyWish topology;                                 // required and preferred level
  std::vector<std::pair<std::string, std::string>> env;  // the NCCL profile, in order
  std::string node_variable;     // in which a pod finds its node's name; empty = none
  std::string checkpoint_claim;  // a PersistentVolumeClaim; empty = the path is an object store's
  std::string checkpoint_path;   // "/checkpoints/llm", "s3://..."; empty = none
  std::map<std::string, std::string> labels;       // for tracking; on the job and its pods
  std::map<std::string, std::string> annotations;  // on its pods
  int max_retry = 3;                               // restarts of the whole gang
  int64_t ttl_s = 86400;                           // the finished job is kept this long
  std::optional<int64_t> limit_s;                  // ended then; sbatch needs one
  int wait_s = 300;  // a rank waits this long for rank 0's name; 0 = it does not
  int port = 29500;  // of the rendezvous

  int Pods() const;
  // The name under which rank 0 is found by the others; empty for sbatch, which asks Slurm.
  std::string Rank0Host() const;
};

// One finding a line, as one kInvalid error: a name that is none, a group too many for the dialect,
// a shape of nothing. The API server would refuse these too, but one by one and after the Service.
Status CheckRequest(const JobRequest& request);

// The gang that any rendering of the request must be read back as.
Job GangOf(const JobRequest& request);

}  // namespace muster::render
