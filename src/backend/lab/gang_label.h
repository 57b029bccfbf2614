// Knowing a gang's processes again: what marks them, and how /proc is asked for them (proc(5):
// environ, cmdline, status).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "world/files.h"

namespace muster::lab {

inline constexpr std::string_view kGangVariable = "MUSTER_GANG", kLabVariable = "MUSTER_LAB";

struct LiveProcess {
  int pid = 0;
  std::string command;  // as typed, at most 120 bytes
};

// Every process of this machine that we may look into and whose environment carries both marks. A
// process that has ended and is not reaped yet has no environment any more and does not count.
Result<std::vector<LiveProcess>> ProcessesOfGang(Files& files, std::string_view lab,
                                                 std::string_view gang);

// Names one process for as long as this machine runs: its id and its start time (proc(5),
// /proc/PID/stat, fields 1 and 22). Empty when it has gone, or /proc cannot be read. "self" is the
// caller's own.
std::string ProcessMark(Files& files, std::string_view pid);
// True while the process that ProcessMark named lives.
bool StillLives(Files& files, std::string_view mark);

// True when the NUL-separated environment has NAME=value exactly.
bool EnvironmentHas(std::string_view environ, std::string_view name, std::string_view value);

}  // namespace muster::lab
