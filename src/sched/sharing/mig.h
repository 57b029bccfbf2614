// Multi-Instance GPU as geometry: an instance covers adjacent memory slices from one of its
// profile's start positions, and instances must not overlap. Whether a set of profiles fits, which
// can still be added, and which resource Kubernetes knows each by. Pure; the profiles of each GPU
// model are data (catalogue/sharing.yaml).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

inline constexpr int kMigMemorySlices = 8;

struct MigProfile {
  std::string name;         // "3g.40gb", as nvidia-smi prints it after "MIG "
  int compute_slices = 0;   // of 7
  int memory_slices = 0;    // of 8: the size of a placement
  std::vector<int> starts;  // where a placement may begin (nvidia-smi mig -lgipp)
  int most = 0;             // instances on one GPU
};
struct MigModel {
  std::string id;                  // "h100-80gb"
  std::vector<std::string> match;  // all are parts of the name that nvidia-smi prints
  std::vector<MigProfile> profiles;
  std::string source;
  const MigProfile* Find(std::string_view profile) const;
};

// Where one instance is: the profile, and the memory slice that it begins at.
struct MigInstance {
  std::string profile;
  int start = 0;
  bool operator==(const MigInstance&) const = default;
};

// A placement of all profiles beside the `fixed` instances, or nullopt if there is none. `fixed` is
// what exists; it is not moved, as the driver moves none. At most 7 instances fit, so at most
// 7! x starts steps; in fact far fewer. kInvalid: a profile that the model lacks, fixed instances
// that overlap or stand where the profile may not begin.
Result<std::optional<std::vector<MigInstance>>> PlaceMig(const MigModel& model,
                                                         std::span<const MigInstance> fixed,
                                                         std::span<const std::string> profiles);

struct MigRoom {
  std::string profile;
  int more = 0;            // instances of this profile alone that still fit
  int more_if_packed = 0;  // that would, were the existing instances placed anew
};
// For every profile of the model, in its order.
Result<std::vector<MigRoom>> MigRoomLeft(const MigModel& model, std::span<const MigInstance> fixed);

// "nvidia.com/mig-1g.10gb"; a '+' becomes ".": "nvidia.com/mig-1g.10gb.me" (NVIDIA device plugin,
// strategy mixed).
std::string MigResourceName(std::string_view profile);
// The model whose match words are all in the GPU's name; nullptr = none.
const MigModel* MigModelOf(std::span<const MigModel> models, std::string_view gpu_name);

// What sharing a GPU keeps apart. "limited" says how far in `note`.
enum class Isolation { kNone, kLimited, kFull };
std::string_view ToString(Isolation isolation);
struct SharingMode {
  std::string id;  // "mig", "mps", "time-slicing"
  std::string what;
  Isolation memory_capacity = Isolation::kNone;
  Isolation memory_protection = Isolation::kNone;  // one cannot read or write another's memory
  Isolation bandwidth = Isolation::kNone;
  Isolation compute = Isolation::kNone;
  Isolation faults = Isolation::kNone;  // an error of one does not end another
  std::string note;
  std::string source;
};

}  // namespace muster
