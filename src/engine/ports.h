// What the engine is driven by, beside backend/actuator.h. Time is handed to it; it reads no clock.
#pragma once

#include <string>
#include <vector>

#include "engine/entry.h"
#include "plan/runbook.h"
#include "plan/templates.h"

namespace muster::engine {

// The run's journal.
class Log {
 public:
  virtual ~Log() = default;
  // kDurable: on disk before it returns, with all that came before. kLater: with the next durable
  // one. An error: nothing may be done on the strength of it, and the engine stops.
  enum class Need { kLater, kDurable, kClosing };  // kClosing: durable, and may use the reserve
  virtual Status Write(const Entry& entry, Need need) = 0;
};

// Looks at the cluster and judges. Reads only.
struct Looked {
  Level level = Level::kUnknown;
  std::string text;      // one sentence
  std::string evidence;  // SHA-256 of what was seen
};
class Looker {
 public:
  virtual ~Looker() = default;
  // What the check says, before `wants` is applied.
  virtual Looked Look(const Check& check, const Subject& on, const TemplateValues& values) = 0;
  // For collect: keeps all that can be read of the subject's node, and says by which digest. For
  // notify: hands the text on. Both may be done again.
  virtual Looked Keep(const Action& action, const TemplateValues& values) {
    (void)action, (void)values;
    return {Level::kPass, "", ""};
  }
};

// Locks over all runs of a site: a node by its name, and failure domains with so many slots.
class Locks {
 public:
  virtual ~Locks() = default;
  struct Want {
    std::string name;  // "node/n7", "rack/r3"
    int slots = 1;     // refused while this many others hold it
  };
  // All or none. The fence grows with every call, also when the run holds them already: so an older
  // engine of the same run is fenced off too. kConflict names the holder.
  virtual Result<uint64_t> Take(const std::string& run, const std::string& node,
                                const std::vector<Want>& wants) = 0;
  virtual Status Release(const std::string& run, const std::string& node) = 0;
};

// What other runs did. An error means: stop, never "none so far".
class History {
 public:
  virtual ~History() = default;
  virtual Result<int> Attempts(const Subject& on, Rung rung, TimePoint since) = 0;
};

// What people asked of this run since it was last asked: approvals, answers, pause, continue,
// rollback, leave to begin outside of its change window.
class Requests {
 public:
  virtual ~Requests() = default;
  struct Request {
    enum class Kind {
      kApprove,
      kPause,
      kContinue,
      kRollback,
      kAttest,
      kUnbind
    } kind = Kind::kPause;
    std::string step, by, plan_hash, reason;
    // Of kAttest, whose `step` is the check and whose `reason` is what the person saw.
    std::string on = {}, evidence = {};  // a target's id; the digest of the reason
    bool yes = false;
  };
  virtual std::vector<Request> Take() = 0;
};

}  // namespace muster::engine
