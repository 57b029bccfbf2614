// A timeline as one self-contained SVG: GPUs in use by queue, GPUs waited for, idle GPUs that are
// stranded, and which gang sat on which node of which leaf and spine, over time.
#pragma once

#include <string>

#include "sched/timeline/timeline.h"

namespace muster::timeline {

// Names from the files are escaped. At most `most_moments` points a curve.
std::string ToSvg(const Timeline& timeline, const std::string& title, size_t most_moments = 600);

// "90 s", "12 min", "3.5 h" for axis labels and tables.
std::string SpanText(int64_t ms);

}  // namespace muster::timeline
