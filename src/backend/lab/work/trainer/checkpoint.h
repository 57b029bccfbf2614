// A sharded checkpoint: each rank writes its own slice of the parameters and of Adam's moments,
// durably and under its final name only when whole; rank 0 writes manifest.json last, with every
// shard's length and SHA-256. A folder without a manifest is not a checkpoint, and neither is one
// whose shards do not verify.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/lab/work/trainer/model.h"
#include "world/files.h"

namespace muster::lab {

struct ShardRecord {
  int rank = 0;
  std::string node, file;  // file name inside the checkpoint's folder
  uint64_t bytes = 0;
  std::string sha256;
};

struct Manifest {
  int64_t step = 0;
  uint64_t seed = 0;
  ModelShape shape;
  double loss = 0;                  // mean over ranks at this step
  std::vector<ShardRecord> shards;  // in rank order

  std::string ToJson() const;
  static Result<Manifest> FromJson(std::string_view text);
};

// All that training needs to go on: parameters and both moments, each as long as the model.
struct TrainingState {
  std::vector<float> parameters, first, second;
};

// "shard-00003-of-00008.bin"
std::string ShardName(int rank, int world);
// Elements [from, to) of the flat vector that a rank keeps.
struct Slice {
  size_t from, to;
};
Slice SliceOf(size_t parameters, int rank, int world);

// Writes one rank's slice. The record is what the manifest says of it.
Result<ShardRecord> WriteShard(Files& files, const std::string& folder, int rank, int world,
                               const std::string& node, std::span<const float> parameters,
                               std::span<const float> first, std::span<const float> second);
// Makes the folder a checkpoint. kInvalid unless there is one record for each of `world` ranks.
Status WriteManifest(Files& files, const std::string& folder, const Manifest& manifest, int world);
// Makes it none: called before shards are written over.
Status RemoveManifest(Files& files, const std::string& folder);

Result<Manifest> ReadManifest(Files& files, const std::string& folder);
// Reads and verifies every shard: kNotFound (no manifest), kCorrupt naming the shard that is
// missing, short or altered.
Result<TrainingState> ReadCheckpoint(Files& files, const std::string& folder,
                                     const Manifest& manifest);

}  // namespace muster::lab
