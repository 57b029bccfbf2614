// The one interface through which anything harmful is done to a cluster. Only the engine calls it.
// What an act did is never taken from an exit code: the engine records what was so before, and asks
// the probe. Every implementation passes backend/testing/actuator_contract.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "evidence/observation.h"
#include "model/action.h"

namespace muster {

// A cordon's owner, written on the target in the same request as the cordon: the target alone must
// be able to tell who holds it, for which run, since when, until when, and what was so before.
struct Lease {
  std::string owner;  // "muster", or the person of `muster node cordon`
  std::string run;    // "" = held by a person by hand
  std::string reason;
  bool prior_schedulable = true;  // false: somebody else had cordoned it, and it stays so on return
  std::string prior_note;         // what the scheduler said of it before, to be put back
  TimePoint since, until;
  uint64_t fence = 0;  // of the lock under which it was written
  bool operator==(const Lease&) const = default;
};

// What a node's scheduler says of it.
struct Hold {
  bool schedulable = true;
  std::optional<Lease> lease;  // one of ours (any run)
  std::string note;            // somebody else's reason, as the scheduler shows it
  std::string version;         // changes with every change of the above: for compare-and-set
  bool operator==(const Hold&) const = default;
};

// Work that an act would end.
struct RunningJob {
  std::string id, owner;
  std::vector<std::string> nodes;
  int gpus = 0;
  TimePoint started;
  std::optional<TimePoint> durable_at;  // its newest durable checkpoint; nothing = it has none
  bool operator==(const RunningJob&) const = default;
};

// What the probe of an act needs to know of the time before it: boot_id, versions, counters.
// Durable in the intent.
using Fingerprint = std::map<std::string, std::string>;

// One order to act. `token` is the same when an order is given again after the probe said that it
// had not happened, so that a receiver may de-duplicate.
struct Order {
  Action action;
  std::string run, step, token;
  int attempt = 1;
  uint64_t fence = 0;  // a target refuses one that is lower than it has seen
  Lease lease;         // of kCordon: what to write; of kReturn and all others: what must be there
  Fingerprint before;
  TimePoint intended_at;  // when the intent was made durable
  Duration timeout{};
};

enum class Did {
  kAccepted,  // begun or done: the probe says when it has happened
  kRefused,   // proven not applied: a guard, a lower fence, a moved state
  kFailed,    // it said that it failed; the probe says what is so
  kUnknown,   // no answer, or cut off after sending: nobody may assume either
};
std::string_view ToString(Did did);
struct DidResult {
  Did did = Did::kUnknown;
  std::string detail;  // what it printed, or why not; at most 2000 bytes
};

enum class Happened { kYes, kNo, kUnknown };
std::string_view ToString(Happened happened);  // "HAPPENED", "NOT_HAPPENED", "UNKNOWN"
Result<Happened> ParseHappened(std::string_view text);
struct ProbeResult {
  Happened happened = Happened::kUnknown;
  std::string detail;  // the evidence: "boot_id 1a2b is now 3c4d"
};

// Calls block for as long as a request takes, never for as long as a reboot takes: what is long is
// accepted, and then probed. No call changes anything but Do.
class Actuator {
 public:
  virtual ~Actuator() = default;
  virtual Origin origin() const = 0;
  virtual std::vector<ActKind> Can() const = 0;
  // What can be said of an act without asking anybody: kInvalid names what the site does not have
  // or the parameter that cannot be meant. Pure.
  virtual Status CheckAct(const Action&) const { return {}; }
  // The exact commands or requests, for a person to read before. Pure.
  virtual std::vector<std::string> Render(const Action& action) const = 0;

  // What the probe will need. kUnavailable when it cannot be read: then nothing may be done.
  virtual Result<Fingerprint> Before(const Action& action) = 0;
  virtual DidResult Do(const Order& order) = 0;
  virtual ProbeResult Probe(const Order& order) = 0;

  virtual Result<Hold> ReadHold(const std::string& node) = 0;
  struct HeldNode {
    std::string node;
    Hold hold;
  };
  // Every node of the site, with what its scheduler says; a node that cannot be read is in
  // `silent`. One request, not one for each node, wherever the scheduler has a list.
  struct Fleet {
    std::vector<HeldNode> nodes;
    std::vector<std::string> silent;  // unreachable: counts as out of service
  };
  virtual Result<Fleet> ReadFleet() = 0;
  virtual Result<std::vector<RunningJob>> JobsOn(const std::string& node) = 0;
};

}  // namespace muster
