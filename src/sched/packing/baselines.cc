#include "sched/packing/baselines.h"

#include <algorithm>
#include <cmath>

namespace muster::packing {

namespace {

// Largest node of the published cluster; both scores are relative to it.
constexpr double kMostCpuMilli = 128000;
constexpr double kMostGpuMilli = 8000;
constexpr double kTypicalPart = 0.95;

double Whole(double score) { return std::floor(score * 100); }

}  // namespace

std::vector<DemandClass> TypicalDemands(const Mix& mix) {
  Mix without_memory;
  std::vector<DemandClass> typical;
  for (DemandClass c : mix.classes()) {
    c.demand.memory_mib = 0;
    const size_t at = without_memory.Observe(c.demand);
    if (at == typical.size()) typical.push_back({c.demand, 0});
    typical[at].count += c.count;
  }
  std::stable_sort(typical.begin(), typical.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  double sum = 0;
  size_t kept = 0;
  while (kept < typical.size() && sum < kTypicalPart * mix.total()) sum += typical[kept++].count;
  typical.resize(kept);
  for (DemandClass& c : typical) c.count /= sum;
  return typical;
}

double Fragmentation(const Residual& node, const std::vector<DemandClass>& typical) {
  const auto left = static_cast<double>(GpuLeft(node));
  if (left == 0) return 0;
  double lost = 0;
  for (const auto& [demand, frequency] : typical) {
    if (demand.gpus == 0 || node.cpu_milli < demand.cpu_milli || !demand.Allows(node.model)) {
      lost += frequency * left;
      continue;
    }
    int able = 0;
    double too_small = 0;
    for (int i = 0; i < node.gpus; ++i) {
      if (node.gpu_left[i] >= demand.gpu_milli) {
        ++able;
      } else {
        too_small += node.gpu_left[i];
      }
    }
    lost += frequency * (able < demand.gpus ? left : too_small);
  }
  return lost;
}

Choice ScoreFgd(const Residual& node, const Demand& demand,
                const std::vector<DemandClass>& typical) {
  const double before = Fragmentation(node, typical);
  const auto score = [&](int gpu) {
    Residual after = node;
    Take(after, demand, gpu);
    return Whole(1 / (1 + std::exp((Fragmentation(after, typical) - before) / kWholeGpu)));
  };
  if (!demand.IsShare()) return {score(-1), -1};
  Choice best;
  for (int i = 0; i < node.gpus; ++i) {
    if (node.gpu_left[i] < demand.gpu_milli) continue;
    const double here = score(i);
    if (best.gpu < 0 || here > best.score) best = {here, i};
  }
  return best;
}

Choice ScoreBestFit(const Residual& node, const Demand& demand) {
  Choice choice;
  for (int i = 0; i < node.gpus && demand.IsShare(); ++i)
    if (node.gpu_left[i] >= demand.gpu_milli &&
        (choice.gpu < 0 || node.gpu_left[i] < node.gpu_left[choice.gpu]))
      choice.gpu = i;
  const double cpu = static_cast<double>(node.cpu_milli - demand.cpu_milli) / kMostCpuMilli;
  const double gpu = static_cast<double>(GpuLeft(node) - demand.gpu_total()) / kMostGpuMilli;
  choice.score = Whole(1 - 0.5 * cpu - 0.5 * gpu);
  return choice;
}

Choice ScoreDotProd(const Residual& node, const Demand& demand) {
  const double cpu = static_cast<double>(node.cpu_milli) / kMostCpuMilli *
                     static_cast<double>(demand.cpu_milli) / kMostCpuMilli;
  const double asked = static_cast<double>(demand.gpu_total()) / kMostGpuMilli;
  // A share may go to one device in use or to the idle ones; the smallest product wins.
  Choice best{-1, -1};
  int idle = 0, first_idle = -1;
  const auto consider = [&](double left, int gpu) {
    const double score = Whole(1 - (cpu + left / kMostGpuMilli * asked) / 2);
    if (score > best.score) best = {score, gpu};
  };
  for (int i = 0; i < node.gpus; ++i) {
    if (node.gpu_left[i] == kWholeGpu) {
      ++idle;
      if (first_idle < 0) first_idle = i;
    } else if (demand.gpu_total() < kWholeGpu && node.gpu_left[i] >= demand.gpu_milli) {
      consider(node.gpu_left[i], i);
    }
  }
  if (demand.gpu_total() <= static_cast<int64_t>(idle) * kWholeGpu)
    consider(static_cast<double>(idle) * kWholeGpu, first_idle);
  return best;
}

Choice ScoreRandom(const Residual& node, const Demand& demand, Draws& draws) {
  Choice choice;
  uint64_t able = 0;
  for (int i = 0; i < node.gpus && demand.IsShare(); ++i)
    if (node.gpu_left[i] >= demand.gpu_milli && draws.Below(++able) == 0) choice.gpu = i;
  return choice;
}

}  // namespace muster::packing
