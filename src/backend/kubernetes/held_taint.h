// The taint of a node that Muster holds, beside those of others. Pure.
#pragma once

#include <optional>
#include <string>

namespace muster::kubernetes {

// The taints of `node`, its JSON, with ours or without it, as JSON; nothing when that changes
// nothing. The list is one value to the API server, so it is written whole, under the version that
// was read.
std::optional<std::string> TaintsWith(const std::string& node, const std::string& run, bool held);

}  // namespace muster::kubernetes
