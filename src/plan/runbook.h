// A runbook as data: when it starts, what must be so before, what is done in which order, what
// proves each step, how it is taken back, and how much of the fleet it may touch. Read from
// catalogue/runbooks/*.yaml or a site's own folder; docs/runbooks.md is the schema for authors.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/unit.h"
#include "evidence/criterion.h"
#include "model/action.h"

namespace muster {

// Something that is looked at now and comes out PASS, FAIL or UNKNOWN. Exactly one of the forms is
// set.
struct Check {
  enum class Form {
    kCriteria,  // the catalogue's criteria, judged on the target (and its node)
    kGate,      // a whole gate judged on the target's node, with its proofs
    kFact,      // one fact of the target, compared
    kCommand,   // a command on the target's host: exit code, and what it must print
    kBuiltin,   // what the engine itself knows: jobs_none, lights_out, not_foreign
    kAttest,    // a named person says so; UNKNOWN until then
  };
  std::string id, why;
  Form form = Form::kCriteria;
  bool wants_pass = true;             // false: it must FAIL (the fault still stands)
  std::vector<std::string> criteria;  // codes; with wants_pass = false one failing is enough
  int gate = 0;
  std::string fact;
  Compare compare = Compare::kEqual;
  std::vector<Value> values;
  std::vector<std::string> argv;  // {node}, {gpu}, {uuid} and inputs are filled in
  int exit_code = 0;
  std::string contains;
  std::string builtin;
  std::string attest;
  Duration timeout = std::chrono::minutes(20);
  Duration for_at_least{};  // it must stay so, looked at again, for this long (a soak)

  std::string ToString() const;  // one line for a plan: "criteria NOD-020 NOD-021 pass"
};

struct Trigger {
  enum class Kind { kAlert, kManual };
  Kind kind = Kind::kManual;
  std::vector<std::string> alerts;  // names of Alertmanager alerts that propose it
  std::string means;                // for a person
  std::vector<Check>
      stands_while;  // one that FAILs: it still stands. None failing: nothing is done
  Duration stale_after = std::chrono::minutes(15);  // an older alert never acts
};

enum class OnTimeout { kFail, kAsk };

struct StepSpec {
  std::string id, title, why;
  ActKind act = ActKind::kObserve;
  std::map<std::string, std::string> with;  // templates: {node}, {gpu}, {input}
  std::vector<std::string> after;           // ids of steps that come first; else the file's order
  std::vector<Check> before;                // prechecks of this step alone
  std::vector<Check> skip_when;             // at planning: all pass -> the step is not planned
  std::vector<Check> verify;                // a real proof, after it happened
  std::string probe;                        // what shows that it happened; the act's own
  bool approval = false;
  bool whole_node = false;  // for a GPU's runbook: this act is done to its node
  Duration timeout = std::chrono::minutes(5), expected{};
  OnTimeout on_timeout = OnTimeout::kFail;
  int attempts = 1;  // of an act that was proven not to have happened
  // A rung of the ladder: tried in order until one verifies; the rest is skipped.
  Rung rung = Rung::kNone;
  std::optional<ActKind> undo;
  std::map<std::string, std::string> undo_with;
  std::string irreversible;  // the reason, where there is no undo
};

// The way back in one step.
struct RollbackSpec {
  enum class How {
    kAct,   // one act (a pin, a revert), with its probe and proof
    kUndo,  // the undo of every step that was done, last first
    kStay,  // nothing can be taken back: stay isolated, with owner and reason
  };
  How how = How::kStay;
  std::string why;
  StepSpec step;              // of kAct
  std::vector<Check> verify;  // of kUndo; kAct has its step's
  bool then_return =
      false;  // after a verified rollback the node goes back to work; else it is parked
};

// How much may be touched. Nodes already out of service count; unreachable ones count as failed.
struct Blast {
  int at_once = 1;
  double at_once_percent = 2;  // of the site's nodes; the smaller of the two, but never under 1
  int per_rack = 1, per_leaf = 1, per_job = 1;
  double out_of_service_percent = 10;              // of the site's nodes, ours and others' together
  int failures = 2;                                // over all waves; the run stops there
  std::vector<std::string> waves = {"1", "100%"};  // canary first
  Duration soak{};                                 // after each wave
  std::string why;
};

// Attempts of a ladder's rung on one target, over all runs.
struct RungBudget {
  std::map<Rung, int> most = {
      {Rung::kProcess, 3}, {Rung::kGpu, 2}, {Rung::kReboot, 2}, {Rung::kPowerCycle, 1}};
  Duration per = std::chrono::hours(24 * 7);
};

struct Input {
  std::string name, means, otherwise;
  bool required = false;
};

// A fault of the lab that it is rehearsed with, and how that ends ("done", "parked", ...).
struct Rehearsal {
  std::string fault, ends;
  std::map<std::string, std::string> inputs;
};

struct Runbook {
  std::string id, slug, title, family, why, source, since;
  std::string file;                     // where it was read
  SubjectKind on = SubjectKind::kNode;  // what it is planned for: node or gpu
  Trigger trigger;
  std::vector<Input> inputs;
  std::vector<Check> prechecks;
  std::vector<StepSpec> steps;  // in order
  RollbackSpec rollback;
  Blast blast;
  RungBudget budget;
  int rounds = 1;  // of the whole procedure, a rollback between them
  std::vector<std::string> mistakes;
  std::vector<Rehearsal> rehearsals;
  Duration expected{};
  std::string sha256;  // of the text

  const StepSpec* Find(std::string_view step) const;
  bool Isolates() const;  // has a cordon, and so a return
};

// kInvalid with one "file:line:column: what" a line: unknown key or act or probe, a cycle in
// `after`, a destructive step without probe, verify, timeout, or undo and without a stated reason,
// a destructive step outside cordon and return, no source, an endless wait, a criterion that is not
// in the catalogue (`codes`; empty = not checked).
Result<Runbook> ParseRunbook(std::string_view text, std::string_view file,
                             const std::vector<std::string>& codes = {});

// Those of this binary, by id (R1, R2, ... in number order).
Result<std::vector<Runbook>> LoadEmbeddedRunbooks();

}  // namespace muster
