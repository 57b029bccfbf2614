#include "measure/training/training.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::training {
namespace {

// Why a figure cannot be had.
struct Why {
  UnknownReason reason;
  std::string detail;
};

constexpr size_t kLossWindow = 3;    // steps at either end that are averaged
constexpr double kAbovePeak = 1.05;  // more than the peak: then the peak, or the count, is wrong

class Observer {
 public:
  Observer(const TrainingRun& run, const CheckpointCheck& checkpoint, const Reading& reading)
      : run_(run), checkpoint_(checkpoint), out_(reading), gang_{SubjectKind::kGang, run.gang} {
    for (const RankReport& report : run.reports)
      if (report.rank >= 0 && report.rank < run.ranks()) by_rank_.emplace(report.rank, &report);
    gap_ = FindGap();
  }

  Observations Take() {
    if (run_.ranks() <= 0) {
      for (const std::string_view fact :
           {"train.ranks_started", "train.start_spread", "train.mfu", "train.step_time",
            "train.step_time_spread", "train.nan_steps", "train.loss_drop",
            "train.checkpoint_written"})
        GangUnknown(fact, {UnknownReason::kNotObserved, "a gang without ranks"});
      return out_.Take();
    }
    Starts();
    StepTimes();
    Mfu();
    Losses();
    Lag();
    Checkpoint();
    return out_.Take();
  }

 private:
  const RankReport* Rank(int rank) const {
    const auto found = by_rank_.find(rank);
    return found == by_rank_.end() ? nullptr : found->second;
  }
  std::string NodeOf(int rank) const {
    return run_.nodes[static_cast<size_t>(rank / run_.ranks_per_node)];
  }
  std::string Name(int rank) const { return fmt::format("rank {} on {}", rank, NodeOf(rank)); }

  void Gang(std::string_view fact, Value value, Unit unit, std::string_view excerpt) {
    out_.Add(gang_, fact, std::move(value), unit, excerpt);
  }
  void GangUnknown(std::string_view fact, const Why& why) {
    out_.AddUnobserved(gang_, fact, why.reason, why.detail);
  }

  // What keeps the gang's steps from being one whole table; nothing when every rank's log is whole
  // and of one length.
  std::optional<Why> FindGap() const {
    for (int r = 0; r < run_.ranks(); ++r) {
      const RankReport* report = Rank(r);
      if (report == nullptr) return Why{UnknownReason::kNotObserved, Name(r) + " left no log"};
      if (!report->damage.empty()) return Why{UnknownReason::kUnparsable, report->damage};
      if (report->steps.empty()) {
        const std::string why = report->errors.empty() ? "" : ": " + report->errors.front();
        return Why{UnknownReason::kNotObserved, Name(r) + " did not reach its first step" + why};
      }
      if (!report->ended) {
        return Why{UnknownReason::kNotObserved,
                   fmt::format("the log of {} ends after step {} (exit {})", Name(r),
                               report->steps.back().step, report->exit_code)};
      }
      const std::vector<StepReport>& first = Rank(0)->steps;
      if (report->steps.size() != first.size() || report->steps[0].step != first[0].step)
        return Why{UnknownReason::kUnparsable, Name(r) + " has other steps than rank 0"};
    }
    return std::nullopt;
  }
  std::optional<Why> TooFew() const {
    if (gap_) return gap_;
    const size_t steps = Rank(0)->steps.size();
    if (steps >= kWarmUpSteps + kMinSteps) return std::nullopt;
    return Why{UnknownReason::kTooFewSamples,
               fmt::format("{} steps; {} are warm-up and {} more are needed", steps, kWarmUpSteps,
                           kMinSteps)};
  }

  void Starts() {
    int reached = 0;
    for (const auto& [rank, report] : by_rank_) reached += report->steps.empty() ? 0 : 1;
    const std::set<int> absent = Absent();
    std::vector<std::string> names;
    for (const int r : absent) names.push_back(Name(r));
    Gang("train.ranks_started", static_cast<int64_t>(reached), Unit::kCount,
         fmt::format("{} of {} ranks reached their first step{}", reached, run_.ranks(),
                     names.empty() ? "" : "; not there: " + Join(names, ", ")));
    StartSpread();
    for (size_t n = 0; n < run_.nodes.size(); ++n) StartOf(static_cast<int>(n), absent);
  }

