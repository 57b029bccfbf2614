// Gate 7's proof: a gang trains, and what its ranks said and wrote is looked
// at. Three kinds of jobs: Muster's own small one, a site's command whose ranks
// print our JSON lines, and a site's command with a log of its own (TorchTitan,
// Megatron, nanotron, nanoGPT).
#include <algorithm>

#include <fmt/format.h>

#include "app/gpu_specs.h"
#include "app/proofs.h"
#include "base/strings.h"
#include "measure/training/logged_training.h"
#include "measure/training/training.h"
#include "probes/train_log/train_log.h"

namespace muster {

namespace {

bool OwnJob(const ProofContext& context) { return context.site.training.command.empty(); }
// A job of the site's with a log of its own.
bool Logged(const ProofContext& context) {
  return !OwnJob(context) && !context.site.training.rank_reports;
}

GangSpec TrainingGang(const ProofContext& context, const std::string& checkpoint) {
  const TrainingTarget& target = context.site.training;
  GangSpec spec;
  spec.name = context.run + "-train";
  spec.nodes = context.nodes;
  spec.ranks_per_node = target.ranks_per_node;
  spec.argv = target.command;
  if (OwnJob(context)) {
    spec.argv = context.own_training;
    spec.argv.insert(spec.argv.end(),
                     {"--steps", std::to_string(target.steps), "--checkpoint", checkpoint});
    // On a real site it asks for no GPU, because it takes none.
    if (context.site.kind != SiteKind::kLab) spec.gpus_per_rank = 0;
  }
  spec.pod_a_node = true;
  spec.image = target.image;
  // The scheduler places it, as it does users' jobs; a part of the cluster is named to it by us.
  spec.exactly_there = context.nodes.size() < context.site.cluster.nodes.size();
  spec.timeout =
      OwnJob(context) ? Duration(std::chrono::minutes(3)) : Duration(std::chrono::hours(2));
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

// The dense BF16 peak of the site's GPUs, where all are of one known model; 0
// otherwise.
double PeakOf(const ProofContext& context) {
  std::string model;
  for (const std::string& name : context.nodes) {
    const Node* node = context.site.cluster.FindNode(name);
    for (const Gpu& gpu : node == nullptr ? std::vector<Gpu>{} : node->gpus) {
      if (gpu.model.empty() || (!model.empty() && gpu.model != model)) return 0;
      model = gpu.model;
    }
  }
  for (const GpuSpec& spec : GpuSpecs()) {
    if (!model.empty() && Contains(model, spec.match)) return spec.bf16_flops;
  }
  return 0;
}

training::LoggedStep Copied(const train_log::Step& step, train_log::Framework framework) {
  training::LoggedStep copy;
  copy.step = step.step;
  copy.loss = step.loss;
  copy.step_time_s = step.step_time_s;
  copy.tokens_per_s_gpu = step.tokens_per_s_gpu;
  copy.tflops_gpu = step.tflops_gpu;
  if (framework != train_log::Framework::kNanoGpt) copy.mfu = step.mfu;  // its peak is an A100's
  copy.nan_iterations = step.nan_iterations;
  copy.line = step.line;
  return copy;
}

// The log with the most steps is the one that tells: trainers print on the
// first or the last rank, on stdout or on stderr.
train_log::TrainLog BestLog(const GangResult& gang) {
  train_log::TrainLog best;
  for (const RankResult& rank : gang.ranks) {
    for (const std::string* text : {&rank.result.out, &rank.result.err}) {
      train_log::TrainLog log = train_log::ParseTrainLog(*text);
      if (log.steps.size() > best.steps.size()) best = std::move(log);
    }
  }
  return best;
}

// The log does not say when ranks started; who started them does.
void AddStartSpread(const GangResult& gang, const Reading& reading, Observations& seen) {
  if (!gang.all_started || gang.ranks.empty()) return;
  const auto [first, last] = std::minmax_element(
      gang.ranks.begin(), gang.ranks.end(),
      [](const RankResult& a, const RankResult& b) { return a.started_after < b.started_after; });
  std::erase_if(seen, [](const Observation& o) { return o.fact == "train.start_spread"; });
  ObservationBuilder builder(reading);
  builder.Add({SubjectKind::kGang, "train"}, "train.start_spread",
              Seconds(last->started_after - first->started_after), Unit::kSeconds,
              fmt::format("rank {} was started {} after rank {}", last->rank,
                          FormatDuration(last->started_after - first->started_after), first->rank));
  for (Observation& o : builder.Take()) seen.push_back(std::move(o));
}

Observations ObserveLogged(const ProofContext& context, const GangSpec& spec,
                           const Result<GangResult>& gang, const Reading& reading) {
  training::LoggedRun run;
  run.gang = "train";
  run.nodes = spec.nodes;
  run.ranks_per_node = spec.ranks_per_node;
  run.flops_per_token = context.site.training.flops_per_token;
  run.peak_flops =
      context.site.training.peak_flops > 0 ? context.site.training.peak_flops : PeakOf(context);
  if (!gang.ok()) return training::ObserveLoggedTraining(run, reading);
  const train_log::TrainLog log = BestLog(*gang);
  run.cut = log.cut;
  for (const train_log::Step& step : log.steps) run.steps.push_back(Copied(step, log.framework));
  for (const RankResult& rank : gang->ranks)
    run.exit_codes.push_back(rank.result.timed_out ? 124 : rank.result.exit_code);
  Observations seen = training::ObserveLoggedTraining(run, reading);
  AddStartSpread(*gang, reading, seen);
  return seen;
}

Observations ObserveReported(const ProofContext& context, const GangSpec& spec,
                             const Result<GangResult>& gang, const Reading& reading) {
  training::TrainingRun run;
  run.gang = "train";
  run.nodes = spec.nodes;
  run.ranks_per_node = spec.ranks_per_node;
  run.flops_per_token = context.site.training.flops_per_token;
  run.peak_flops = context.site.training.peak_flops;
  if (gang.ok()) {
    for (const RankResult& rank : gang->ranks) {
      run.reports.push_back(training::ParseRankLog(rank.rank, rank.node, rank.result.exit_code,
                                                   rank.result.out + rank.result.err));
    }
  }
  const auto checked = training::CheckCheckpoint(context.world.files, run.reports, run.ranks());
  return training::ObserveTraining(run, checked, reading);
}

}  // namespace

Evidence ProveTraining(const ProofContext& context) {
  Evidence evidence;
  const GangSpec spec = TrainingGang(context, context.run_folder + "/checkpoint");
  const bool own = OwnJob(context), on_real_site = context.site.kind != SiteKind::kLab;
  Reading reading;
  reading.probe = "measure.training";
  reading.host = "train";
  reading.command = Command{.argv = spec.argv}.ToString();
  if (own && on_real_site) reading.command = fmt::format("{}: {}", kOwnSmallJob, reading.command);
  reading.origin = context.hosts.origin();

  Result<GangResult> gang = Fail(
      Code::kRefused, context.site.kind == SiteKind::kKubernetes
                          ? "on a cluster ranks are pods of the site's image: name a "
                            "training.command in the site file"
                          : "Muster's own small job runs on this machine only, and the site has "
                            "other hosts: name a training.command in the site file");
  if (!own || !context.own_training.empty()) {
    context.progress.Note(
        fmt::format("training{}: {} ranks", own && on_real_site ? ", Muster's own small job" : "",
                    spec.nodes.size() * static_cast<size_t>(spec.ranks_per_node)));
    gang = context.jobs.RunGang(spec);
  }
  reading.at = context.world.clock.Now();
  if (gang.ok()) {
    reading.text = JoinedLogs(*gang);
    reading.took = gang->took;
  } else {
    reading.fault = Unobserved{gang.error().code == Code::kRefused ? UnknownReason::kNotObserved
                                                                   : UnknownReason::kToolFault,
                               gang.error().ToString()};
  }
  evidence.derived = Logged(context) ? ObserveLogged(context, spec, gang, reading)
                                     : ObserveReported(context, spec, gang, reading);
  // That nothing was said does not mean that nothing started.
  if (reading.fault) {
    for (Observation& o : evidence.derived) o.seen = *reading.fault;
  }
  evidence.readings.push_back(std::move(reading));
  return evidence;
}

}  // namespace muster
