// What may be done to a part of the cluster, as a value: a kind and its parameters. Plans hold it,
// the journal stores it, an actuator does it. Which kinds are destructive, and by which probe each
// shows that it happened, stands here once, so that no runbook can claim otherwise.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/subject.h"

namespace muster {

enum class ActKind {
  kObserve,  // nothing is done: a step that only proves
  kCollect,  // evidence into the run's folder; may be repeated
  kCordon,   // nothing new is placed; written with its lease
  kDrain,    // the work ends: after its next durable checkpoint, or at once with force=true
  kReturn,   // the lease and the cordon go, if they are still ours
  kServiceStart,
  kServiceStop,
  kServiceRestart,
  kModuleLoad,
  kModuleReload,
  kGpuReset,
  kPersistence,
  kClocks,
  kPowerCap,
  kEccMode,
  kMigSet,
  kMigClear,
  kReboot,
  kPowerCycle,
  kBmcReset,
  kPackages,
  kFileWrite,
  kJobStop,
  kJobRequeue,
  kCommand,    // the site's own tool (a playbook, kubectl): its probe is a command too
  kNotify,     // a person is told; nothing in the cluster changes
  kGitRevert,  // a commit in a repository of the site's is taken back by a commit
};

// The rungs of an escalation, lowest first. A rung's attempts are counted for each target.
enum class Rung { kNone, kProcess, kGpu, kReboot, kPowerCycle, kHands };
std::string_view ToString(Rung rung);  // "none", "process", "gpu", "reboot", "power_cycle", "hands"
Result<Rung> ParseRung(std::string_view text);

struct ActTraits {
  ActKind kind;
  std::string_view name;   // "gpu_reset", as in the catalogue
  bool effect;             // changes the cluster: its intent is journaled
  bool destructive;        // kills work, or changes hardware or firmware state
  bool repeatable;         // doing it twice is the same as once: it may be repeated when in doubt
  std::string_view probe;  // what shows that it happened: "boot_id"; "" = nothing to show
  Rung rung;
  std::string_view params;    // "unit", "driver? fabric_manager?": ? = may be left out
  std::string_view subjects;  // "node", "gpu node": what it is done to
  std::string_view undo;  // the kind that takes it back; "" = a runbook must say how, or why not
};
std::span<const ActTraits> AllActs();
const ActTraits& TraitsOf(ActKind kind);
std::string_view ToString(ActKind kind);
Result<ActKind> ParseActKind(std::string_view text);

struct Action {
  ActKind kind = ActKind::kObserve;
  Subject on;
  std::map<std::string, std::string> params;

  // The kind's own word, or that these parameters make it so (drain with force=true).
  bool Destructive() const;
  // "gpu_reset gpu node-07/gpu3", "drain node node-07 force=true"
  std::string ToString() const;
  bool operator==(const Action&) const = default;
};
// kInvalid: a parameter missing, unknown, or a subject that the kind is not done to.
Status CheckAction(const Action& action);

}  // namespace muster
