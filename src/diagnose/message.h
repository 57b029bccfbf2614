// What a line of a log says, without the frame that its logger puts around it: the time, the level,
// the keys of a structured line. For titles; evidence shows the line as it is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::diagnose {

// The words of `line`: of logfmt and zap's lines the message and the error, of others what follows
// the time, the level and klog's head. A line without words stays as it is. Pure, O(line).
std::string MessageOf(std::string_view line);

// At most `limit` bytes (12 or more) with " ... " for what was cut out of the middle: an error that
// wraps others names the deed first and the reason last.
std::string ShortenMiddle(std::string_view text, size_t limit);

}  // namespace muster::diagnose
