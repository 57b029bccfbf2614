#include "sched/packing/packer.h"

#include <algorithm>

namespace muster::packing {

namespace {

// The mix is looked at again after 30 % more demands, and at least every 256.
constexpr double kLearnFactor = 1.3;
constexpr double kLearnLeast = 16, kLearnMost = 256;

}  // namespace

std::optional<Policy> PolicyNamed(std::string_view name) {
  if (name == "muster") return Policy::kMuster;
  if (name == "fgd") return Policy::kFgd;
  if (name == "bestfit") return Policy::kBestFit;
  if (name == "dotprod") return Policy::kDotProd;
  if (name == "random") return Policy::kRandom;
  return std::nullopt;
}

Packer::Packer(std::vector<Residual> nodes, size_t models, Policy policy, const Mix& known,
               uint64_t seed, const WorthConstants& constants)
    : nodes_(std::move(nodes)),
      versions_(nodes_.size(), 1),
      capacity_(models, 0),
      policy_(policy),
      constants_(constants),
      draws_(seed) {
  for (const Residual& node : nodes_) capacity_[static_cast<size_t>(node.model)] += node.gpus;
  if (policy_ == Policy::kFgd) typical_ = TypicalDemands(known);
}

void Packer::Learn(const Demand& demand) {
  class_ = seen_.Observe(demand);
  if (kept_.size() < seen_.classes().size()) kept_.resize(seen_.classes().size());
  if (policy_ != Policy::kMuster || seen_.total() < learn_at_) return;
  const double seen = seen_.total();
  learn_at_ = std::min(seen + kLearnMost, std::max(seen + kLearnLeast, seen * kLearnFactor));
  worth_.emplace(seen_, nodes_, capacity_, constants_);
  for (auto& of_class : kept_) of_class.clear();
}

Choice Packer::Score(const Residual& node, const Demand& demand) {
  switch (policy_) {
    case Policy::kMuster:
      return worth_->Score(node, demand);
    case Policy::kFgd:
      return ScoreFgd(node, demand, typical_);
    case Policy::kBestFit:
      return ScoreBestFit(node, demand);
    case Policy::kDotProd:
      return ScoreDotProd(node, demand);
    case Policy::kRandom:
      break;  // drawn for the chosen node only
  }
  return {};
}

std::optional<Placed> Packer::Place(const Demand& demand) {
  Learn(demand);
  std::vector<Kept>& kept = kept_[class_];
  if (kept.empty()) kept.resize(nodes_.size());
  std::optional<size_t> best;
  uint64_t ties = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Kept& here = kept[i];
    if (here.version != versions_[i]) {
      here.version = versions_[i];
      here.fits = Fits(nodes_[i], demand);
      if (here.fits) here.choice = Score(nodes_[i], demand);
    }
    if (!here.fits) continue;
    if (policy_ == Policy::kRandom ? draws_.Below(++ties) == 0
                                   : !best || here.choice.score > kept[*best].choice.score)
      best = i;
  }
  if (!best) return std::nullopt;
  if (policy_ == Policy::kRandom) kept[*best].choice = ScoreRandom(nodes_[*best], demand, draws_);
  const Placed placed{*best, demand.IsShare() ? kept[*best].choice.gpu : -1};
  Take(nodes_[*best], demand, placed.gpu);
  ++versions_[*best];
  return placed;
}

}  // namespace muster::packing
