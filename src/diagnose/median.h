// The median of some figures of a log.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace muster::diagnose {

// Of an even number the upper of the two in the middle; `values` is not empty. O(values).
inline double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace muster::diagnose
