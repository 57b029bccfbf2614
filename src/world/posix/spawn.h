// Starting one program: the part of process handling that runs between vfork and exec, kept small
// and apart because nothing in it may allocate, lock or log.
#pragma once

#include <optional>
#include <sys/types.h>

#include "base/result.h"
#include "world/posix/unique_fd.h"
#include "world/processes.h"

namespace muster {

// The child's ends of its three streams; borrowed for the call.
struct ChildStreams {
  int in = -1, out = -1, err = -1;
};

// A started process that leads its own process group and is killed by the kernel when the THREAD
// that started it ends (PR_SET_PDEATHSIG); so that thread must live as long as the child should.
struct Spawned {
  pid_t pid = -1;
  UniqueFd pidfd;  // not open on kernels before 5.3
};

// kNotFound: no such program or folder; kPermission: it may not be executed.
Result<Spawned> Spawn(const Command& command, const ChildStreams& streams);

// Whether it has ended, and how; the process stays a zombie, so its group number cannot be given to
// others meanwhile.
std::optional<int> PeekExit(pid_t pid);
// Takes the zombie away. False while it still runs.
bool Reap(pid_t pid);
// For a process that not even KILL ended (it hangs in the kernel): reaped by a later Spawn.
void ReapLater(pid_t pid);

}  // namespace muster
