// The shell scripts by which a host is changed. Each takes the host's lock, checks that the hold is
// still the one that was read, writes down what it is about to do, and only then does it; what runs
// long goes on when the connection is lost, and its end is written down beside its beginning.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::host {

using Words = std::vector<std::string>;

// Where a host keeps it: $MUSTER_STATE_DIR of the login, else /var/lib/muster.
// Prints "hold <sha256>" and the file, or "hold -"; then "end".
std::string ReadHoldScript();

// Prints one line: "muster done", "muster moved" (the file is not the one with `version`; nothing
// was written), "muster busy" (an act is under way), "muster unwritable WHY".
std::string WriteHoldScript(std::string_view version, std::string_view content);

struct ActScript {
  std::string token_hash;       // of the order: 64 hexadecimal digits
  std::string version;          // of the hold that was read
  std::string content;          // the hold to write; "" = as it is
  std::vector<Words> commands;  // in order, the first that fails ends it
  std::string input;            // on the standard input of each
  std::string kernel_mark;      // into the kernel log when all has been done; "" = nothing
  int wait_s = 20;              // for its end; then it goes on without us
};
// As WriteHoldScript, or "muster begun" (it goes on), or "muster ended CODE" and what it printed.
// An order that has ended with 0 before is not given again; one that is under way is left alone.
std::string DoScript(const ActScript& act);

// For ReadActRecord.
std::string RecordScript(std::string_view token_hash);

// Prints "code N" (of nvidia-smi), then a line for each process that computes on a GPU: "STARTED
// PID, UUID, NAME", STARTED in seconds since the epoch or "-"; then "end".
std::string JobsScript();
// Ends every process that computes on a GPU: TERM, ten seconds, KILL. For DoScript.
Words EndJobsWords();

}  // namespace muster::host
