// Real processes of this machine: each in a process group of its own, so that a time-out ends all
// that it started, and tied to us, so that nothing outlives a Muster that was killed.
#pragma once

#include "world/processes.h"

namespace muster {

// Safe for threads. A time-out sends TERM to the group, KILL half a second later, and gives up
// waiting two seconds after that (a tool that hangs in the driver cannot be killed; it is reaped
// when it ends). Run returns when the program itself ended, even when something it left in the
// background still holds its output open.
class PosixProcesses final : public Processes {
 public:
  Result<CommandResult> Run(const Command& command) override;
  // Each child has a thread here that reads its output; the last max_output bytes are dropped past
  // that size.
  Result<std::unique_ptr<Child>> Start(const Command& command,
                                       const std::string& log_path) override;
};

}  // namespace muster
