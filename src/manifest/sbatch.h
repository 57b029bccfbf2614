// sbatch scripts: the #SBATCH lines as options with their places, and the gang they ask for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "manifest/gangs.h"
#include "yaml/yaml.h"

namespace muster {

struct SbatchOption {
  std::string name;   // long name without dashes: "ntasks-per-node"
  std::string value;  // empty for a flag
  YamlMark at;
};

struct SbatchScript {
  std::string path, text;
  std::vector<SbatchOption> options;  // in order; Slurm lets the last of a name count
  std::vector<SbatchOption> late;     // below the first command: Slurm reads them as comments
  std::vector<YamlMark> hetjob;       // "#SBATCH hetjob" separators

  const SbatchOption* Find(std::string_view name) const;
};

// A script begins with "#!" and has a line that begins with "#SBATCH".
bool LooksLikeSbatch(std::string_view text);
// kInvalid ("file:line:column: what") for an unknown option (with the nearest known one), a missing
// value, a quote that is not closed.
Result<SbatchScript> ParseSbatch(std::string text, std::string path);

// "30" (minutes), "30:00", "1:00:00", "2-00", "2-00:00", "2-00:00:00"; nothing when it is none, or
// unlimited ("UNLIMITED", "0").
std::optional<int64_t> SlurmTimeMs(std::string_view text);

struct SbatchShape {
  int64_t min_nodes = 1, max_nodes = 1;
  std::optional<int64_t> tasks, tasks_per_node, cpus_per_task;
  std::optional<int64_t> gpus_per_node;  // however it was said; nothing when none were asked
  std::string gpu_type;                  // "h100"; empty = any
};
// kInvalid names the option whose value is no number.
Result<SbatchShape> ShapeOf(const SbatchScript& script);

// The gang; what the model does not carry goes to `notes`. Heterogeneous jobs are not supported:
// their first component is read, and a note says so.
Result<ReadJob> ReadSbatchJob(const SbatchScript& script, std::vector<ManifestNote>& notes);

}  // namespace muster
