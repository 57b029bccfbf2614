// Gangs in the lab: every rank is a real process of this machine, with the identity that torchrun
// gives. What is placed where is the lab's; what the ranks do is done.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/jobs.h"
#include "backend/lab/state/lab_state.h"
#include "world/world.h"

namespace muster::lab {

struct LabJobsOptions {
  // Path of muster: all_reduce_perf, muster-train and true run as `<self_binary> lab-rank PROGRAM
  // ARGS...`. Empty: every program is run as it is.
  std::string self_binary;
  // all_reduce_perf with more ranks than this is answered by the model, rank by rank, with no
  // process: 1,024 nodes do not fit on one machine.
  int most_real_ranks = 64;
  // How long the others may go on after a rank failed, so that their own words about it are kept.
  Duration grace = std::chrono::seconds(3);
};

// Safe for threads; the lab's state is not changed. `base` is borrowed.
//
// Ranks die with this process, also when it is killed: world/posix starts each from a thread of its
// own with PR_SET_PDEATHSIG. Each gang leaves a label, <lab>/gangs/<name>.json, while it runs, and
// every process of it carries MUSTER_GANG and MUSTER_LAB in its environment; so Leftovers() proves
// from /proc that nothing of a gang runs, whoever started it and however that ended.
class LabJobs final : public Jobs {
 public:
  LabJobs(LabState state, World base, LabJobsOptions options = {});

  // Refused (kRefused, nothing started): an unknown, repeated or unreachable node; more GPUs than a
  // node has that answer. kConflict: a gang of this name still runs. A rank that fails ends the
  // others after the grace; at the timeout all are ended (timed_out). Output of a rank is in `out`,
  // both streams as they came.
  Result<GangResult> RunGang(const GangSpec& spec) override;
  // "process 4711 (sleep 60)" for each that lives, and the label while one does. Looks in /proc
  // through `base`.
  Result<std::vector<std::string>> Leftovers(const std::string& gang_name) override;

 private:
  struct Rank;

  Status CheckPlacement(const GangSpec& spec) const;
  Result<std::vector<Command>> Commands(const GangSpec& spec) const;
  bool NeverStarts(const GangSpec& spec, const std::string& node) const;
  Result<GangResult> Model(const GangSpec& spec) const;
  Result<std::vector<Rank>> StartAll(const GangSpec& spec, Duration began);
  GangResult Watch(const GangSpec& spec, std::vector<Rank> ranks, Duration began);
  std::string Runner(const std::string& gang_name);
  Status WriteLabel(const GangSpec& spec, int world);
  std::string LabelPath(const std::string& gang_name) const;

  const LabState state_;
  World base_;
  const LabJobsOptions options_;
};

}  // namespace muster::lab
