#include "world/testing/scripted_processes.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::testing {

namespace {

class EndedChild final : public Child {
 public:
  explicit EndedChild(CommandResult result) : result_(std::move(result)) {}
  int pid() const override { return 1; }
  std::optional<int> Poll() override { return result_.exit_code; }
  Result<int> Wait(Duration) override { return result_.exit_code; }
  void Kill() override {}
  std::string Output() override { return result_.out + result_.err; }

 private:
  CommandResult result_;
};

}  // namespace

void ScriptedProcesses::On(const std::string& line, CommandResult result) {
  On(line,
     [result = std::move(result)](const Command&) -> Result<CommandResult> { return result; });
}

void ScriptedProcesses::On(const std::string& line, Error error) {
  On(line, [error = std::move(error)](const Command&) -> Result<CommandResult> {
    return Fail(Error(error));
  });
}

void ScriptedProcesses::On(const std::string& line, Answer answer) {
  const std::lock_guard lock(mutex_);
  answers_[line].push_back(std::move(answer));
}

void ScriptedProcesses::Prints(const std::string& line, std::string out) {
  CommandResult result;
  result.out = std::move(out);
  On(line, std::move(result));
}

void ScriptedProcesses::Otherwise(Answer answer) {
  const std::lock_guard lock(mutex_);
  otherwise_ = std::move(answer);
}

Result<CommandResult> ScriptedProcesses::Run(const Command& command) {
  const std::string line = Join(command.argv, " ");
  Answer answer;
  {
    const std::lock_guard lock(mutex_);
    commands_.push_back(command);
    const auto found = answers_.find(line);
    if (found != answers_.end()) {
      answer = found->second.front();
      if (found->second.size() > 1) found->second.erase(found->second.begin());
    } else {
      answer = otherwise_;
    }
  }
  if (!answer) {
    return Fail(Code::kNotFound,
                fmt::format("no program \"{}\"", command.argv.empty() ? "" : command.argv[0]));
  }
  return answer(command);
}

Result<std::unique_ptr<Child>> ScriptedProcesses::Start(const Command& command,
                                                        const std::string&) {
  TRY(CommandResult result, Run(command));
  return std::make_unique<EndedChild>(std::move(result));
}

std::vector<std::string> ScriptedProcesses::asked() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const Command& command : commands_) lines.push_back(Join(command.argv, " "));
  return lines;
}

std::vector<Command> ScriptedProcesses::commands() const {
  const std::lock_guard lock(mutex_);
  return commands_;
}

}  // namespace muster::testing
