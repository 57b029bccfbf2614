// What each feature of the scheduler core is worth on a synthetic month of gangs: the same load
// with and without it. Synthetic: nobody's cluster.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

struct FeatureRow {
  std::string name;             // "all", "without topology", ...
  double leaves_mean = 0;       // leaves that a gang of more than one node sat on
  double spread = 0;            // the same, over the fewest that could hold it
  double wait_large_p99_h = 0;  // of gangs of 512 GPUs and more, hours from submit to first bind
  double wait_mean_h = 0;       // of all jobs
  double utilisation_pct = 0;   // GPU-hours in use, of those there were while jobs came
  int never_started = 0;        // when the month and what follows it were over
};
// `jobs` jobs over 30 days on `nodes` nodes of 8 GPUs, 32 a leaf, asking for `load_percent` of
// them.
Result<std::vector<FeatureRow>> CompareFeatures(int nodes, int jobs, int load_percent,
                                                int64_t seed);

}  // namespace muster
