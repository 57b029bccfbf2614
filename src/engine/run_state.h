// Where a run stands: what its records come to. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/entry.h"

namespace muster::engine {

struct TargetState {
  enum class Stage { kQueued, kChecking, kStepping, kEnded } stage = Stage::kQueued;
  int cursor = 0;  // in the program: the runbook's steps, or those of the way back
  int round = 0;
  Way way = Way::kNone;
  std::optional<Entry> open;      // an intent without an outcome
  int again = 0;                  // how often its order was given once more
  Outcome last = Outcome::kNone;  // of the step at the cursor
  bool last_destructive = false;  // ... as its intent said: a drain may have been forced
  bool verify_failed = false;     // of the step at the cursor
  int attempts = 0;               // at the cursor, in this round
  bool asked = false;             // a person must say whether to force the step at the cursor
  TimePoint asked_at;
  bool held = false;     // our lease is on the node
  bool touched = false;  // something beside cordon and drain was intended, ever
  bool proven = false;   // by a proof, since it was last touched
  Lease lease;
  uint64_t fence = 0;
  bool locked = false;
  End end = End::kNone;
  std::string why;           // of the end, or of the way back
  std::vector<size_t> done;  // steps done in this round, in order
  std::vector<Rung> rungs;   // tried in this run
  TimePoint started, ended;
  TimePoint changed_at;  // by the newest act: an answer from before it proves nothing of it
};

struct Approval {
  std::string step, by;
  TimePoint at, until;
};

// A person's answer to a check that asks for one.
struct Attestation {
  int target = 0;
  std::string check, by;
  bool yes = false;
  TimePoint at, until;
  std::string evidence;
};

struct RunState {
  bool opened = false, closed = false, paused = false, rollback_asked = false;
  std::string plan_hash, by, plan_text;
  TimePoint opened_at, closed_at;
  int failures = 0;
  uint64_t epoch = 0;
  std::vector<TargetState> targets;
  std::vector<Approval> approvals;
  std::vector<Attestation> attestations;
  bool unbound = false;  // by a person: it need not keep to its change window

  // kCorrupt for a record that cannot follow the ones before.
  Status Apply(const Entry& entry);
  // A step that needs a person's word has it, and it is not too old.
  bool Approved(std::string_view step, TimePoint now, TimePoint not_before = {}) const;
  // The newest answer of a person for this target that was taken up after `not_before`; nullptr =
  // none.
  const Attestation* Answer(int target, std::string_view check, TimePoint now,
                            TimePoint not_before) const;
};

// The run ends like its worst target.
End WorstEnd(const RunState& state);
bool CountsAsFailure(End end);

}  // namespace muster::engine
