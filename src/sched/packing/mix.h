// The demands seen so far, by class and frequency: all that a policy without foreknowledge may know
// of those to come.
#pragma once

#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

#include "sched/packing/residual.h"

namespace muster::packing {

struct DemandClass {
  Demand demand;
  double count = 0;
};

class Mix {
 public:
  // Counts the demand and returns the index of its class, which never changes.
  size_t Observe(const Demand& demand);
  const std::vector<DemandClass>& classes() const { return classes_; }
  double total() const { return total_; }

 private:
  using Key = std::tuple<int64_t, int64_t, int, int, uint32_t>;
  std::map<Key, size_t> index_;
  std::vector<DemandClass> classes_;
  double total_ = 0;
};

}  // namespace muster::packing
