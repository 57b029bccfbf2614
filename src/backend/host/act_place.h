// Where acts are begun and written down: a host, or a folder of this machine for what is done from
// here (a playbook, a revert). Whoever holds it, the highest fence that was seen, and how each act
// ended lie there, so a second engine sees them and a lost connection loses nothing.
#pragma once

#include <string>

#include "backend/actuator.h"
#include "backend/host/host_acts.h"
#include "backend/host/host_record.h"
#include "world/processes.h"

namespace muster::host {

// What was read before an order: an order is given only while it is still so.
struct StoredHold {
  std::string version;  // SHA-256 of the file, "-" where there is none
  HostHold hold;
};

inline constexpr Duration kShortWait = std::chrono::seconds(30);  // of a look
inline constexpr std::string_view kHoldMoved = "the hold of the host changed meanwhile";
inline constexpr int kMostHoldTries = 5;  // against somebody who changes it all the time

class ActPlace {
 public:
  // `processes` is borrowed. `state_folder` is where it is written down; "" = the host's own place.
  ActPlace(Processes& processes, std::string name, bool sudo, std::string state_folder = {})
      : processes_(processes),
        name_(std::move(name)),
        sudo_(sudo),
        state_folder_(std::move(state_folder)) {}

  Result<CommandResult> Run(Words argv, Duration timeout);
  Result<StoredHold> ReadStored();
  // A script of act_scripts.h; no word of it means that nobody knows.
  DidResult Send(const std::string& script, Duration timeout);
  // The order's commands, in a session of their own, waited for at most `wait_s`. The fence is
  // raised with them.
  DidResult Do(const Order& order, const StoredHold& stored, HostCommands run, int wait_s);
  // For an act that is done elsewhere: an older engine is shut out from here on.
  DidResult RaiseFence(const Order& order, const StoredHold& stored);
  Result<ActRecord> ReadRecord(const std::string& token);

 private:
  Result<CommandResult> RunScript(const std::string& script, bool as_root, Duration timeout);

  Processes& processes_;
  const std::string name_;
  const bool sudo_;
  const std::string state_folder_;
};

// An error's or a tool's last words, for a person.
std::string TailOf(const CommandResult& ran);
// Empty: the order is not of an engine that slept.
std::string OlderFence(const Order& order, const StoredHold& stored);

}  // namespace muster::host