  // Ranks that never spoke; where all did, those that the rendezvous missed.
  std::set<int> Absent() const {
    std::set<int> absent;
    for (int r = 0; r < run_.ranks(); ++r) {
      const RankReport* report = Rank(r);
      if (report == nullptr || (!report->started_unix_s && report->steps.empty())) absent.insert(r);
    }
    if (!absent.empty()) return absent;
    for (const auto& [rank, report] : by_rank_) {
      for (const int r : NamedMissing(*report))
        if (r < run_.ranks() && r != rank && Rank(r)->steps.empty()) absent.insert(r);
    }
    return absent;
  }

  void StartSpread() {
    std::vector<double> starts;
    for (int r = 0; r < run_.ranks(); ++r) {
      const RankReport* report = Rank(r);
      if (report == nullptr || !report->started_unix_s)
        return GangUnknown("train.start_spread",
                           {UnknownReason::kNotObserved, Name(r) + " did not say when it started"});
      starts.push_back(*report->started_unix_s);
    }
    if (starts.empty()) return GangUnknown("train.start_spread", *gap_);
    const auto [first, last] = std::minmax_element(starts.begin(), starts.end());
    Gang("train.start_spread", *last - *first, Unit::kSeconds,
         fmt::format("the last of {} ranks started {:.3f} s after the first", starts.size(),
                     *last - *first));
  }

  // A node whose ranks waited for another's had no chance to reach a step: that is not known, not
  // bad.
  void StartOf(int node, const std::set<int>& absent) {
    const Subject subject = NodeSubject(run_.nodes[static_cast<size_t>(node)]);
    std::string missing;
    bool all = true, own = false;
    for (int l = 0; l < run_.ranks_per_node; ++l) {
      const int r = node * run_.ranks_per_node + l;
      const RankReport* report = Rank(r);
      if (report != nullptr && !report->steps.empty()) continue;
      all = false;
      own = own || absent.empty() || absent.contains(r);
      if (missing.empty()) {
        missing = Name(r) + " did not reach its first step";
        if (report == nullptr) missing += ": it left no log";
        if (report != nullptr && !report->errors.empty()) missing += ": " + report->errors.front();
      }
    }
    if (all) {
      out_.Add(subject, "train.rank_started", true, Unit::kNone,
               fmt::format("all {} ranks reached their first step", run_.ranks_per_node));
    } else if (own) {
      out_.Add(subject, "train.rank_started", false, Unit::kNone, missing);
    } else {
      out_.AddUnobserved(subject, "train.rank_started", UnknownReason::kNotObserved,
                         fmt::format("its ranks waited for {}", Name(*absent.begin())));
    }
  }

  // Wall time of each step after the warm-up: all ranks wait for the slowest, so the longest of
  // them.
  std::vector<double> Walls() const {
    std::vector<double> walls;
    for (size_t i = kWarmUpSteps; i < Rank(0)->steps.size(); ++i) {
      double longest = 0;
      for (const auto& [rank, report] : by_rank_)
        longest = std::max(longest, report->steps[i].step_time_s);
      walls.push_back(longest);
    }
    return walls;
  }

  void StepTimes() {
    if (const auto why = TooFew()) {
      GangUnknown("train.step_time", *why);
      GangUnknown("train.step_time_spread", *why);
      return;
    }
    const std::vector<double> walls = Walls();
    const double median = NearestRank(walls, 0.5), p95 = NearestRank(walls, 0.95);
    const std::string excerpt =
        fmt::format("{} steps after {} of warm-up: median {:.4f} s, p95 {:.4f} s", walls.size(),
                    kWarmUpSteps, median, p95);
    Gang("train.step_time", median, Unit::kSeconds, excerpt);
    Gang("train.step_time_spread", p95 / median, Unit::kRatio, excerpt);
  }

