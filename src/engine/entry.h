// One record of a run's journal. Records say what was, and where the run stands after it; going on
// means reading them, never running a program again, so editing a runbook cannot break a run that
// is under way.
#pragma once

#include <string>
#include <string_view>

#include "backend/actuator.h"
#include "evidence/verdict.h"

namespace muster::engine {

// The numbers are in stored journals: never change one.
enum class EntryType : uint32_t {
  kOpen = 1,   // detail: the plan; plan_hash; by
  kAttached,   // an engine took the run up (again); epoch in fence
  kApproved,   // step ("*": all that need it), by, plan_hash, until
  kPaused,     // by, detail
  kContinued,  // by
  kStarted,    // a target: its locks are held; fence
  kChecked,    // a precheck; the last one moves the target to its steps (cursor 0)
  kIntent,     // about to act: token, attempt, before, lease, destructive
  kAgain,    // the probe said NOT_HAPPENED after an interruption: the same order is given once more
  kOutcome,  // what the probe said
  kVerified,  // what the proof said
  kSkipped,   // a step that is not done, and why
  kAsked,     // a wait is over and a person must say whether to force it
  kRollback,  // the way back begins; detail: why
  kRound,     // the procedure once more
  kEnded,     // a target: end, detail
  kUnlocked,  // a target's locks are given back
  kClosed,    // the run: detail
  kAttested,  // a person's answer to the check `step` of a target: level, by, detail, evidence
  kUnbound,   // a person lets it begin outside of its change window: by, detail
};
std::string_view ToString(EntryType type);

enum class Outcome { kNone, kDone, kAlready, kFailedSafe, kFailedApplied, kUnknown };
std::string_view ToString(Outcome outcome);

// How a target ended.
enum class End {
  kNone,
  kDone,         // repaired, proven, returned
  kStale,        // the trigger no longer stands: nothing was done
  kSkipped,      // a precheck did not pass: nothing was done
  kReleased,     // it failed before anything was changed: released
  kRolledBack,   // taken back, proven, returned
  kParked,       // isolated with an owner, as the rollback says
  kInDoubt,      // nobody can say whether an act happened: isolated, a person looks
  kNeedsPerson,  // the rollback failed: isolated, a person is needed
  kTakenOver,    // a person changed the node under the run: it is theirs
  kNotStarted,   // the run stopped before it
};
std::string_view ToString(End end);

// Which way back.
enum class Way { kNone, kRelease, kSpec };
std::string_view ToString(Way way);

struct Entry {
  EntryType type = EntryType::kOpen;
  TimePoint at;
  int target = -1;
  std::string step;
  int cursor = -1;  // where the target stands after this; -1 = where it stood
  int attempt = 0;
  bool destructive = false, effect = false;
  bool proof = false;  // of kVerified: the one that a return needs
  Outcome outcome = Outcome::kNone;
  Level level = Level::kUnknown;
  End end = End::kNone;
  Way way = Way::kNone;
  Rung rung = Rung::kNone;
  ActKind act = ActKind::kObserve;
  std::string token, by, detail, evidence, plan_hash;
  uint64_t fence = 0;
  Fingerprint before;
  Lease lease;
  TimePoint until;
};

// The payload of a journal record; compact JSON, absent = the default above.
std::string EncodeEntry(const Entry& entry);
// kCorrupt when it is not what EncodeEntry writes.
Result<Entry> DecodeEntry(uint32_t type, std::string_view payload);

}  // namespace muster::engine
