// Acts of a gate: what the site wants done before the gate is observed. Intent is durable before
// the deed, the outcome after; an act in doubt is looked at with its own probe and never simply
// repeated.
#pragma once

#include <string>
#include <vector>

#include "app/ledger.h"
#include "app/progress.h"
#include "backend/actuator.h"
#include "model/site.h"
#include "world/world.h"

namespace muster {

struct ActsOutcome {
  std::vector<ActRecord> records;
  std::string blocked_by;     // not empty: the gate must not be observed, and why
  bool needs_person = false;  // a destructive act is in doubt
  bool refused = false;       // a guard said no: approval is missing
};

// Asks the act's probe whether it happened. Exit 0 yes, 1 no, all else (also no probe at all)
// unknown.
Happened AskProbe(const Act& act, Processes& processes, std::string& detail);

// Does the acts of one gate in order, stopping at the first that did not come to hold. `earlier`
// are records of an interrupted attempt of the same run: an intent without an outcome is in doubt.
Result<ActsOutcome> DoActs(const std::vector<Act>& acts, const std::vector<ActRecord>& earlier,
                           int gate, bool approve_destructive, RunLedger& ledger,
                           Processes& processes, Progress& progress);

}  // namespace muster
