#include "measure/training/logged_training.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "measure/training/training.h"

namespace muster::training {
namespace {

constexpr size_t kLossWindow = 3;
constexpr double kAbovePeak = 1.05;

class LoggedObserver {
 public:
  LoggedObserver(const LoggedRun& run, const Reading& reading)
      : run_(run), out_(reading), gang_{SubjectKind::kGang, run.gang} {}

  Observations Take() {
    for (const int code : run_.exit_codes) ended_well_ += code == 0 ? 1 : 0;
    ranks_ = static_cast<int>(run_.nodes.size()) * run_.ranks_per_node;
    if (run_.steps.empty()) {
      gap_ = "the log has no steps";
    } else if (run_.cut) {
      gap_ = "the log ends in the middle of a line";
    } else if (ranks_ < 1 || ended_well_ < ranks_) {
      gap_ = fmt::format("{} of {} ranks ended well", ended_well_, ranks_);
    }
    Starts();
    StepTimes();
    Mfu();
    Losses();
    for (const std::string& node : run_.nodes) {
      for (const std::string_view fact : {"train.rank_lag", "train.checkpoint_of_node"})
        Unknown(NodeSubject(node), fact, UnknownReason::kNotObserved,
                "the job's log does not say it");
    }
    for (const std::string_view fact : {"train.start_spread", "train.checkpoint_written"})
      Unknown(gang_, fact, UnknownReason::kNotObserved, "the job's log does not say it");
    return out_.Take();
  }

 private:
  void Unknown(const Subject& on, std::string_view fact, UnknownReason reason,
               std::string_view why) {
    out_.AddUnobserved(on, fact, reason, why);
  }
  // The values of one field after the warm-up; empty unless every step has it.
  std::vector<double> All(std::optional<double> LoggedStep::* field) const {
    std::vector<double> values;
    for (size_t i = kWarmUpSteps; i < run_.steps.size(); ++i) {
      const std::optional<double>& value = run_.steps[i].*field;
      if (!value) return {};
      values.push_back(*value);
    }
    return values;
  }
  // Says why nothing can be measured; true when it did.
  bool Blocked(std::string_view fact) {
    if (!gap_.empty()) {
      Unknown(gang_, fact, UnknownReason::kNotObserved, gap_);
      return true;
    }
    if (run_.steps.size() >= kWarmUpSteps + kMinSteps) return false;
    Unknown(gang_, fact, UnknownReason::kTooFewSamples,
            fmt::format("{} steps; {} are warm-up and {} more are needed", run_.steps.size(),
                        kWarmUpSteps, kMinSteps));
    return true;
  }

  void Starts() {
    const int started = run_.steps.empty() ? 0 : ended_well_;
    out_.Add(gang_, "train.ranks_started", static_cast<int64_t>(started), Unit::kCount,
             fmt::format("{} of {} ranks ended well; the log has {} steps", ended_well_, ranks_,
                         run_.steps.size()));
    for (size_t n = 0; n < run_.nodes.size(); ++n) {
      int bad = -1;
      for (int l = run_.ranks_per_node - 1; l >= 0; --l) {
        const size_t r = n * static_cast<size_t>(run_.ranks_per_node) + static_cast<size_t>(l);
        if (r >= run_.exit_codes.size() || run_.exit_codes[r] != 0) bad = static_cast<int>(r);
      }
      const Subject node = NodeSubject(run_.nodes[n]);
      if (run_.steps.empty() || run_.ranks_per_node < 1) {
        Unknown(node, "train.rank_started", UnknownReason::kNotObserved, "the log has no steps");
      } else if (bad >= 0) {
        // It may have stepped before it failed; that is not known.
        Unknown(node, "train.rank_started", UnknownReason::kNotObserved,
                fmt::format("rank {} did not end well", bad));
      } else {
        out_.Add(node, "train.rank_started", true, Unit::kNone,
                 "its ranks ended well, and the gang made steps");
      }
    }
  }

  void StepTimes() {
    const bool no_time = Blocked("train.step_time"), no_spread = Blocked("train.step_time_spread");
    if (no_time || no_spread) return;
    std::vector<double> times = All(&LoggedStep::step_time_s);
    const bool printed = !times.empty();
    if (!printed) {
      times = All(&LoggedStep::tokens_per_s_gpu);
      for (double& t : times) t = 1 / t;
      Unknown(gang_, "train.step_time", UnknownReason::kNotObserved,
              "the trainer does not print the time of each step");
    }
    if (times.empty()) {
      return Unknown(gang_, "train.step_time_spread", UnknownReason::kNotObserved,
                     "neither times nor tokens per second in every step");
    }
    const double median = NearestRank(times, 0.5), p95 = NearestRank(times, 0.95);
    const std::string excerpt = fmt::format("{} steps after {} of warm-up; {}", times.size(),
                                            kWarmUpSteps, run_.steps.back().line);
    if (printed) out_.Add(gang_, "train.step_time", median, Unit::kSeconds, excerpt);
    out_.Add(gang_, "train.step_time_spread", p95 / median, Unit::kRatio, excerpt);
  }

