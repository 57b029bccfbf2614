// A machine whose commands answer from a script: what a test says, and "no such program" for
// everything else.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "world/processes.h"

namespace muster::testing {

// Safe for threads. A command is looked up by its argv joined with blanks ("nvidia-smi -q -x");
// answers given several times for one command come in that order, the last one again and again.
// Start() runs the script at once: the child has ended with that result.
class ScriptedProcesses final : public Processes {
 public:
  using Answer = std::function<Result<CommandResult>(const Command&)>;

  void On(const std::string& line, CommandResult result);
  void On(const std::string& line, Error error);
  void On(const std::string& line, Answer answer);
  // Shorthand: ends with 0 and prints `out`.
  void Prints(const std::string& line, std::string out);
  // What no line matches.
  void Otherwise(Answer answer);

  Result<CommandResult> Run(const Command& command) override;
  Result<std::unique_ptr<Child>> Start(const Command& command,
                                       const std::string& log_path) override;

  std::vector<std::string> asked() const;  // every line, in order
  std::vector<Command> commands() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<Answer>> answers_;
  Answer otherwise_;
  std::vector<Command> commands_;
};

}  // namespace muster::testing