  // The site's figure, or the mean of what the ranks say; nothing unless every rank says it.
  std::optional<double> FromLogs(double given, std::optional<double> RankReport::* said) const {
    if (given > 0) return given;
    double sum = 0;
    for (const auto& [rank, report] : by_rank_) {
      if (!(report->*said)) return std::nullopt;
      sum += *(report->*said);
    }
    return sum / static_cast<double>(by_rank_.size());
  }

  void Mfu() {
    if (const auto why = TooFew()) return GangUnknown("train.mfu", *why);
    const auto flops = FromLogs(run_.flops_per_token, &RankReport::flops_per_token);
    const auto peak = FromLogs(run_.peak_flops, &RankReport::peak_flops);
    if (!flops || !peak) {
      return GangUnknown("train.mfu", {UnknownReason::kNotObserved,
                                       !flops ? "FLOPs per token are not known"
                                              : "the peak is neither given nor measured"});
    }
    double tokens = 0, seconds = 0;
    for (const double wall : Walls()) seconds += wall;
    for (const auto& [rank, report] : by_rank_)
      for (size_t i = kWarmUpSteps; i < report->steps.size(); ++i)
        tokens += report->steps[i].tokens;
    const double mfu = tokens / seconds * *flops / (run_.ranks() * *peak);
    const std::string excerpt = fmt::format(
        "{:.0f} tok/s x {:.4g} FLOP/token / ({} ranks x {:.4g} FLOP/s {} peak) = {:.2f} %{}",
        tokens / seconds, *flops, run_.ranks(), *peak, run_.peak_flops > 0 ? "given" : "measured",
        100 * mfu, Rank(0)->smoke ? "; a smoke job, no model's baseline" : "");
    if (!std::isfinite(mfu) || mfu > kAbovePeak)
      return GangUnknown("train.mfu",
                         {UnknownReason::kToolFault, "more than the peak: " + excerpt});
    Gang("train.mfu", mfu, Unit::kRatio, excerpt);
  }

  void Losses() {
    // A loss that is not finite counts even where other logs are cut; "none" needs every log.
    std::map<int64_t, std::string> bad;
    for (const auto& [rank, report] : by_rank_) {
      for (const StepReport& step : report->steps) {
        if (std::isfinite(step.loss) && std::isfinite(step.local_loss)) continue;
        std::string& line = bad[step.step];
        if (line.empty() || !std::isfinite(step.local_loss)) {
          // The rank whose own loss broke says more than those that got it with the sum.
          line = fmt::format("{}: {}", Name(rank), step.line);
        }
      }
    }
    if (!bad.empty()) {
      Gang("train.nan_steps", static_cast<int64_t>(bad.size()), Unit::kCount, bad.begin()->second);
    } else if (gap_) {
      GangUnknown("train.nan_steps", *gap_);
    } else {
      Gang("train.nan_steps", int64_t{0}, Unit::kCount,
           fmt::format("{} steps, every loss finite", Rank(0)->steps.size()));
    }
    LossDrop();
  }

  void LossDrop() {
    if (gap_) return GangUnknown("train.loss_drop", *gap_);
    const std::vector<StepReport>& steps = Rank(0)->steps;
    if (steps.size() < 2 * kLossWindow) {
      return GangUnknown("train.loss_drop",
                         {UnknownReason::kTooFewSamples, fmt::format("{} steps", steps.size())});
    }
    double first = 0, last = 0;
    for (size_t i = 0; i < kLossWindow; ++i) {
      first += steps[i].loss / kLossWindow;
      last += steps[steps.size() - 1 - i].loss / kLossWindow;
    }
    if (!std::isfinite(first) || !std::isfinite(last) || first <= 0)
      return GangUnknown("train.loss_drop", {UnknownReason::kNotObserved,
                                             "the loss at an end of the run is not finite"});
    Gang("train.loss_drop", (first - last) / first, Unit::kRatio,
         fmt::format("loss {:.4f} in the first {} steps, {:.4f} in the last", first, kLossWindow,
                     last));
  }

