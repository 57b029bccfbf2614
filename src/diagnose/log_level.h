// What a line calls itself: an error by klog's and glog's header "E1113 13:22:22.676030 1979
// kubelet.go:17] ...", which has no word for it; a debug message, which complains of nothing that
// its program could not do without.
#pragma once

#include <string_view>

namespace muster::diagnose {

// E (error) or F (fatal), month and day, a blank, hours and minutes; at the start of the line or
// behind a blank or bracket. Source: kubernetes/klog and google/glog, formatHeader.
bool HeaderSaysError(std::string_view line);

// "level=debug", {"level":"trace"}, or DEBUG or TRACE among the first words. Pure, O(line).
bool CallsItselfDebug(std::string_view line);

}  // namespace muster::diagnose
