#include "measure/collective/trial.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {
namespace {

// A set is called fast or slow while its mean is this many standard errors from the bound: at
// most 1.4 % of answers are then wrong (one-sided normal), and a wrong one still has to survive the
// confirming runs.
constexpr double kSure = 2.2;

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::string Trial::Key(const Nodes& set) {
  Nodes sorted = set;
  std::sort(sorted.begin(), sorted.end());
  return Join(sorted, "\n");
}

void Trial::OnRail(std::optional<int> rail, double healthy) {
  rail_ = rail;
  healthy_ = healthy;
  samples_.clear();
  decided_.clear();
  trusted_.clear();
}

void Trial::Record(const Nodes& set, const Result<double>& value) {
  CollectiveRunRecord run{set, rail_, 0, ""};
  if (value.ok() && std::isfinite(*value)) {
    run.value = *value;
  } else {
    run.error = value.ok() ? "not a finite number" : value.error().message;
    const Code code = value.ok() ? Code::kParse : value.error().code;
    if (code == Code::kCancelled || code == Code::kTimeout || code == Code::kRefused) {
      stopped_ = true;
      out_.note = fmt::format("stopped: {}", run.error);
      out_.runs.push_back(std::move(run));
      return;
    }
  }
  samples_[Key(set)].push_back(run.value);
  out_.runs.push_back(std::move(run));
}

bool Trial::Sample(const std::vector<Nodes>& sets) {
  if (stopped_ || sets.empty()) return !stopped_;
  if (static_cast<int>(out_.runs.size() + sets.size()) > options_.max_runs) {
    stopped_ = true;
    out_.note =
        fmt::format("stopped after {} runs, the limit is {}", out_.runs.size(), options_.max_runs);
    return false;
  }
  if (!rail_ && meter_.sets && sets.size() > 1) {
    ++out_.rounds;
    const auto values = meter_.sets(sets);
    for (size_t i = 0; i < sets.size(); ++i) {
      Record(sets[i],
             i < values.size() ? values[i] : Result<double>(Fail(Code::kInternal, "not measured")));
    }
    return !stopped_;
  }
  for (const Nodes& set : sets) {
    ++out_.rounds;
    Record(set, rail_ ? meter_.rail(set, *rail_) : meter_.set(set));
    if (stopped_) return false;
  }
  return true;
}

Speed Trial::Decide(const std::string& key, bool last) const {
  const auto at = samples_.find(key);
  if (at == samples_.end() || healthy_ <= 0) return Speed::kUnknown;
  const double bound = options_.slow_ratio * healthy_;
  const double error =
      options_.noise * healthy_ / std::sqrt(static_cast<double>(at->second.size()));
  const double mean = Mean(at->second);
  if (!last && std::abs(mean - bound) < kSure * error) return Speed::kUnknown;
  return mean < bound ? Speed::kSlow : Speed::kFast;
}

std::vector<Speed> Trial::Ask(const std::vector<Nodes>& sets) {
  std::vector<Speed> answers(sets.size(), Speed::kUnknown);
  for (bool open = true; open && !stopped_;) {
    open = false;
    std::vector<Nodes> batch;
    std::set<std::string> busy;
    for (size_t i = 0; i < sets.size(); ++i) {
      const std::string key = Key(sets[i]);
      if (const auto at = decided_.find(key); at != decided_.end()) {
        answers[i] = at->second;
        continue;
      }
      const auto at = samples_.find(key);
      const bool last =
          at != samples_.end() && static_cast<int>(at->second.size()) >= options_.max_repeats;
      const Speed speed = Decide(key, last);
      if (speed != Speed::kUnknown) {
        answers[i] = decided_[key] = speed;
        if (speed == Speed::kFast) trusted_.insert(sets[i].begin(), sets[i].end());
        continue;
      }
      open = true;
      if (std::any_of(sets[i].begin(), sets[i].end(),
                      [&busy](const std::string& node) { return busy.contains(node); }))
        continue;
      busy.insert(sets[i].begin(), sets[i].end());
      batch.push_back(sets[i]);
    }
    if (open && !Sample(batch)) break;
  }
  return answers;
}

Speed Trial::Confirm(const Nodes& set, int more) {
  for (int i = 0; i < more; ++i) {
    if (!Sample({set})) return Speed::kUnknown;
  }
  const Speed speed = Decide(Key(set), true);
  decided_[Key(set)] = speed;
  return speed;
}

double Trial::Ratio(const Nodes& set) const {
  const auto at = samples_.find(Key(set));
  if (at == samples_.end() || healthy_ <= 0) return 1;
  return Mean(at->second) / healthy_;
}

}  // namespace muster