  void Mfu() {
    if (Blocked("train.mfu")) return;
    const auto mean = [](const std::vector<double>& values) {
      double sum = 0;
      for (const double v : values) sum += v;
      return sum / static_cast<double>(values.size());
    };
    const auto tflops = All(&LoggedStep::tflops_gpu), tps = All(&LoggedStep::tokens_per_s_gpu),
               said = All(&LoggedStep::mfu);
    double mfu = 0;
    std::string how;
    if (run_.peak_flops > 0 && !tflops.empty()) {
      mfu = mean(tflops) * 1e12 / run_.peak_flops;
      how = fmt::format("{:.4g} model TFLOP/s a device / {:.4g} peak", mean(tflops),
                        run_.peak_flops / 1e12);
    } else if (run_.peak_flops > 0 && run_.flops_per_token > 0 && !tps.empty()) {
      mfu = mean(tps) * run_.flops_per_token / run_.peak_flops;
      how = fmt::format("{:.4g} tok/s a device x {:.4g} FLOP / {:.4g} FLOP/s", mean(tps),
                        run_.flops_per_token, run_.peak_flops);
    } else if (!said.empty()) {
      mfu = mean(said);
      how = "as the trainer says it";
    } else {
      return Unknown(gang_, "train.mfu", UnknownReason::kNotObserved,
                     "the log has no throughput that can be held against a peak");
    }
    const std::string excerpt = fmt::format("{:.2f} %: {}", 100 * mfu, how);
    if (!std::isfinite(mfu) || mfu > kAbovePeak) {
      return Unknown(gang_, "train.mfu", UnknownReason::kToolFault,
                     "more than the peak: " + excerpt);
    }
    out_.Add(gang_, "train.mfu", mfu, Unit::kRatio, excerpt);
  }

  void Losses() {
    int64_t bad = 0;
    bool every = true;
    std::string line;
    for (const LoggedStep& step : run_.steps) {
      every = every && (step.loss || step.nan_iterations);
      if ((step.loss && !std::isfinite(*step.loss)) || step.nan_iterations.value_or(0) > 0) {
        ++bad;
        if (line.empty()) line = step.line;
      }
    }
    if (bad > 0) {
      out_.Add(gang_, "train.nan_steps", bad, Unit::kCount, line);
    } else if (!gap_.empty() || !every) {
      Unknown(gang_, "train.nan_steps", UnknownReason::kNotObserved,
              gap_.empty() ? "not every step has a loss" : gap_);
    } else {
      out_.Add(gang_, "train.nan_steps", int64_t{0}, Unit::kCount,
               fmt::format("{} steps, every loss finite", run_.steps.size()));
    }
    LossDrop();
  }

  void LossDrop() {
    if (!gap_.empty() || run_.steps.size() < 2 * kLossWindow) {
      return Unknown(gang_, "train.loss_drop",
                     gap_.empty() ? UnknownReason::kTooFewSamples : UnknownReason::kNotObserved,
                     gap_.empty() ? "too few steps" : gap_);
    }
    double first = 0, last = 0;
    for (size_t i = 0; i < kLossWindow; ++i) {
      first += run_.steps[i].loss.value_or(NAN) / kLossWindow;
      last += run_.steps[run_.steps.size() - 1 - i].loss.value_or(NAN) / kLossWindow;
    }
    if (!std::isfinite(first) || !std::isfinite(last) || first <= 0) {
      return Unknown(gang_, "train.loss_drop", UnknownReason::kNotObserved,
                     "no finite loss at both ends of the run");
    }
    out_.Add(gang_, "train.loss_drop", (first - last) / first, Unit::kRatio,
             fmt::format("loss {:.4f} in the first steps, {:.4f} in the last", first, last));
  }

  const LoggedRun& run_;
  ObservationBuilder out_;
  const Subject gang_;
  int ended_well_ = 0, ranks_ = 0;
  std::string gap_;
};

}  // namespace

Observations ObserveLoggedTraining(const LoggedRun& run, const Reading& reading) {
  return LoggedObserver(run, reading).Take();
}

}  // namespace muster::training
