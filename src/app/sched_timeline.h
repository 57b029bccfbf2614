// muster sched plot, muster top: a cluster script and its decisions as a timeline.
#pragma once

#include <string>

#include "base/result.h"
#include "sched/timeline/timeline.h"
#include "world/files.h"

namespace muster {

// Errors name the files.
Result<timeline::Timeline> LoadTimeline(Files& files, const std::string& script_path,
                                        const std::string& decisions_path);
// Writes the picture; nothing is written when the timeline cannot be read.
Status PlotTimeline(Files& files, const std::string& script_path, const std::string& decisions_path,
                    const std::string& svg_path);

}  // namespace muster
