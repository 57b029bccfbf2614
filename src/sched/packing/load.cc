#include "sched/packing/load.h"

#include <algorithm>
#include <cmath>

namespace muster::packing {

Result<std::vector<Demand>> DrawPods(const std::vector<Demand>& list, int64_t gpu_milli,
                                     double load, uint64_t seed) {
  const double wanted = load * static_cast<double>(gpu_milli);
  int64_t in_list = 0;
  for (const Demand& pod : list) in_list += pod.gpu_total();
  if (in_list == 0) return Fail(Code::kInvalid, "no pod of the list asks for a GPU");
  Draws draws(seed);
  std::vector<Demand> pods = list;
  for (size_t i = pods.size(); i > 1; --i) std::swap(pods[i - 1], pods[draws.Below(i)]);
  int64_t asked = 0;
  size_t kept = 0;
  while (kept < pods.size() && static_cast<double>(asked) < wanted)
    asked += pods[kept++].gpu_total();
  pods.resize(kept);
  while (static_cast<double>(asked) < wanted) {
    pods.push_back(list[draws.Below(list.size())]);
    asked += pods.back().gpu_total();
  }
  return pods;
}

LoadRun RunLoad(const std::vector<Residual>& nodes, size_t models, const std::vector<Demand>& pods,
                Policy policy, uint64_t seed, int frag_every) {
  Mix known;
  for (const Demand& pod : pods) known.Observe(pod);
  const std::vector<DemandClass> typical = TypicalDemands(known);
  int64_t capacity = 0;
  for (const Residual& node : nodes) capacity += static_cast<int64_t>(node.gpus) * kWholeGpu;
  const auto percent = [&](double milli) { return 100 * milli / static_cast<double>(capacity); };
  Packer packer(nodes, models, policy, known, seed);
  const auto fragmentation = [&] {
    double sum = 0;
    for (const Residual& node : packer.nodes()) sum += Fragmentation(node, typical);
    return percent(sum);
  };

  LoadRun run;
  int64_t asked = 0, allocated = 0;
  for (const Demand& pod : pods) {
    ++run.arrived;
    asked += pod.gpu_total();
    if (packer.Place(pod)) {
      ++run.placed;
      allocated += pod.gpu_total();
    }
    for (int step = static_cast<int>(run.steps.size()) + 1; step <= 100 * asked / capacity;
         ++step) {
      const bool take = frag_every > 0 && step % frag_every == 0;
      run.steps.push_back(
          {step, percent(static_cast<double>(allocated)), take ? fragmentation() : -1});
    }
  }
  run.alloc_pct = percent(static_cast<double>(allocated));
  run.frag_pct = fragmentation();
  return run;
}

}  // namespace muster::packing
