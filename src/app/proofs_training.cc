// Gate 7's proof: a gang trains, and what its ranks said and wrote is looked at.
#include <fmt/format.h>

#include "app/proofs.h"
#include "measure/training/training.h"

namespace muster {

namespace {

GangSpec TrainingGang(const ProofContext& context, const std::string& checkpoint) {
  const TrainingTarget& target = context.site.training;
  GangSpec spec;
  spec.name = context.run + "-train";
  spec.nodes = context.nodes;
  spec.ranks_per_node = target.ranks_per_node;
  spec.argv = target.command;
  if (spec.argv.empty()) {
    spec.argv = {"muster-train", "--steps", std::to_string(target.steps), "--checkpoint",
                 checkpoint};
  }
  spec.timeout =
      target.command.empty() ? Duration(std::chrono::minutes(3)) : Duration(std::chrono::hours(2));
  return spec;
}

std::string JoinedLogs(const GangResult& gang) {
  std::string text;
  for (const RankResult& rank : gang.ranks) {
    text += fmt::format("== rank {} on {} exit {}{}\n", rank.rank, rank.node, rank.result.exit_code,
                        rank.result.timed_out ? " (timed out)" : "");
    text += rank.result.out;
    if (!rank.result.err.empty()) text += "-- stderr\n" + rank.result.err;
  }
  return text;
}

}  // namespace

Evidence ProveTraining(const ProofContext& context) {
  Evidence evidence;
  const std::string checkpoint = context.run_folder + "/checkpoint";
  const GangSpec spec = TrainingGang(context, checkpoint);
  context.progress.Note(fmt::format("training: {} ranks",
                                    spec.nodes.size() * static_cast<size_t>(spec.ranks_per_node)));
  const auto gang = context.jobs.RunGang(spec);

  Reading reading;
  reading.probe = "measure.training";
  reading.host = "train";
  reading.command = Command{.argv = spec.argv}.ToString();
  reading.at = context.world.clock.Now();
  reading.origin = context.hosts.origin();

  training::TrainingRun run;
  run.gang = "train";
  run.nodes = context.nodes;
  run.ranks_per_node = spec.ranks_per_node;
  run.flops_per_token = context.site.training.flops_per_token;
  run.peak_flops = context.site.training.peak_flops;
  if (gang.ok()) {
    reading.text = JoinedLogs(*gang);
    reading.took = gang->took;
    for (const RankResult& rank : gang->ranks) {
      run.reports.push_back(training::ParseRankLog(rank.rank, rank.node, rank.result.exit_code,
                                                   rank.result.out + rank.result.err));
    }
  } else {
    reading.fault = Unobserved{gang.error().code == Code::kRefused ? UnknownReason::kNotObserved
                                                                   : UnknownReason::kToolFault,
                               gang.error().ToString()};
  }
  const auto checked = training::CheckCheckpoint(context.world.files, run.reports, run.ranks());
  evidence.derived = training::ObserveTraining(run, checked, reading);
  evidence.readings.push_back(std::move(reading));
  return evidence;
}

}  // namespace muster
