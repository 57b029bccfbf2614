#include "backend/lab/work/train_rank.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "backend/lab/work/trainer/checkpoint.h"
#include "backend/lab/work/trainer/cpu_time.h"
#include "backend/lab/work/trainer/gemm.h"
#include "backend/lab/work/trainer/group.h"
#include "backend/lab/work/trainer/model.h"
#include "backend/lab/work/trainer/options.h"
#include "backend/lab/work/trainer/rank_log.h"
#include "backend/lab/work/trainer/text.h"
#include "base/exit_code.h"
#include "base/strings.h"

namespace muster::lab {
namespace {

constexpr float kLearningRate = 4e-3f;
constexpr size_t kPeakSize = 256;
constexpr int kUsualSteps = 3;
constexpr int kStarvedShare = 8;

void Say(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

// One rank from its start to its end.
class Rank {
 public:
  Rank(TrainOptions options, RankIdentity identity, RankFaults faults, World& world)
      : options_(std::move(options)),
        identity_(std::move(identity)),
        faults_(faults),
        world_(world),
        text_(Encode(TrainingText())),
        model_(shape_, options_.seed),
        adam_(model_.parameters().size(), kLearningRate) {}

  Status Run();

 private:
  Status Resume();
  Result<double> MeasurePeak();
  Result<StepRecord> Step(int64_t step);
  void WasteWork(Duration useful);
  bool Starved(int64_t step) const;
  Status WriteCheckpoint(double loss);
  void SayEnd(const std::vector<StepRecord>& steps, double peak, Duration began);

  const TrainOptions options_;
  const RankIdentity identity_;
  const RankFaults faults_;
  World& world_;
  const ModelShape shape_;
  const std::vector<uint8_t> text_;
  CharModel model_;
  Adam adam_;
  int64_t first_step_ = 0;  // steps done before this run
  Duration usual_step_{};   // the slowest of the first steps, before input is starved
  std::unique_ptr<Group> group_;
  std::vector<float> gradient_;
};

Status Rank::Resume() {
  if (options_.resume.empty()) return {};
  TRY(const Manifest manifest, ReadManifest(world_.files, options_.resume));
  if (!(manifest.shape == shape_))
    return Fail(Code::kInvalid, options_.resume + ": a model of another shape");
  TRY(TrainingState state, ReadCheckpoint(world_.files, options_.resume, manifest));
  model_.parameters() = std::move(state.parameters);
  adam_.first() = std::move(state.first);
  adam_.second() = std::move(state.second);
  adam_.set_steps(manifest.step);
  first_step_ = manifest.step;
  return {};
}

// FLOP/s per rank of square products while all ranks run them, mean over ranks. The window grows
// with the gang, so that each rank gets its turns on shared cores.
Result<double> Rank::MeasurePeak() {
  const std::vector<float> a(kPeakSize * kPeakSize, 0.5f), b(kPeakSize * kPeakSize, 0.25f);
  std::vector<float> c(kPeakSize * kPeakSize);
  TRY_VOID(group_->Barrier());
  const Duration window = std::chrono::milliseconds(150 + 15 * identity_.world);
  const Duration began = world_.clock.Monotonic();
  double flops = 0;
  Duration took{};
  do {
    Gemm(kPeakSize, kPeakSize, kPeakSize, a, b, c);
    flops += GemmFlops(kPeakSize, kPeakSize, kPeakSize);
    took = world_.clock.Monotonic() - began;
  } while (took < window);
  float mean =
      static_cast<float>(flops / Seconds(took) / 1e9) / static_cast<float>(identity_.world);
  TRY_VOID(group_->Sum({&mean, 1}));
  return static_cast<double>(mean) * 1e9;
}

// A straggler does more work for the same result, as a throttled device would take longer for it.
void Rank::WasteWork(Duration useful) {
  if (faults_.straggler_factor <= 1) return;
  const std::vector<float> a(kPeakSize * kPeakSize, 1.0f);
  std::vector<float> c(kPeakSize * kPeakSize);
  const Duration until =
      ThreadCpuTime() + FromSeconds(Seconds(useful) * (faults_.straggler_factor - 1));
  while (ThreadCpuTime() < until) Gemm(64, kPeakSize, kPeakSize, a, a, c);
}

// slow_training: after a few steps that show the usual pace, input brings an eighth of the tokens,
// and late; so a rank trains many times slower without the run taking as many times longer.
bool Rank::Starved(int64_t step) const {
  return faults_.slow_factor > 1 && step > first_step_ + kUsualSteps;
}

Result<StepRecord> Rank::Step(int64_t step) {
  const Duration began = world_.clock.Monotonic(), began_cpu = ThreadCpuTime();
  // The same seed gives the same batches whether or not the run was interrupted.
  SeededRandom random(options_.seed * 1'000'003 + static_cast<uint64_t>(step) * 65'537 +
                      static_cast<uint64_t>(identity_.rank));
  const bool starved = Starved(step);
  const int tokens = starved ? std::max(1, options_.batch / kStarvedShare) : options_.batch;
  const Batch batch = SampleBatch(text_, shape_, static_cast<size_t>(tokens), random);
  gradient_.resize(model_.parameters().size() + 1);
  const std::span<float> gradient = std::span(gradient_).first(model_.parameters().size());
  float loss = model_.LossAndGradient(batch, gradient);
  WasteWork(ThreadCpuTime() - began_cpu);
  if (faults_.nan_at > 0 && step >= faults_.nan_at && step < faults_.nan_at + faults_.nan_steps) {
    loss = std::numeric_limits<float>::quiet_NaN();
    gradient[0] = loss;
  }
  StepRecord record;
  record.step = step;
  record.tokens = tokens;
  record.compute_time = ThreadCpuTime() - began_cpu;
  record.local_loss = loss;

  gradient_.back() = loss;
  TRY_VOID(group_->Sum(gradient_));
  const float share = 1.0f / static_cast<float>(identity_.world);
  double norm = 0;
  for (float& g : gradient_) g *= share;
  for (const float g : gradient) norm += static_cast<double>(g) * static_cast<double>(g);
  record.loss = gradient_.back();
  record.grad_norm = std::sqrt(norm);
  // All ranks see the same sum, so all skip, or none does.
  record.skipped = !std::isfinite(norm);
  if (!record.skipped) adam_.Step(model_.parameters(), gradient);
  const Duration useful = world_.clock.Monotonic() - began;
  if (!starved) usual_step_ = std::max(usual_step_, useful);
  const Duration late = FromSeconds(Seconds(usual_step_) * faults_.slow_factor / kStarvedShare);
  if (starved && late > useful) world_.clock.SleepFor(late - useful);
  record.step_time = world_.clock.Monotonic() - began;
  return record;
}

// All ranks write; rank 0 hears from each, and writes the manifest only when every shard is
// durable.
Status Rank::WriteCheckpoint(double loss) {
  const std::string& folder = options_.checkpoint;
  if (folder.empty()) return {};
  if (identity_.rank == 0) TRY_VOID(RemoveManifest(world_.files, folder));
  TRY_VOID(group_->Barrier());

  Result<ShardRecord> shard =
      faults_.disk_full
          ? Result<ShardRecord>(Fail(Code::kUnavailable,
                                     fmt::format("{}: No space left on device", identity_.node)))
          : WriteShard(world_.files, folder, identity_.rank, identity_.world, identity_.node,
                       model_.parameters(), adam_.first(), adam_.second());
  Manifest mine;
  mine.step = first_step_ + options_.steps;
  mine.seed = options_.seed;
  mine.shape = shape_;
  mine.loss = std::isfinite(loss) ? loss : -1;
  if (shard.ok()) {
    Say(CheckpointLine(folder, *shard));
  } else {
    Say(CheckpointErrorLine(folder, ShardName(identity_.rank, identity_.world), shard.error()));
  }
  const std::string said =
      shard.ok() ? fmt::format("{} {} {}", shard->bytes, shard->sha256, shard->node) : "";
  TRY(const std::vector<std::string> all, group_->Exchange(said));

  std::vector<int> failed;
  for (int r = 0; r < identity_.world; ++r) {
    const std::string& text = all[static_cast<size_t>(r)];
    const std::vector<std::string_view> words = SplitBlank(text);
    const auto bytes =
        words.size() == 3 ? ParseInt(words[0]) : Result<int64_t>(Fail(Code::kParse, ""));
    if (!bytes.ok()) {
      failed.push_back(r);
      continue;
    }
    mine.shards.push_back({r, std::string(words[2]), ShardName(r, identity_.world),
                           static_cast<uint64_t>(*bytes), std::string(words[1])});
  }
  Status written;
  if (!failed.empty()) {
    written =
        Fail(Code::kUnavailable,
             fmt::format("{} of {} shards were not written (rank {} first): no manifest, so no "
                         "checkpoint",
                         failed.size(), identity_.world, failed.front()));
  } else if (identity_.rank == 0) {
    written = WriteManifest(world_.files, folder, mine, identity_.world);
  }
  if (identity_.rank == 0) Say(ManifestLine(folder, written));
  return written;
}

void Rank::SayEnd(const std::vector<StepRecord>& steps, double peak, Duration began) {
  EndRecord end;
  std::vector<double> times;
  // The first steps warm caches and page in memory.
  const size_t warm = std::min(steps.size() / 2, size_t{10});
  for (size_t i = warm; i < steps.size(); ++i) times.push_back(Seconds(steps[i].step_time));
  std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2),
                   times.end());
  end.step_time_s = times[times.size() / 2];
  end.tokens_per_s = steps.back().tokens / end.step_time_s;
  end.flops = end.tokens_per_s * shape_.FlopsPerToken();
  end.peak_flops = peak;
  end.mfu = end.flops / peak;
  end.steps = steps.back().step;
  end.loss = steps.back().loss;
  end.grad_norm = steps.back().grad_norm;
  end.wall = world_.clock.Monotonic() - began;
  // Pages of 4 KiB; without /proc the line says 0.
  if (const auto statm = world_.files.Read("/proc/self/statm", 4096); statm.ok()) {
    const auto fields = SplitBlank(*statm);
    if (fields.size() > 1) {
      if (const auto pages = ParseInt(fields[1]); pages.ok())
        end.resident_bytes = static_cast<uint64_t>(*pages) * 4096;
    }
  }
  if (const auto meminfo = world_.files.Read("/proc/meminfo", 65536); meminfo.ok()) {
    const auto words = SplitBlank(*meminfo);
    if (words.size() > 1) {
      if (const auto kib = ParseInt(words[1]); kib.ok())
        end.memory_bytes = static_cast<uint64_t>(*kib) * 1024;
    }
  }
  Say(EndLine(end));
  Say(TitanLine(end));
}

Status Rank::Run() {
  const Duration began = world_.clock.Monotonic();
  Say(StartLine(identity_, world_.clock.Now()));
  TRY_VOID(Resume());
  const Meeting meeting{identity_.rank, identity_.world, identity_.master_addr,
                        identity_.master_port, options_.rendezvous_timeout};
  TRY(group_, JoinGroup(meeting, world_.clock));
  Say(ConfigLine(shape_, options_.batch, GemmKind()));
  TRY(double peak, MeasurePeak());
  std::vector<StepRecord> steps;
  for (int i = 1; i <= options_.steps; ++i) {
    TRY(StepRecord step, Step(first_step_ + i));
    Say(StepLine(step));
    steps.push_back(step);
  }
  TRY(const double peak_after, MeasurePeak());
  peak = std::max(peak, peak_after);
  const Status checkpoint = WriteCheckpoint(steps.back().loss);
  SayEnd(steps, peak, began);
  TRY_VOID(group_->Barrier());
  return checkpoint;
}

}  // namespace

int TrainRankMain(std::span<const std::string> args, World& world) {
  const auto wrong = [](const Error& error) {
    fmt::print(stderr, "train: {}\n", error.ToString());
    return static_cast<int>(ExitCode::kUsage);
  };
  auto options = ParseTrainOptions(args);
  if (!options.ok()) return wrong(options.error());
  auto identity = ReadIdentity(FromProcess);
  if (!identity.ok()) return wrong(identity.error());
  RankFaults faults;
  if (!identity->lab.empty()) {
    const auto state = LoadLab(world.files, identity->lab);
    if (!state.ok()) return wrong(state.error());
    faults = FaultsOf(*state, identity->node, options->steps);
  }
  const int rank = identity->rank;
  Rank self(std::move(*options), std::move(*identity), faults, world);
  const Status done = self.Run();
  if (done.ok()) return static_cast<int>(ExitCode::kDone);
  Say(ErrorLine(done.error()));
  fmt::print(stderr, "train: rank {}: {}\n", rank, done.error().ToString());
  return static_cast<int>(ExitCode::kInternal);
}

}  // namespace muster::lab
