// Whether a line's own header calls it an error: klog's and glog's "E1113 13:22:22.676030 1979
// kubelet.go:17] ...", which has no word for it.
#pragma once

#include <string_view>

namespace muster::diagnose {

// E (error) or F (fatal), month and day, a blank, hours and minutes; at the start of the line or
// behind a blank or bracket. Source: kubernetes/klog and google/glog, formatHeader.
bool HeaderSaysError(std::string_view line);

}  // namespace muster::diagnose
