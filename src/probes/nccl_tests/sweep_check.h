// Holds the parts of a run against each other: size, time and both bandwidths of a row belong
// together, and a sweep has no holes. So a digit that was lost on the way, or a row that went
// missing, is noticed instead of believed.
#pragma once

#include <string_view>

#include "probes/nccl_tests/collective_run.h"

namespace muster::nccl_tests {

// A number and half a unit of its last printed digit: what rounding alone may explain.
struct Printed {
  double value = 0, half_unit = 0;
};
// kParse for anything but one finite number >= 0.
Result<Printed> ReadPrinted(std::string_view text);

// algbw = bytes / time, within rounding. Rows of no bytes and times of 0 say nothing and agree.
bool Agrees(uint64_t bytes, const Printed& time_us, const Printed& algbw);

// Appends to run.damage: rows whose busbw is not the run's own multiple of algbw, sizes of the
// stated sweep without a row, a device list that shows several copies of a one-rank run, and
// missing closing lines.
void CheckWhole(CollectiveRun& run);

}  // namespace muster::nccl_tests
