// The engine: leads the targets of one plan through their steps under a journal. Intent is durable
// before the act, the outcome after it, the verdict after the proof. An act in doubt is looked at
// with its probe and never simply repeated; when nobody can say whether a destructive act happened,
// it stops for a person.
//
// It is a deterministic state machine: Advance() does at most one thing that the world could see,
// and all it remembers that matters is in the journal, so it may be stopped between any two calls.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/ports.h"
#include "engine/program.h"
#include "engine/run_state.h"
#include "plan/plan.h"

namespace muster::engine {

// Safeties that a test takes out one at a time, to see that the tests notice. Nothing else sets
// them.
enum class Sabotage { kNone, kNoIntent, kNoProbe, kNoLease, kNoOwnership };

struct EngineOptions {
  std::string run, by;
  Duration poll = std::chrono::seconds(10);       // between probes of an act that takes long
  Duration grace = std::chrono::minutes(2);       // a request may still be under way that long
  Duration lease_for = std::chrono::hours(12);    // then the cordon is overdue, and said so
  Duration approval_for = std::chrono::hours(4);  // a person's word lasts that long
  Duration lock_wait = std::chrono::minutes(30);  // for a lock of another run
  bool skip_soak = false;                         // a rehearsal need not wait between waves
  // Not empty: why no target may be begun now (its change window is closed). What has begun is
  // always led to its end.
  std::function<std::string(TimePoint)> closed = {};
  Sabotage sabotage = Sabotage::kNone;
};

struct EnginePorts {
  Log& log;
  Actuator& actuator;
  Looker& looker;
  Locks& locks;
  History& history;
  Requests& requests;
};

struct Progress {
  enum class Kind {
    kWorked,   // something was done: call again
    kWait,     // nothing to do before `until`
    kBlocked,  // a person's word is needed: `why`
    kClosed,   // the run is over
  } kind = Kind::kWorked;
  TimePoint until;
  std::string why;
};

class Engine {
 public:
  // `plan` and the ports are borrowed. `state` is what the journal came to; empty for a new run.
  Engine(const Plan& plan, EnginePorts ports, EngineOptions options, RunState state = {});

  // Writes kOpen for a new run, kAttached for every engine. Then Advance() may be called.
  Status Begin(TimePoint now);
  // An error means that the journal cannot be written or the history not be read: the engine must
  // be dropped, and the run is resumed later. Errors of the cluster are no errors here.
  Result<Progress> Advance(TimePoint now);

  const RunState& state() const { return state_; }
  size_t steps() const { return steps_; }  // calls of Advance that worked

 private:
  // What may be forgotten in a crash.
  struct Live {
    bool program_made = false;
    Program program;
    size_t checked = 0;  // prechecks done
    bool trigger_checked = false;
    bool fenced = false;    // this engine has taken the locks anew
    bool intended = false;  // this engine wrote the open intent, or looked before giving it again
    bool sent = false;      // ... and gave the order
    TimePoint sent_at, resumed_at;
    TimePoint asked_again;  // of a drain that waits
    Did did = Did::kUnknown;
    std::string said;
    size_t verified = 0;  // checks of verify done
    int unknown_looks = 0;
    TimePoint holding_since;  // of a check that must stay so
    TimePoint not_before;     // nothing to do earlier
  };
  enum class Did2 { kWorked, kWaiting, kBlocked };
  using Acted = Result<Did2>;

  Status Write(Entry entry, Log::Need need);
  Entry For(EntryType type, int target) const;
  Status TakeRequests();
  void Moved(int target);
  Program& ProgramFor(int target);
  const TemplateValues& ValuesOf(int target);

  // Starting (engine_start.cc)
  Acted TryStart();
  bool LimitsAllow(int target, std::string& why) const;
  Acted Start(int target);
  std::vector<Locks::Want> WantsOf(int target) const;
  Acted Check(int target);
  Acted End_(int target, End end, std::string why);
  Acted CloseRun();

  // Stepping (engine_step.cc)
  Acted AdvanceTarget(int target);
  Acted BeginStep(int target, ProgramStep& step);
  // Empty: all that must be so before the step is so.
  Result<std::string> Hindered(int target, const ProgramStep& step);
  Acted TriggerStands(int target);
  Acted WithoutEffect(int target, const ProgramStep& step);
  Acted Intend(int target, const ProgramStep& step);
  Acted Observe(int target, const ProgramStep& step);
  Acted Probe(int target, const ProgramStep& step);
  Acted Outcome_(int target, const ProgramStep& step, Outcome outcome, std::string detail);
  Acted Verify(int target, const ProgramStep& step);
  Acted Verdict_(int target, const ProgramStep& step, Level level, std::string detail,
                 std::string evidence);
  Acted Failed(int target, const ProgramStep* step, std::string why);
  Acted Climb(int target, int cursor, std::string why);
  Acted WayBack(int target, std::string why, bool still_faulty = false);
  Acted Later(int target, std::string why);
  Order OrderOf(int target, const ProgramStep& step) const;
  Acted EndOfProgram(int target);
  // Empty: the node is still ours. Otherwise who has it.
  Result<std::string> TakenBy(int target);
  // `not_before`: a person's answer from before it does not count.
  Looked Judge_(const muster::Check& check, int target, TimePoint not_before = {});
  // A check asks a person who has not answered: says so in blocked_.
  bool Unanswered(const muster::Check& check, int target, TimePoint not_before);

  const Plan& plan_;
  EnginePorts ports_;
  EngineOptions options_;
  RunState state_;
  std::vector<Live> live_;
  std::vector<TemplateValues> values_;
  std::vector<int> active_;
  size_t next_ = 0;  // first target not yet started
  size_t turn_ = 0;  // of active_, whose turn it is
  size_t steps_ = 0;
  TimePoint now_;
  TimePoint wake_;
  TimePoint lock_waited_since_;
  std::string blocked_;
};

// 0 done, 3 not repaired, 4 in doubt, 6 stopped by a person or a guard, 7 rolled back or parked,
// 8 a rollback failed.
int ExitCodeOf(const RunState& state);

}  // namespace muster::engine
