// The exit codes of the binary, the same for every command and every output form
// (docs/exit-codes.md).
#pragma once

namespace muster {

enum class ExitCode : int {
  kDone = 0,             // done; every asked gate passes
  kInternal = 1,         // internal or connection error
  kUsage = 2,            // wrong usage or unreadable input
  kFail = 3,             // a measured FAIL
  kUnknown = 4,          // UNKNOWN or blocked, and no FAIL
  kWarn = 5,             // only WARN, with --strict
  kRefused = 6,          // refused by a guard: budget, lock, moved state, approval missing
  kRolledBack = 7,       // rolled back, end state verified
  kNeedsPerson = 8,      // failed and rollback incomplete
  kPlanHasChanges = 10,  // --detailed-exitcode
  kTimeout = 124,        // --timeout reached
  kInterrupted = 130,    // interrupted, resumable
};

}  // namespace muster
