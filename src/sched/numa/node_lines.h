// The nodes of a cluster script (JSON Lines): its node.add lines as facts for DescribeMachine. For
// tools that ask about nodes alone; other events are passed over.
#pragma once

#include <string_view>
#include <vector>

#include "sched/numa/describe.h"

namespace muster::numa {

// Strict on node.add: an unknown key, a wrong type, a bad quantity or a repeated name is kInvalid,
// "line 3, column 17: ...", and nothing is returned.
Result<std::vector<NodeFacts>> ReadNodeLines(std::string_view text);

}  // namespace muster::numa
