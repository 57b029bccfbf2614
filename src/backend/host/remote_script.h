// The shell scripts that we send: a command that survives quoting and says how it ended, and a rank
// of a gang that can be ended by its own group. POSIX sh; the host needs no more than coreutils and
// util-linux.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "world/processes.h"

namespace muster::host {

// What the remote login shell is given for `script`: it only has to understand single quotes.
std::string ShellLine(std::string_view script);

// Runs the command with its folder and environment. ssh ends with 255 when it fails itself; so
// whenever the script ends with 255, its last line on stderr is "<marker> <word>": "exit" (the
// program ended with 255), "missing", "forbidden", "folder". /usr/sbin and /sbin are added at the
// end of PATH: ibstat lives there, and logins that are not root's lack it. With `seconds` > 0 the
// host itself ends the program after that time (`timeout`, where it has one). kInvalid: no program,
// or a name in the environment that no shell accepts.
Result<std::string> CommandScript(const Command& command, std::string_view marker, int64_t seconds);

// Finds the last line "<marker> <word>..." in `err`, takes it out, and returns what follows the
// word.
std::optional<std::string> TakeMarked(std::string& err, std::string_view marker,
                                      std::string_view word);

// Runs `script` in a session of its own and ends that whole session when standard input ends,
// because whoever started it is gone, or after `seconds` (0 = no limit). Ends as the script ends;
// 255 is marked as by CommandScript.
std::string HeldScript(std::string_view script, std::string_view marker, int64_t seconds);
// Folder and environment of the command, and the program in the shell's place.
Result<std::string> ExecScript(const Command& command);

struct RankScript {
  std::string gang;  // letters, digits, '.', '_', '-'
  std::string node;
  int rank = 0;
  std::string marker;
  Command command;
};
// Prints "<marker> started <seconds since the epoch, with fraction>" on stderr before the program
// takes the shell's place; the rank's process group (its leader is this shell) and start time are
// in the gang's folder on that host.
Result<std::string> RankScriptText(const RankScript& rank);

// Ready to start? Prints one line a finding: "problem <text>" for whatever stands in the way, "port
// <hex>" for each listening TCP port, "address <ip>". Makes the gang's folder.
std::string ReadyScript(std::string_view gang, std::string_view node, std::string_view program);
// Ends every process of the gang (by its group where it still leads it, and by MUSTER_GANG in its
// environment) and removes the gang's folder. Ends with 0 when nothing is left.
std::string EndScript(std::string_view gang, std::string_view node);
// Removes the gang's folder unless processes of a gang of that name still run.
std::string ForgetScript(std::string_view gang, std::string_view node);
// Prints a line for each process and file of the gang that is still there. Changes nothing.
std::string LookScript(std::string_view gang, std::string_view node);

bool IsGangName(std::string_view name);

}  // namespace muster::host
