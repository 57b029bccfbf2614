#include "backend/kubernetes/probe_node.h"

#include "backend/kubernetes/probe_script.h"
#include "backend/remote_ports.h"

namespace muster::kubernetes {

namespace {

// What takes longer would make all that was read before it old.
constexpr Duration kForeseenAtMost = std::chrono::minutes(2);

}  // namespace

bool IsRawGet(const Command& command) {
  const auto& words = command.argv;
  return words.size() == 4 && words[0] == "kubectl" && words[1] == "get" && words[2] == "--raw";
}

ProbeNode::ProbeNode(ProbePods& pods, Processes& api, std::string name, Clock& clock)
    : pods_(pods),
      api_(api),
      name_(std::move(name)),
      files_(MakeRemoteFiles(name_, [this](const Command& c) { return Run(c); })),
      http_(MakeRemoteHttp(name_, [this](const Command& c) { return Run(c); }, clock)) {}

ProbeNode::Key ProbeNode::KeyOf(const Command& command) {
  Key key = command.argv;
  key.push_back(command.stdin_text);
  for (const auto& [name, value] : command.env) key.push_back(name + "=" + value);
  return key;
}

Result<CommandResult> ProbeNode::Run(const Command& command) {
  if (IsRawGet(command)) return noting_ ? CommandResult{} : api_.Run(command);
  TRY_VOID(CanRunInPod(command));
  if (command.argv == Key{"date", "+%s.%N"}) return Time();
  {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(KeyOf(command));
    if (known != known_.end()) return known->second;
    if (noting_) {
      if (command.timeout <= kForeseenAtMost) noted_.emplace(KeyOf(command), command);
      return CommandResult{};
    }
  }
  auto answers = pods_.Run({{name_, {command}}}, false);
  return std::move(answers.at(name_).front());
}

Result<std::unique_ptr<Child>> ProbeNode::Start(const Command& command, const std::string&) {
  if (noting_) return Fail(Code::kUnavailable, "it is only foreseen");
  TRY_VOID(CanRunInPod(command));
  return pods_.Start(name_, command);
}

Result<CommandResult> ProbeNode::Time() {
  if (noting_) {
    asks_the_time_ = true;
    return CommandResult{};
  }
  CommandResult result;
  TRY(result.out, pods_.Time(name_));
  return result;
}

std::vector<Command> ProbeNode::TakeNoted() {
  const std::lock_guard lock(mutex_);
  std::vector<Command> commands;
  for (auto& [key, command] : noted_) commands.push_back(std::move(command));
  noted_.clear();
  return commands;
}

void ProbeNode::Learn(const std::vector<Command>& commands, ProbePods::Answers answers) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < commands.size(); ++i)
    known_.emplace(KeyOf(commands[i]), std::move(answers[i]));
}

void ProbeNode::Forget() {
  const std::lock_guard lock(mutex_);
  known_.clear();
  asks_the_time_ = false;
}

}  // namespace muster::kubernetes
