#include "sched/packing/mix.h"

namespace muster::packing {

size_t Mix::Observe(const Demand& demand) {
  const Key key{demand.cpu_milli, demand.memory_mib, demand.gpus, demand.gpu_milli, demand.models};
  const auto [found, is_new] = index_.try_emplace(key, classes_.size());
  if (is_new) classes_.push_back({demand, 0});
  classes_[found->second].count += 1;
  total_ += 1;
  return found->second;
}

}  // namespace muster::packing
