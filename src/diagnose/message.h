// What a line of a log says, without the frame that its logger puts around it: the time, the level,
// the keys of a structured line. For titles; evidence shows the line as it is.
#pragma once

#include <string>
#include <string_view>

namespace muster::diagnose {

// The words of `line`: of logfmt and zap's lines the message and the error, of others what follows
// the time, the level and klog's head. A line without words stays as it is. Pure, O(line).
std::string MessageOf(std::string_view line);

}  // namespace muster::diagnose