  void Lag() {
    if (const auto why = TooFew()) {
      for (const std::string& node : run_.nodes)
        out_.AddUnobserved(NodeSubject(node), "train.rank_lag", why->reason, why->detail);
      return;
    }
    std::vector<double> medians;
    for (int r = 0; r < run_.ranks(); ++r) {
      std::vector<double> times;
      const std::vector<StepReport>& steps = Rank(r)->steps;
      for (size_t i = kWarmUpSteps; i < steps.size(); ++i) times.push_back(steps[i].compute_time_s);
      medians.push_back(NearestRank(std::move(times), 0.5));
    }
    const double usual = NearestRank(medians, 0.5);
    for (size_t n = 0; n < run_.nodes.size(); ++n) {
      const auto begin = medians.begin() + static_cast<ptrdiff_t>(n) * run_.ranks_per_node;
      const auto slowest = std::max_element(begin, begin + run_.ranks_per_node);
      out_.Add(NodeSubject(run_.nodes[n]), "train.rank_lag", *slowest / usual, Unit::kRatio,
               fmt::format("rank {}: median compute {:.4f} s a step, of all ranks {:.4f} s",
                           slowest - medians.begin(), *slowest, usual));
    }
  }

  void Checkpoint() {
    if (!checkpoint_.asked) {
      const Why why =
          gap_.value_or(Why{UnknownReason::kNotObserved, "no checkpoint was asked for"});
      GangUnknown("train.checkpoint_written", why);
      for (const std::string& node : run_.nodes)
        out_.AddUnobserved(NodeSubject(node), "train.checkpoint_of_node", why.reason, why.detail);
      return;
    }
    std::vector<ShardCheck> all = checkpoint_.shards;
    all.push_back({-1, checkpoint_.manifest, checkpoint_.manifest_detail});
    Seals(gang_, "train.checkpoint_written", all);
    for (size_t n = 0; n < run_.nodes.size(); ++n) {
      std::vector<ShardCheck> own;
      for (const ShardCheck& shard : checkpoint_.shards)
        if (shard.rank / run_.ranks_per_node == static_cast<int>(n)) own.push_back(shard);
      Seals(NodeSubject(run_.nodes[n]), "train.checkpoint_of_node", own);
    }
  }

  // True when all hold; false when one is broken; otherwise not known.
  void Seals(const Subject& subject, std::string_view fact, const std::vector<ShardCheck>& seals) {
    const auto first = [&](Seal seal) {
      return std::find_if(seals.begin(), seals.end(),
                          [&](const ShardCheck& s) { return s.seal == seal; });
    };
    if (const auto broken = first(Seal::kBroken); broken != seals.end()) {
      out_.Add(subject, fact, false, Unit::kNone, broken->detail);
    } else if (const auto unknown = first(Seal::kUnknown);
               unknown != seals.end() || seals.empty()) {
      out_.AddUnobserved(subject, fact, UnknownReason::kNotObserved,
                         seals.empty() ? "no shards" : unknown->detail);
    } else {
      out_.Add(subject, fact, true, Unit::kNone,
               seals.back().rank < 0 ? seals.back().detail : seals.front().detail);
    }
  }

  const TrainingRun& run_;
  const CheckpointCheck& checkpoint_;
  ObservationBuilder out_;
  const Subject gang_;
  std::map<int, const RankReport*> by_rank_;
  std::optional<Why> gap_;
};

}  // namespace

double NearestRank(std::vector<double> values, double share) {
  const auto n = static_cast<double>(values.size());
  const auto rank = static_cast<size_t>(std::clamp(std::ceil(share * n), 1.0, n)) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(rank), values.end());
  return values[rank];
}

Observations ObserveTraining(const TrainingRun& run, const CheckpointCheck& checkpoint,
                             const Reading& reading) {
  return Observer(run, checkpoint, reading).Take();
}

}  // namespace muster::training
