// Writes events and decisions as the lines of a cluster script, byte for byte the same on every
// machine: keys in a fixed order, no blanks, whole numbers only.
#pragma once

#include <string>

#include "sched/decision.h"
#include "sched/event.h"

namespace muster::sched {

// Appends one line without its end of line. `with_time` false leaves "t" out (changes).
void AppendEvent(const Event& event, bool with_time, std::string& out);
void AppendDecision(const Decision& decision, std::string& out);
// {"t":9,"do":"summary","decisions_sha256":"...","bound":1,"pending":1}
void AppendSummary(TimeMs t, const std::string& sha256, int64_t bound, int64_t pending,
                   std::string& out);

}  // namespace muster::sched
