#include "backend/lab/tool_faults.h"

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "world/random.h"

namespace muster::lab {

namespace {

// The tools that setting "tool" of tool_garbage, tool_truncated and tool_denied counts through.
const std::vector<std::vector<std::string_view>>& ToolGroups() {
  static const std::vector<std::vector<std::string_view>> groups = {
      {"nvidia-smi"}, {"dcgmi"}, {"ibstat", "ibstatus"}, {"dmesg", "journalctl"}};
  return groups;
}

bool Hits(const Fault* fault, std::string_view program) {
  if (fault == nullptr) return false;
  const auto& groups = ToolGroups();
  const auto wanted = std::lround(Setting(*fault, "tool"));
  const size_t group = wanted < 0 ? 0 : static_cast<size_t>(wanted) % groups.size();
  for (const std::string_view name : groups[group]) {
    if (name == program) return true;
  }
  return false;
}

// Each tool refuses in its own words and with its own exit code.
CommandResult Refusal(std::string_view program) {
  if (program == "nvidia-smi") return {4, false, false, "Insufficient Permissions\n", "", {}};
  if (program == "dmesg")
    return {1, false, false, "", "dmesg: read kernel buffer failed: Operation not permitted\n", {}};
  if (program == "journalctl")
    return {1, false, false, "", "No journal files were opened due to insufficient permissions.\n",
            {}};
  if (program == "ibstat")
    return {255,
            false,
            false,
            "",
            "ibpanic: [2213] main: stat of IB device 'mlx5_0' failed: Permission denied\n",
            {}};
  return {
      126, false, false, "", fmt::format("bash: line 1: /usr/bin/{}: Permission denied\n", program),
      {}};
}

// What a crashed terminal or a wrong binary leaves: control characters, broken UTF-8, half words.
std::string Garbage(uint64_t seed) {
  SeededRandom random(seed);
  std::string text = "\x1b[31m";
  for (int i = 0; i < 400; ++i) {
    const auto byte = static_cast<char>(random.Below(256));
    text += random.Below(24) == 0 ? '\n' : byte;
  }
  return text;
}

}  // namespace

std::optional<Error> Unreachable(const LabState& state, const Node& node, TimePoint now) {
  const auto ops = state.ops.find(node.name);
  const bool boots = ops != state.ops.end() && now < ops->second.back_at;
  if (!boots && !state.Has("unreachable", NodeSubject(node.name))) return std::nullopt;
  Error error = Fail(Code::kUnavailable,
                     fmt::format("ssh: connect to host {} port 22: No route to host", node.name))
                    .value();
  error.retryable = true;
  return error;
}

std::optional<CommandResult> InsteadOf(const LabState& state, const Node& node,
                                       std::string_view program, const Command& command) {
  const Subject subject = NodeSubject(node.name);
  if (Hits(state.Find("tool_denied", subject), program)) return Refusal(program);
  const bool diagnoses = program == "dcgmi" && command.argv.size() > 1 && command.argv[1] == "diag";
  if (diagnoses && state.Has("dcgm_hang", subject)) {
    // Ended at its timeout, in the lab without the waiting.
    return CommandResult{137, true, false, "", "", command.timeout};
  }
  return std::nullopt;
}

void Spoil(const LabState& state, const Node& node, std::string_view program,
           CommandResult& result) {
  const Subject subject = NodeSubject(node.name);
  if (const Fault* garbage = state.Find("tool_garbage", subject); Hits(garbage, program)) {
    result.out = Garbage(state.seed ^ static_cast<uint64_t>(result.out.size()));
  }
  if (const Fault* cut = state.Find("tool_truncated", subject); Hits(cut, program)) {
    result.out.resize(result.out.size() / 2);
  }
}

}  // namespace muster::lab
