// The process port: run a command to its end, or start one and keep it. Arguments are a vector; no
// shell reads them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster {

struct Command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env = {};  // added to what the process inherits
  std::string stdin_text = {};
  Duration timeout = std::chrono::seconds(60);
  size_t max_output = 64u << 20;  // of each stream; more is cut and `truncated` is set
  std::string folder = {};        // working folder; empty = ours

  // As a person would type it, quoted for a POSIX shell.
  std::string ToString() const;
};

struct CommandResult {
  int exit_code = 0;       // 128 + n when a signal ended it
  bool timed_out = false;  // it was ended at its timeout, with its process group
  bool truncated = false;
  std::string out, err;
  Duration took{};
};

// A started process. Destroying it ends the process group (TERM, a moment, KILL) and reaps it.
class Child {
 public:
  virtual ~Child() = default;
  virtual int pid() const = 0;
  virtual std::optional<int> Poll() = 0;           // exit code once it ended
  virtual Result<int> Wait(Duration timeout) = 0;  // kTimeout while it still runs
  virtual void Kill() = 0;                         // KILL to the group, at once
  virtual std::string Output() = 0;  // stdout and stderr so far, or empty when sent to a file
};

class Processes {
 public:
  virtual ~Processes() = default;
  // An Error means that it could not be started or watched (kNotFound: no such program); a non-zero
  // exit is a result.
  virtual Result<CommandResult> Run(const Command& command) = 0;
  // `log_path` not empty: both streams are appended there. Command::timeout is not used.
  virtual Result<std::unique_ptr<Child>> Start(const Command& command,
                                               const std::string& log_path) = 0;
};

}  // namespace muster
