// What follows from measured plateaus: how near they are to the ceiling, and which pair or rail
// falls behind the others. Each derived observation carries the source, time and origin of the one
// it comes from.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/observation.h"
#include "measure/collective/ceiling.h"
#include "probes/nccl_tests/collective_run.h"

namespace muster {

// collective.plateau_ratio of the plateau's scope. Not observed when the plateau is not, when there
// is no ceiling, and on two nodes unless the algorithm of the large sizes was Ring: a figure that a
// dead rail does not lower says nothing. `algorithm` is the collective.algorithm observation or
// null.
Observation PlateauRatio(const Observation& plateau, const Result<Ceiling>& ceiling, size_t nodes,
                         const Observation* algorithm);

// A plateau (GB/s) of a pair or a rail, and the observation it was read from.
struct PartPlateau {
  Subject subject;
  Observation plateau;
};
// `fact` (collective.pair_ratio, collective.rail_ratio) of each part over the median of all
// observed parts. With fewer than two there is nothing to compare with: too few samples.
Observations RatiosToMedian(std::span<const PartPlateau> parts, std::string_view fact);

// What is odd about the shape of a sweep, in words for a person; empty when nothing is. Looks at
// rows of 1 MiB and more: a row below 85 % of what a smaller size reached, a time that falls by
// more than a tenth while the size grows, rows of 1 GiB and more that differ by over 10 %, and
// halves of such a row that differ by over 10 % (thresholds are ours: healthy logs stay within half
// of them).
std::vector<std::string> CurveOddities(const nccl_tests::CollectiveRun& run);

}  // namespace muster
