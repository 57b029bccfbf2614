#include "diagnose/words/words.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/strings.h"

namespace muster::diagnose::words {

namespace {

// Chosen on four unseen sets, each read by a model of the cases from before it; flat around them.
constexpr double kComplaint = 2.0, kPlain = 0.4;
constexpr double kLayerPrior = 0.3, kFailurePrior = 1.0;

constexpr std::string_view kComplaints[] = {
    "error",     "fail",         "fatal",       "critical",      "cannot",    "could not",
    "unable",    "timed out",    "timeout",     "refus",         "denied",    "corrupt",
    "abort",     "hang",         "hung",        "stall",         "lost",      "missing",
    "not found", "no such",      "unreach",     "degrad",        "unhealthy", "not ready",
    "notready",  "crash",        "panic",       "invalid",       "warn",      "down",
    "exceed",    "insufficient", "mismatch",    "kill",          "oom",       "uncorrect",
    "dead",      "evict",        "unsupported", "not supported", "unknown",   "unexpected",
    "xid",       "reset",        "offline",     "not respond",   "giving up", "gave up",
    "exhaust",   "reject",       "conflict",    "no space",      "violat"};

bool Letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Calls `take` with each word of the line and each pair of neighbours, in lower case.
template <typename Take>
void EachWord(std::string_view line, Take take) {
  std::string before, word;
  for (size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && Letter(line[i])) {
      word += static_cast<char>(line[i] | 0x20);
      continue;
    }
    if (word.size() >= 2) {
      take(word);
      if (!before.empty()) take(before + ' ' + word);
      before = word;
    }
    word.clear();
  }
}

// How much more often examples of one kind have a word than all others. `prior`: as if so many more
// had it, shared out as the examples are, so that a word that was seen once tells little.
double LogOdds(double with, double all, double with_other, double all_other, double prior) {
  const double share = all / (all + all_other);
  return std::log((with + prior * share) / all) -
         std::log((with_other + prior * (1 - share)) / all_other);
}

}  // namespace

bool Complains(std::string_view line) {
  const std::string lower = ToLower(line);
  const auto begins_word = [&](std::string_view stem) {
    for (size_t at = lower.find(stem); at != std::string::npos; at = lower.find(stem, at + 1))
      if (at == 0 || !Letter(lower[at - 1])) return true;
    return false;
  };
  return std::any_of(std::begin(kComplaints), std::end(kComplaints), begins_word);
}

Weights WordsOf(std::span<const std::string_view> lines) {
  Weights weights;
  std::vector<std::string> of_line;
  for (const std::string_view line : lines) {
    of_line.clear();
    EachWord(line, [&](const std::string& word) { of_line.push_back(word); });
    std::sort(of_line.begin(), of_line.end());
    of_line.erase(std::unique(of_line.begin(), of_line.end()), of_line.end());
    const double weight = Complains(line) ? kComplaint : kPlain;
    for (const std::string& word : of_line) {
      double& sum = weights[word];
      sum = std::min(kMostWeight, sum + weight);
    }
  }
  return weights;
}

Model Model::Train(std::span<const std::string_view> layers, std::span<const Example> examples) {
  Model model;
  model.layers_.assign(layers.begin(), layers.end());
  for (const Example& example : examples) {
    const auto at = std::find(layers.begin(), layers.end(), example.layer);
    const auto count = [&](Seen& seen) {
      if (at == layers.end()) {
        ++seen.health;
        return;
      }
      ++seen.layer[static_cast<size_t>(at - layers.begin())];
      ++seen.failure;
    };
    count(model.examples_);
    for (const auto& [word, weight] : WordsOf(Lines(example.text))) count(model.words_[word]);
  }
  return model;
}

double Model::ForLayer(const Seen& seen, size_t layer) const {
  return LogOdds(seen.layer[layer], examples_.layer[layer], seen.failure - seen.layer[layer],
                 examples_.failure - examples_.layer[layer], kLayerPrior);
}

double Model::ForFailure(const Seen& seen) const {
  return LogOdds(seen.failure, examples_.failure, seen.health, examples_.health, kFailurePrior);
}

Reading Model::Read(std::span<const std::string_view> lines) const {
  std::vector<double> scores(layers_.size());
  for (size_t i = 0; i < layers_.size(); ++i)
    scores[i] = std::log((examples_.layer[i] + 1.0) /
                         (examples_.failure + static_cast<double>(layers_.size())));
  double failure = 0, weight_sum = 0;
  bool any = false;
  for (const auto& [word, weight] : WordsOf(lines)) {
    const auto known = words_.find(word);
    if (known == words_.end()) continue;
    failure += weight * ForFailure(known->second);
    weight_sum += weight;
    if (known->second.failure == 0) continue;
    any = true;
    for (size_t i = 0; i < layers_.size(); ++i) scores[i] += weight * ForLayer(known->second, i);
  }
  if (!any) return {};
  const auto best = std::max_element(scores.begin(), scores.end());
  return {layers_[static_cast<size_t>(best - scores.begin())],
          failure / std::sqrt(std::max(weight_sum, 1.0))};
}

size_t Model::MostTelling(std::span<const std::string_view> lines, std::string_view layer) const {
  const auto at = std::find(layers_.begin(), layers_.end(), layer);
  if (at == layers_.end()) return lines.size();
  size_t best = lines.size();
  double most = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    double score = 0;
    if (!Complains(lines[i])) continue;
    for (const auto& [word, weight] : WordsOf(lines.subspan(i, 1)))
      if (const auto known = words_.find(word); known != words_.end())
        score += weight * (ForLayer(known->second, static_cast<size_t>(at - layers_.begin())) +
                           ForFailure(known->second));
    if (score > most) {
      most = score;
      best = i;
    }
  }
  return best;
}

}  // namespace muster::diagnose::words
