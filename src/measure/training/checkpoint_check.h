// Looks at the checkpoint that a gang says it wrote: every shard is read back and its SHA-256
// compared with what its rank logged and with the manifest. What a rank says is not what is on the
// disk.
#pragma once

#include <string>
#include <vector>

#include "measure/training/rank_report.h"
#include "world/files.h"

namespace muster::training {

enum class Seal {
  kVerified,
  kBroken,   // not written, missing, short, altered, or not in the manifest: `detail` says which
  kUnknown,  // could not be looked at: its rank said nothing, or the folder cannot be read
};

struct ShardCheck {
  int rank = 0;
  Seal seal = Seal::kUnknown;
  std::string detail;
};

struct CheckpointCheck {
  bool asked = false;              // some rank spoke of a checkpoint
  Seal manifest = Seal::kUnknown;  // there, readable, with a shard for each rank
  std::string manifest_detail;
  std::vector<ShardCheck> shards;  // one for each expected rank, in rank order
};

// `expected_ranks`: how many ranks the gang has; reports may be fewer. At most 4 GiB a shard are
// read.
CheckpointCheck CheckCheckpoint(Files& files, const std::vector<RankReport>& reports,
                                int expected_ranks);

}  // namespace muster::training
